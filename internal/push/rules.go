package push

import (
	"errors"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // hosts and containers often have no time zones

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// said is what of a message decides who is woken, and what they are told.
type said struct {
	sender im.UserID
	// all: it mentions everybody; mentioned: those.
	all       bool
	mentioned []string
	content   *wire.Content
}

// saidBy reads a message; ok is false where nobody is woken for it.
func saidBy(e *im.Entry) (s said, ok bool) {
	if e.Kind != im.EntryMessage || e.Recalled || len(e.Body) == 0 || e.Sender == "" {
		return s, false
	}
	var w wire.Entry
	if err := entrycodec.Decode(e.Body, &w); err != nil || w.Content == nil || w.Silent || w.Deleted {
		return s, false
	}
	// @here mentions who is there: they need not be woken.
	return said{sender: e.Sender, all: w.GroupMention == wire.GroupMention_GROUP_MENTION_ALL, mentioned: w.Mentions, content: w.Content}, true
}

// mentions tells whether a message mentions a user.
func (s *said) mentions(u im.UserID) bool { return s.all || slices.Contains(s.mentioned, string(u)) }

// wants tells whether a user wants to be woken for a message now.
func wants(c im.ConversationID, set *im.PushSettings, mine *im.MyState, mention bool, now time.Time) bool {
	level := mine.PushLevel
	group := c.Kind() == im.KindGroup
	if level == im.PushUnset {
		if level = set.Direct; group {
			level = set.Groups
		}
	}
	switch {
	case level == im.PushNone || quiet(set, now):
		return false
	case mine.MutedUntil.After(now):
		return group && mention && !set.MuteMentions
	case level == im.PushMentions:
		return mention
	}
	return true
}

// quiet tells whether it is one of a user's quiet hours.
func quiet(s *im.PushSettings, now time.Time) bool {
	if s.QuietFrom == s.QuietUntil {
		return false
	}
	z, err := zone(s.QuietZone)
	if err != nil {
		z = time.UTC
	}
	there := now.In(z)
	m := there.Hour()*60 + there.Minute()
	if s.QuietFrom < s.QuietUntil {
		return m >= s.QuietFrom && m < s.QuietUntil
	}
	return m >= s.QuietFrom || m < s.QuietUntil
}

var errZone = errors.New("push: no time zone")

// zone finds a time zone by its name. The server's own is nobody's.
func zone(name string) (*time.Location, error) {
	if len(name) > im.MaxZone || strings.EqualFold(name, "local") {
		return nil, errZone
	}
	return time.LoadLocation(name)
}
