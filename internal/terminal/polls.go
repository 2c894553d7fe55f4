package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
)

// pollCmd sends a poll: its question and options are parted by slashes.
func (c *Chat) pollCmd(ctx context.Context, args []string) error {
	text := strings.Join(args, " ")
	var p skein.Poll
	for {
		rest, hidden := strings.CutPrefix(text, "!")
		rest, several := strings.CutPrefix(rest, "+")
		p.Anonymous, p.Multiple = p.Anonymous || hidden, p.Multiple || several
		if rest == text {
			break
		}
		text = rest
	}
	for i, part := range strings.Split(text, "/") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
			return errors.New("a poll is: question / option / option")
		case i == 0:
			p.Question = part
		default:
			p.Options = append(p.Options, part)
		}
	}
	if len(p.Options) == 0 {
		return errors.New("a poll is: question / option / option")
	}
	_, err := c.client.Conversation(c.current()).SendPoll(ctx, p)
	return err
}

// voteCmd chooses options by their numbers as they are shown, from 1.
func (c *Chat) voteCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	v := c.client.Conversation(c.current())
	ms, err := v.History(ctx, seq+1, 1)
	if err != nil {
		return err
	}
	if len(ms) != 1 || ms[0].Seq != seq || ms[0].Poll == nil {
		return fmt.Errorf("#%d is no poll", seq)
	}
	var ids []string
	for _, a := range args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil || n < 1 || n > len(ms[0].Poll.Options) {
			return fmt.Errorf("%q is not the number of an option", a)
		}
		ids = append(ids, ms[0].Poll.Options[n-1].Id)
	}
	return v.Vote(ctx, seq, ids...)
}

func (c *Chat) votesCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	voted, next, err := c.client.Conversation(c.current()).Votes(ctx, seq, "", "", 0)
	if err != nil {
		return err
	}
	for _, x := range voted {
		c.printf("        %s: %s\n", c.name(ctx, x.User), clean(strings.Join(x.Options, ", ")))
	}
	if next != "" {
		c.printf("        · and others\n")
	}
	return nil
}

func (c *Chat) endPollCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).EndPoll(ctx, seq)
}

// words is what is shown of a message's text.
func words(m *skein.Message) string {
	if m.Poll == nil {
		return clean(m.Text)
	}
	var said skein.PollContent
	if json.Unmarshal([]byte(m.Text), &said) != nil || said.Question == "" {
		return clean(m.Fallback)
	}
	return clean(said.Question)
}

// pollText is what is shown of a poll behind its question: options and totals.
func pollText(m *skein.Message) string {
	p := m.Poll
	if p == nil {
		return ""
	}
	var said skein.PollContent
	_ = json.Unmarshal([]byte(m.Text), &said) // without it the ids are shown
	texts := map[string]string{}
	for _, o := range said.Options {
		texts[o.ID] = o.Text
	}
	var b strings.Builder
	for i, o := range p.Options {
		text := texts[o.Id]
		if text == "" {
			text = o.Id
		}
		mark := ""
		if o.Mine {
			mark = " ✓"
		}
		fmt.Fprintf(&b, "  [%d] %s: %d%s", i+1, clean(text), o.Votes, mark)
	}
	if p.EndedAtMs != 0 || p.UntilMs != 0 && time.Now().UnixMilli() >= p.UntilMs {
		b.WriteString("  (ended)")
	}
	return b.String()
}
