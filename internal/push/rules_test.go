package push

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Levels, mutes and quiet hours: who is woken for what.
func TestWants(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 30, 0, 0, time.UTC)
	muted := im.MyState{MutedUntil: now.Add(time.Hour)}
	level := func(l im.PushLevel) im.MyState { return im.MyState{PushLevel: l} }
	for name, c := range map[string]struct {
		set            im.PushSettings
		mine           im.MyState
		dm, dmMention  bool
		grp, grpMetion bool
	}{
		"nothing set":              {im.PushSettings{}, im.MyState{}, true, true, true, true},
		"groups by mention":        {im.PushSettings{Groups: im.PushMentions}, im.MyState{}, true, true, false, true},
		"no groups":                {im.PushSettings{Groups: im.PushNone}, im.MyState{}, true, true, false, false},
		"no direct chats":          {im.PushSettings{Direct: im.PushNone}, im.MyState{}, false, false, true, true},
		"direct chats by mention":  {im.PushSettings{Direct: im.PushMentions}, im.MyState{}, false, true, true, true},
		"this one all":             {im.PushSettings{Direct: im.PushNone, Groups: im.PushNone}, level(im.PushAll), true, true, true, true},
		"this one by mention":      {im.PushSettings{}, level(im.PushMentions), false, true, false, true},
		"this one never":           {im.PushSettings{}, level(im.PushNone), false, false, false, false},
		"muted":                    {im.PushSettings{}, muted, false, false, false, true},
		"muted, mentions too":      {im.PushSettings{MuteMentions: true}, muted, false, false, false, false},
		"muted before":             {im.PushSettings{}, im.MyState{MutedUntil: now}, true, true, true, true},
		"muted, and never":         {im.PushSettings{}, im.MyState{MutedUntil: now.Add(1), PushLevel: im.PushNone}, false, false, false, false},
		"quiet":                    {im.PushSettings{QuietFrom: 12 * 60, QuietUntil: 13 * 60}, im.MyState{}, false, false, false, false},
		"quiet elsewhere":          {im.PushSettings{QuietFrom: 12 * 60, QuietUntil: 13 * 60, QuietZone: "Asia/Shanghai"}, im.MyState{}, true, true, true, true},
		"quiet in summer's Berlin": {im.PushSettings{QuietFrom: 14 * 60, QuietUntil: 15 * 60, QuietZone: "Europe/Berlin"}, level(im.PushAll), false, false, false, false},
	} {
		for _, cell := range []struct {
			c       im.ConversationID
			mention bool
			want    bool
		}{{"dm:ann:bob", false, c.dm}, {"dm:ann:bob", true, c.dmMention}, {"grp:g", false, c.grp}, {"grp:g", true, c.grpMetion}} {
			if got := wants(cell.c, &c.set, &c.mine, cell.mention, now); got != cell.want {
				t.Errorf("%s, %s, mention %v: %v", name, cell.c, cell.mention, got)
			}
		}
	}
}

func TestQuietHours(t *testing.T) {
	for _, c := range []struct {
		from, until int
		at          string
		want        bool
	}{
		{0, 0, "12:00", false}, {600, 600, "10:00", false}, {600, 660, "09:59", false}, {600, 660, "10:00", true}, {600, 660, "10:59", true}, {600, 660, "11:00", false},
		{1320, 420, "21:59", false}, {1320, 420, "22:00", true}, {1320, 420, "00:00", true}, {1320, 420, "06:59", true}, {1320, 420, "07:00", false},
	} {
		at, err := time.Parse("15:04", c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := quiet(&im.PushSettings{QuietFrom: c.from, QuietUntil: c.until}, at); got != c.want {
			t.Errorf("from %d until %d at %s: %v", c.from, c.until, c.at, got)
		}
	}
	for _, name := range []string{"Local", "local", "Nowhere", "../etc/passwd", "/etc/localtime"} {
		if _, err := zone(name); err == nil {
			t.Errorf("%q is a time zone", name)
		}
	}
}
