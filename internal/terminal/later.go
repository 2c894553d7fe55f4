package terminal

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

func (c *Chat) laterCmd(ctx context.Context, args []string) error {
	in, err := time.ParseDuration(args[0])
	if err != nil || in <= 0 {
		return fmt.Errorf("%q is not a time like 10m or 2h30m", args[0])
	}
	at := time.Now().Add(in)
	if _, err := c.client.Conversation(c.current()).SendLater(ctx, at, strings.Join(args[1:], " ")); err != nil {
		return err
	}
	c.printf("        · is sent %s\n", at.Format("Mon 15:04:05"))
	return nil
}

func (c *Chat) scheduledCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Scheduled(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		m := s.GetMessage()
		text := m.GetContent().GetText()
		if m.GetContent().GetType() != "text" {
			text = m.GetContent().GetFallback()
		}
		why := ""
		if s.State == wire.ScheduledState_SCHEDULED_STATE_FAILED {
			why = "  (not sent: " + clean(s.GetError().GetMessage()) + ")"
		}
		c.printf("        %s  %s  %s: %s%s\n", hex.EncodeToString(m.GetId()), time.UnixMilli(s.AtMs).Format("Mon 2 Jan 15:04"), m.GetConversation(), clean(text), why)
	}
	return nil
}

func (c *Chat) cancelCmd(ctx context.Context, args []string) error {
	id, err := hex.DecodeString(args[0])
	if err != nil {
		return fmt.Errorf("%q is not an id that /scheduled shows", args[0])
	}
	return c.client.CancelScheduled(ctx, id)
}
