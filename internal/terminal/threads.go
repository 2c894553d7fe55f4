package terminal

import (
	"context"
	"fmt"
	"strings"

	skein "github.com/skein-im/skein/sdk/go"
)

// threadCmd shows a thread, which is reading it, or says something in it.
func (c *Chat) threadCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return c.say(ctx, strings.Join(args[1:], " "), skein.InThread(seq))
	}
	return c.showThread(ctx, seq)
}

// shownReplies is how many replies of a thread are shown, the last ones.
const shownReplies = 50

func (c *Chat) showThread(ctx context.Context, seq uint64) error {
	v := c.client.Conversation(c.current())
	t, replies, next, err := v.Thread(ctx, seq, 0, shownReplies)
	if err != nil {
		return err
	}
	c.show(ctx, t.Root)
	if next != 0 {
		c.printf("        · earlier replies are not shown\n")
	}
	for _, m := range replies {
		c.show(ctx, m)
	}
	if len(replies) == 0 {
		c.printf("        · no replies; /thread %d TEXT says the first\n", t.Root.Seq)
		return nil
	}
	if t.Unread == 0 {
		return nil
	}
	return v.ReadThread(ctx, t.Root.Seq, t.Last)
}

// threadsCmd lists the threads that the user follows, or with here those of the open
// conversation.
func (c *Chat) threadsCmd(ctx context.Context, args []string) error {
	list := c.client.Threads
	if len(args) > 0 {
		if args[0] != "here" || c.current() == "" {
			return fmt.Errorf("/threads, or /threads here with a conversation open")
		}
		list = c.client.Conversation(c.current()).Threads
	}
	shown := 0
	for cursor, first := "", true; first || cursor != ""; first = false {
		all, next, err := list(ctx, cursor, 0)
		if err != nil {
			return err
		}
		for _, t := range all {
			c.printf("  %s\n", c.threadLine(ctx, t))
		}
		shown, cursor = shown+len(all), next
	}
	if shown == 0 {
		c.printf("        · there is none\n")
	}
	return nil
}

// threadLine is a thread in a list.
func (c *Chat) threadLine(ctx context.Context, t *skein.Thread) string {
	line := fmt.Sprintf("%s  #%d  %s: %s", c.title(ctx, t.Root.Conversation), t.Root.Seq, c.name(ctx, t.Root.Sender), saying(t.Root, "  "))
	if t.Unread > 0 {
		line += fmt.Sprintf("  (%d new)", t.Unread)
	}
	return line
}

func (c *Chat) followCmd(ctx context.Context, args []string) error {
	return c.follow(ctx, args[0], true)
}
func (c *Chat) unfollowCmd(ctx context.Context, args []string) error {
	return c.follow(ctx, args[0], false)
}

func (c *Chat) follow(ctx context.Context, arg string, follow bool) error {
	seq, err := parseSeq(arg)
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).FollowThread(ctx, seq, follow)
}

// onReply tells a reply in the open conversation.
func (c *Chat) onReply(ctx context.Context, m *skein.Message) {
	if m.Conversation == c.current() {
		c.printf("        ┊ %s\n", replyLine(c.name(ctx, m.Sender), m))
	}
}

func replyLine(who string, m *skein.Message) string {
	return fmt.Sprintf("%s in the thread of #%d: %s  #%d", who, m.Thread, content(m), m.Seq)
}

// repliesText is what a message says of its thread.
func repliesText(m *skein.Message) string {
	switch m.Replies {
	case 0:
		return ""
	case 1:
		return "  ┊ 1 reply"
	}
	return fmt.Sprintf("  ┊ %d replies", m.Replies)
}
