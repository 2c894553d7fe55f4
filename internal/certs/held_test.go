package certs

import (
	"strings"
	"testing"
	"time"
)

// TestJudge: a certificate that ended, or ends soon, or is another name's is told.
func TestJudge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	from := now.AddDate(0, -1, 0)
	for name, c := range map[string]struct {
		held Held
		host string
		want string
		over bool
	}{
		"good":          {Held{[]string{"chat.example.org"}, from, now.AddDate(0, 1, 0)}, "chat.example.org", "", false},
		"no name asked": {Held{nil, from, now.AddDate(0, 1, 0)}, "", "", false},
		"any below":     {Held{[]string{"*.example.org"}, from, now.AddDate(0, 1, 0)}, "chat.example.org", "", false},
		"an address":    {Held{[]string{"192.0.2.1"}, from, now.AddDate(0, 1, 0)}, "192.0.2.1", "", false},
		"over":          {Held{[]string{"chat.example.org"}, from, now}, "chat.example.org", "it ended on 2026-03-01", true},
		"not yet":       {Held{nil, now.Add(time.Hour), now.AddDate(1, 0, 0)}, "", "it begins on 2026-03-01", true},
		"soon":          {Held{nil, from, now.Add(13 * 24 * time.Hour)}, "", "in 13 days", false},
		"not so soon":   {Held{nil, from, now.Add(Soon)}, "", "", false},
		"another's":     {Held{[]string{"localhost2"}, from, now.AddDate(0, 1, 0)}, "chat.example.org", "it is for localhost2, not for chat.example.org", false},
		"nobody's":      {Held{nil, from, now.AddDate(0, 1, 0)}, "chat.example.org", "it is for no name", false},
	} {
		var names []string
		if c.host != "" {
			names = append(names, c.host)
		}
		trouble, over := c.held.Judge(now, names...)
		if over != c.over || (trouble == "") != (c.want == "") || !strings.Contains(trouble, c.want) {
			t.Errorf("%s: %q, %t", name, trouble, over)
		}
	}
}
