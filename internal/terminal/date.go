package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// gotoCmd shows the messages of the open conversation from a date on.
func (c *Chat) gotoCmd(ctx context.Context, args []string) error {
	at, err := parseDate(strings.Join(args, " "))
	if err != nil {
		return err
	}
	open := c.current()
	if open == "" {
		return errors.New("open a conversation first")
	}
	ms, err := c.client.Conversation(open).HistoryAt(ctx, at, 20)
	if err != nil {
		return err
	}
	if len(ms) == 0 {
		c.printf("        · nothing since %s\n", at.Format("2 January 2006, 15:04"))
		return nil
	}
	c.printf("── %s ──\n", ms[0].Time.Local().Format("Monday, 2 January 2006"))
	for _, m := range ms {
		c.show(ctx, m)
	}
	return nil
}

// parseDate reads a day, or a minute of it, of the local time.
func parseDate(s string) (time.Time, error) {
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(form, s, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date like 2026-03-31, or 2026-03-31 14:30", s)
}

// deleteCmd deletes messages of the open conversation for the user alone.
func (c *Chat) deleteCmd(ctx context.Context, args []string) error {
	var seqs []uint64
	for _, a := range args {
		seq, err := parseSeq(a)
		if err != nil {
			return err
		}
		seqs = append(seqs, seq)
	}
	if err := c.client.Conversation(c.current()).DeleteForMe(ctx, seqs...); err != nil {
		return err
	}
	c.printf("        · deleted for you\n")
	return nil
}

// savedCmd opens the user's notes to themselves, or adds one to them.
func (c *Chat) savedCmd(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return c.openID(ctx, c.client.Saved().ID())
	}
	if _, err := c.client.Saved().SendAsync(ctx, strings.Join(args, " ")); err != nil {
		return err
	}
	c.printf("        · saved\n")
	return nil
}

// folderCmd puts the open conversation into a folder of the user's, or out of its own.
func (c *Chat) folderCmd(ctx context.Context, args []string) error {
	name, err := c.client.Conversation(c.current()).SetFolder(ctx, strings.Join(args, " "))
	if err != nil {
		return err
	}
	if name == "" {
		c.printf("        · in no folder\n")
	} else {
		c.printf("        · in the folder “%s”\n", clean(name))
	}
	return nil
}
