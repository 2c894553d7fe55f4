package terminal

import (
	"testing"
	"time"
)

func TestLifetimes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration
		text string
	}{
		{"off", 0, "Ann set messages to stay"},
		{"1d", day, "Ann set messages to disappear after 1 day"},
		{"365d", 365 * day, "Ann set messages to disappear after 365 days"},
		{"1m", time.Minute, "Ann set messages to disappear after 1m"},
		{"2h", 2 * time.Hour, "Ann set messages to disappear after 2h"},
		{"1h30m", 90 * time.Minute, "Ann set messages to disappear after 1h30m"},
		{"90s", 90 * time.Second, "Ann set messages to disappear after 1m30s"},
	} {
		got, err := parseLifetime(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("%s is %s, %v", tt.in, got, err)
		}
		if text := lifetimeText("Ann", uint32(got/time.Second)); text != tt.text {
			t.Errorf("%s: %q", tt.in, text)
		}
	}
	for _, in := range []string{"", "0", "0d", "-1d", "366d", "59s", "1h0.5s", "d", "on"} {
		if got, err := parseLifetime(in); err == nil {
			t.Errorf("%q is %s", in, got)
		}
	}
}
