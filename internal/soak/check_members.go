package soak

import (
	"cmp"
	"slices"
	"strings"
)

// span is a part of a conversation, both ends included; to = 0 is open.
type span struct{ from, to uint64 }

// membership tells who could see which entries. A group's comes from the
// entries that say who joined and left, a dm's and a feed's from its name.
type membership struct {
	groups map[string]map[string][]span
}

func membershipOf(views []View) *membership {
	m := &membership{groups: map[string]map[string][]span{}}
	changes := map[string]map[uint64]*Entry{}
	for i := range views {
		for j := range views[i].Entries {
			e := &views[i].Entries[j]
			if len(e.Joined)+len(e.Left) == 0 {
				continue
			}
			if changes[e.Conversation] == nil {
				changes[e.Conversation] = map[uint64]*Entry{}
			}
			changes[e.Conversation][e.Seq] = e
		}
	}
	for conv, at := range changes {
		entries := make([]*Entry, 0, len(at))
		for _, e := range at {
			entries = append(entries, e)
		}
		slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		m.groups[conv] = spansOf(entries)
	}
	return m
}

func spansOf(changes []*Entry) map[string][]span {
	users := map[string][]span{}
	for _, e := range changes {
		for _, u := range e.Joined {
			if s := users[u]; len(s) == 0 || s[len(s)-1].to != 0 {
				users[u] = append(s, span{from: e.Seq})
			}
		}
		for _, u := range e.Left {
			if s := users[u]; len(s) > 0 && s[len(s)-1].to == 0 {
				s[len(s)-1].to = e.Seq
			}
		}
	}
	return users
}

// spans returns what a user may see of a conversation.
func (m *membership) spans(user, conversation string) []span {
	kind, rest, _ := strings.Cut(conversation, ":")
	switch kind {
	case "grp":
		return m.groups[conversation][user]
	case "dm":
		if a, b, _ := strings.Cut(rest, ":"); user != a && user != b {
			return nil
		}
	case "me":
		if user != rest {
			return nil
		}
	}
	return []span{{from: 1}}
}

// may reports whether the user may see the entry.
func (m *membership) may(user, conversation string, seq uint64) bool {
	return m.mayAny(user, conversation, seq, seq)
}

// mayAny reports whether the user may see any of the entries from..to.
func (m *membership) mayAny(user, conversation string, from, to uint64) bool {
	for _, s := range m.spans(user, conversation) {
		if s.from <= to && (s.to == 0 || s.to >= from) {
			return true
		}
	}
	return false
}

// begins reports whether the user became a member with this entry.
func (m *membership) begins(user, conversation string, seq uint64) bool {
	return slices.ContainsFunc(m.spans(user, conversation), func(s span) bool { return s.from == seq })
}
