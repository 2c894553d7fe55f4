package soak

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/skein-im/skein/wire"
)

// rawConv is what the client holds of a conversation.
type rawConv struct {
	name string
	// known: where the user's part begins is known; first is that entry.
	known bool
	first uint64
	// until is the entry with which the user left, 0 while a member.
	until uint64
	// cursor: everything from first to here is applied. head is known to exist.
	cursor, head uint64
	early        map[uint64]Entry
	entries      []Entry
	pulling      bool
	// The marks set by this device.
	received, read uint64
}

func (c *rawClient) conv(name string) *rawConv {
	v := c.convs[name]
	if v == nil {
		v = &rawConv{name: name, early: map[uint64]Entry{}}
		if !strings.HasPrefix(name, "grp:") {
			v.begin(1)
		}
		c.convs[name] = v
	}
	return v
}

// begin moves the beginning of what the user may see to first.
func (v *rawConv) begin(first uint64) {
	if v.known && first <= v.first {
		return
	}
	if v.known && first > v.cursor+1 { // joined again
		v.cursor = first - 1
	}
	if !v.known {
		v.cursor = max(first, 1) - 1
	}
	v.known, v.first = true, first
	maps.DeleteFunc(v.early, func(seq uint64, _ Entry) bool { return seq <= v.cursor })
}

// take receives entries, in any order.
func (c *rawClient) take(entries []*wire.Entry) {
	var touched []*rawConv
	for _, w := range entries {
		e := EntryOf(w)
		c.h.Add(Record{
			Kind: Received, Conversation: e.Conversation, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.timeline,
		})
		v := c.conv(e.Conversation)
		c.place(v, e)
		if !slices.Contains(touched, v) {
			touched = append(touched, v)
		}
	}
	for _, v := range touched {
		c.settle(v)
	}
}

// place keeps an entry until its turn comes.
func (c *rawClient) place(v *rawConv, e Entry) {
	v.head = max(v.head, e.Seq)
	if slices.Contains(e.Joined, c.o.User) && strings.HasPrefix(v.name, "grp:") {
		if e.Seq > v.cursor {
			v.begin(e.Seq)
			v.until = 0
		}
	}
	if e.Seq > v.cursor {
		v.early[e.Seq] = e
	}
}

// settle applies what is next in turn, marks it as received and asks for what
// is missing.
func (c *rawClient) settle(v *rawConv) {
	if !v.known {
		c.sync() // it tells where the group begins for this user
		return
	}
	before := v.cursor
	for {
		e, ok := v.early[v.cursor+1]
		if !ok {
			break
		}
		delete(v.early, e.Seq)
		c.h.Add(Record{
			Kind: Applied, Conversation: v.name, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.timeline,
		})
		v.cursor = e.Seq
		v.entries = append(v.entries, e)
		v.erase(e.Target)
		if slices.Contains(e.Left, c.o.User) {
			v.until = e.Seq
		}
	}
	if v.cursor > before && v.until == 0 {
		v.received = v.cursor
		c.h.Add(Record{Kind: Cursor, Conversation: v.name, Seq: v.cursor, Timeline: c.timeline})
		c.write(wire.NewClientFrame(&wire.Received{Conversation: v.name, Seq: v.cursor}))
	}
	c.fill(v)
}

// erase forgets the content of a message that was taken back.
func (v *rawConv) erase(target uint64) {
	if target == 0 {
		return
	}
	i, ok := slices.BinarySearchFunc(v.entries, target, func(e Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if ok {
		v.entries[i].Hash = HashRecalled
	}
}

// fill pulls what is known to exist and not held.
func (c *rawClient) fill(v *rawConv) {
	if c.s == nil || v.pulling || !v.known || v.cursor >= v.head || (v.until != 0 && v.cursor >= v.until) {
		return
	}
	v.pulling = true
	c.requests++
	c.s.asked[c.requests] = question{since: Now(), conv: v}
	c.write(wire.NewClientFrame(&wire.Pull{Number: c.requests, Conversation: v.name, From: v.cursor + 1, Limit: 500}))
}

func (c *rawClient) MarkRead(_ context.Context, conversation string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.convs[conversation]
	if v == nil || v.cursor <= v.read || v.until != 0 || len(v.entries) == 0 {
		return nil
	}
	v.read = v.cursor
	c.h.Add(Record{Kind: ReadSet, Conversation: conversation, Seq: v.read, Timeline: c.timeline})
	c.write(wire.NewClientFrame(&wire.Read{Conversation: conversation, Seq: v.read}))
	return nil
}

func (c *rawClient) Holds() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]uint64{}
	for name, v := range c.convs {
		out[name] = v.cursor
	}
	return out
}

func (c *rawClient) View(context.Context) (View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	view := View{Source: SourceStore, User: c.o.User, Device: c.o.Device, Timeline: c.timeline}
	for _, name := range slices.Sorted(maps.Keys(c.convs)) {
		v := c.convs[name]
		if len(v.entries) == 0 {
			continue
		}
		view.Standings = append(view.Standings, Standing{Conversation: name, First: v.first, Last: v.cursor, Member: v.until == 0, Read: v.read})
		view.Entries = append(view.Entries, v.entries...)
	}
	return view, c.h.Err()
}

// peerOf returns the other user of a dm, "" for other conversations.
func peerOf(conversation, user string) string {
	rest, ok := strings.CutPrefix(conversation, "dm:")
	a, b, _ := strings.Cut(rest, ":")
	switch {
	case !ok:
		return ""
	case a == user:
		return b
	}
	return a
}
