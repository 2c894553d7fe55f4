package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// forEver is as long as one can mute: the last moment that the server takes.
var forEver = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// setMine changes what the user set for themselves in the open conversation.
func (c *Chat) setMine(ctx context.Context, change *wire.SetMyStateRequest, told string) error {
	open := c.current()
	if open == "" {
		return errors.New("open a conversation first: /open @user, or /list")
	}
	if _, err := c.client.Conversation(open).SetMyState(ctx, change); err != nil {
		return err
	}
	c.printf("        · %s\n", told)
	return nil
}

func (c *Chat) hideCmd(ctx context.Context, _ []string) error {
	return c.setMine(ctx, &wire.SetMyStateRequest{Hidden: proto.Bool(true)}, "hidden until somebody writes here; /unhide shows it")
}

func (c *Chat) unhideCmd(ctx context.Context, _ []string) error {
	return c.setMine(ctx, &wire.SetMyStateRequest{Hidden: proto.Bool(false)}, "in the list again")
}

func (c *Chat) unreadCmd(ctx context.Context, _ []string) error {
	return c.setMine(ctx, &wire.SetMyStateRequest{Unread: proto.Bool(true)}, "marked as unread until you open it again")
}

// quietUntil is until when somebody mutes who says how long: a time like 8h or 7d, `ever`,
// or `off`, which is no time.
func quietUntil(word string, now time.Time) (time.Time, error) {
	switch word {
	case "off", "0":
		return time.Time{}, nil
	case "ever":
		return forEver, nil
	}
	d, err := parseLifetime(word)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time like 8h or 7d, not ever and not off", word)
	}
	return now.Add(d), nil
}

// muteHere has the user be notified of nothing in the open conversation for a time.
func (c *Chat) muteHere(ctx context.Context, word string) error {
	until, err := quietUntil(word, time.Now())
	if err != nil {
		return err
	}
	change, told := &wire.SetMyStateRequest{MutedUntilMs: proto.Int64(0)}, "not muted"
	switch {
	case until.Equal(forEver):
		change.MutedUntilMs, told = proto.Int64(until.UnixMilli()), "muted until you end it: /mute off"
	case !until.IsZero():
		change.MutedUntilMs, told = proto.Int64(until.UnixMilli()), "muted until "+until.Local().Format("Jan 2 15:04")
	}
	return c.setMine(ctx, change, told)
}

// state tells what the user set for a conversation, as the list shows it.
func state(s *wire.MyState, hidden, unread bool, now time.Time) string {
	var parts []string
	if s.GetPinned() {
		parts = append(parts, "pinned")
	}
	if s.GetMutedUntilMs() > now.UnixMilli() {
		parts = append(parts, "muted")
	}
	if hidden {
		parts = append(parts, "hidden")
	}
	if unread {
		parts = append(parts, "marked unread")
	}
	if len(parts) == 0 {
		return ""
	}
	return " {" + strings.Join(parts, ", ") + "}"
}
