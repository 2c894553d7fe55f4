package terminal

import (
	"context"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
)

// wordPause is the time between two words of a message that is said word by word.
const wordPause = 150 * time.Millisecond

// streamCmd says a message word by word.
func (c *Chat) streamCmd(ctx context.Context, args []string) error {
	s, err := c.client.Conversation(c.current()).Stream(ctx, args[0])
	if err != nil {
		return err
	}
	for _, word := range args[1:] {
		select {
		case <-time.After(wordPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.Append(ctx, " "+word); err != nil {
			return err
		}
	}
	return s.End(ctx)
}

// onPart shows what a message that grows says by now.
func (c *Chat) onPart(ctx context.Context, e *skein.PartEvent) {
	if e.Conversation == c.current() {
		c.printf("        %s: %s …\n", c.name(ctx, e.User), clean(lastLine(e.Text)))
	}
}

// lastLine is the end of a text.
func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// growing is what is shown behind a message that grows, or was cut off.
func growing(m *skein.Message) string {
	switch {
	case m.Streaming:
		return " …"
	case m.CutOff:
		return "  (cut off)"
	}
	return ""
}
