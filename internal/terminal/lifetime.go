package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// disappearCmd sets after how long what is said in the open conversation disappears.
func (c *Chat) disappearCmd(ctx context.Context, args []string) error {
	lifetime, err := parseLifetime(args[0])
	if err != nil {
		return err
	}
	return c.client.Conversation(c.current()).SetLifetime(ctx, lifetime)
}

// parseLifetime reads a duration, or a number of days as 7d, or off.
func parseLifetime(s string) (time.Duration, error) {
	if s == "off" {
		return 0, nil
	}
	if days, is := strings.CutSuffix(s, "d"); is {
		n, err := strconv.Atoi(days)
		if err == nil && n > 0 && n <= 365 {
			return time.Duration(n) * day, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= time.Minute && d%time.Second == 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no time like 1h or 7d, and not off", s)
}

// lifetimeText tells who set what.
func lifetimeText(actor string, seconds uint32) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d == 0:
		return actor + " set messages to stay"
	case d == day:
		return actor + " set messages to disappear after 1 day"
	case d%day == 0:
		return fmt.Sprintf("%s set messages to disappear after %d days", actor, d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return fmt.Sprintf("%s set messages to disappear after %s", actor, text)
}
