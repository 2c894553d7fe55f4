package terminal

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

func (c *Chat) pinCmd(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return c.setMine(ctx, &wire.SetMyStateRequest{Pinned: proto.Bool(true)}, "on top of your list")
	}
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).Pin(ctx, seq)
}

func (c *Chat) unpinCmd(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return c.setMine(ctx, &wire.SetMyStateRequest{Pinned: proto.Bool(false)}, "not on top of your list any more")
	}
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).Unpin(ctx, seq)
}

func (c *Chat) pinsCmd(ctx context.Context, _ []string) error {
	for cursor, first := "", true; first || cursor != ""; first = false {
		ms, next, err := c.client.Conversation(c.current()).Pins(ctx, cursor, 0)
		if err != nil {
			return err
		}
		for _, m := range ms {
			c.printf("  #%d  %s: %s  (pinned by %s)\n", m.Seq, c.name(ctx, m.Sender), content(m), c.name(ctx, m.Pinned.GetUser()))
		}
		if first && len(ms) == 0 && next == "" {
			c.printf("        · nothing is pinned here\n")
		}
		cursor = next
	}
	return nil
}

func (c *Chat) quietCmd(ctx context.Context, args []string) error {
	return c.say(ctx, strings.Join(args, " "), skein.Silent())
}

// forwardCmd copies messages of the open conversation to another one.
func (c *Chat) forwardCmd(ctx context.Context, args []string) error {
	var from []skein.EntryRef
	for _, a := range strings.Split(args[0], ",") {
		seq, err := parseSeq(a)
		if err != nil {
			return err
		}
		from = append(from, skein.EntryRef{Conversation: c.current(), Seq: seq})
	}
	to, err := c.named(ctx, args[1])
	if err != nil {
		return err
	}
	_, err = c.client.Conversation(to).Forward(ctx, from...)
	return err
}
