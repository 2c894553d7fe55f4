package terminal

import (
	"context"
	"strings"
)

func (c *Chat) readByCmd(ctx context.Context, args []string) error {
	seq, err := parseSeq(args[0])
	if err != nil {
		return err
	}
	read, received, err := c.client.Conversation(c.current()).ReadBy(ctx, seq)
	if err != nil {
		return err
	}
	names := func(ids []string) string {
		all := make([]string, len(ids))
		for i, id := range ids {
			all[i] = c.name(ctx, id)
		}
		if len(all) == 0 {
			return "nobody yet"
		}
		return strings.Join(all, ", ")
	}
	c.printf("        · read by: %s\n", names(read))
	if len(received) > 0 {
		c.printf("        · came to: %s\n", names(received))
	}
	return nil
}
