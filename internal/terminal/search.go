package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	skein "github.com/skein-im/skein/sdk/go"
)

// searched are types of content that one asks for by a word.
var searched = map[string]string{"images": "image", "files": "file", "voices": "voice", "videos": "video", "links": "link"}

// searchCmd looks for messages: --here in the open conversation, --files and such of a
// type, the other words are what they say.
func (c *Chat) searchCmd(ctx context.Context, args []string) error {
	s := skein.Search{Limit: 20}
	for len(args) > 0 {
		word, ok := strings.CutPrefix(args[0], "--")
		if !ok {
			break
		}
		switch kind, known := searched[word]; {
		case known:
			s.Types = append(s.Types, kind)
		case word == "here":
			if s.Conversation = c.current(); s.Conversation == "" {
				return errors.New("open a conversation first: /open @user, or /list")
			}
		default:
			return fmt.Errorf("--%s is none of --here, --images, --files, --voices, --videos, --links", clean(word))
		}
		args = args[1:]
	}
	s.Query = strings.Join(args, " ")
	got, err := c.client.Search(ctx, s)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(got.Found) {
		c.printf("  %s  %s  #%d  %s: %s\n", m.Time.Local().Format("2006-01-02 15:04"), c.title(ctx, m.Conversation), m.Seq, c.name(ctx, m.Sender), content(m.Message))
	}
	switch {
	case len(got.Found) == 0 && got.Next == "":
		c.printf("        · nothing was found\n")
	case got.Next != "":
		c.printf("        · there may be older ones: add a word\n")
	}
	if !got.Complete {
		c.printf("        · the server's index is being made: it may know more later\n")
	}
	return nil
}
