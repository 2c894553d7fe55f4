package soak

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/skein-im/skein/wire"
)

// rawConv is what the client holds of a conversation.
type rawConv struct {
	name string
	// known: where the user's part begins is known; begin is that entry, first the
	// one with which they last became a member, earlier the times before.
	known        bool
	begin, first uint64
	earlier      []*wire.Window
	// until is the entry with which the user left, 0 while a member. told is the
	// end as of which the server told all this.
	until, told uint64
	// cursor: all of the user's from begin to here is applied. head is known to exist.
	cursor, head uint64
	early        map[uint64]Entry
	gone         map[uint64]bool // told to be taken back
	edited       map[uint64]string
	entries      []Entry
	pulling      bool
	// The marks set by this device.
	received, read uint64
}

func (c *rawClient) conv(name string) *rawConv {
	v := c.convs[name]
	if v == nil {
		v = &rawConv{name: name, early: map[uint64]Entry{}, gone: map[uint64]bool{}, edited: map[uint64]string{}}
		if !strings.HasPrefix(name, "grp:") {
			v.known, v.begin, v.first = true, 1, 1
		}
		c.convs[name] = v
	}
	return v
}

// takeWindows takes over since when and until when the user is a member, and was
// before (SPEC §4.3).
func (v *rawConv) takeWindows(st *wire.ConversationState) {
	begin := st.FirstSeq
	if len(st.Earlier) > 0 {
		begin = st.Earlier[0].FirstSeq
	}
	if !v.known {
		v.known, v.begin, v.cursor = true, begin, max(begin, 1)-1
	}
	v.first, v.earlier, v.until, v.told = st.FirstSeq, st.Earlier, st.UntilSeq, st.Seq
	maps.DeleteFunc(v.early, func(seq uint64, _ Entry) bool { return seq < v.next() })
}

// next is the entry that follows the cursor for the user.
func (v *rawConv) next() uint64 {
	next := v.cursor + 1
	for _, w := range v.earlier {
		if next <= w.UntilSeq {
			return max(next, w.FirstSeq)
		}
	}
	return max(next, v.first)
}

// take receives entries, in any order.
func (c *rawClient) take(entries []*wire.Entry) {
	all := make([]arrived, len(entries))
	for i, w := range entries {
		all[i] = arrived{EntryOf(w), true}
	}
	if c.doubt != 0 {
		c.held = append(c.held, all...)
		return
	}
	c.arrive(all)
}

// takeStretch takes what a stretch of a conversation comes to (SPEC §6.8): its entries;
// that the others of it change entries and say nothing else; and what became of
// entries before it.
func (c *rawClient) takeStretch(v *rawConv, first, last uint64, entries, touched []*wire.Entry, end *wire.Newest) {
	c.take(entries)
	if first == 0 || last < first || c.doubt != 0 {
		return
	}
	for seq := max(first, v.cursor+1); seq <= last; seq++ {
		if _, ok := v.early[seq]; !ok {
			v.early[seq] = Entry{Conversation: v.name, Seq: seq, amends: true}
		}
	}
	v.head = max(v.head, last)
	for _, w := range touched {
		e := EntryOf(w)
		c.h.Add(Record{Kind: Received, Conversation: v.name, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.timeline})
		if e.Seq >= first {
			c.misbehaved(v.name, e.Seq, "touched, and not before the stretch")
		}
		v.taken(e)
	}
	if end != nil {
		if end.Seq != last || end.Conversation != v.name {
			c.misbehaved(v.name, last, "the end of a stretch is named wrongly")
		}
		if end.Pos > c.newest.GetPos() {
			c.newest = end
		}
	}
}

func (c *rawClient) arrive(all []arrived) {
	var touched []*rawConv
	for _, a := range all {
		e := a.entry
		if a.pushed {
			c.h.Add(Record{
				Kind: Received, Conversation: e.Conversation, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.timeline,
			})
		} else { // sending is reading (SPEC §4.2): repeated with the other marks
			v := c.conv(e.Conversation)
			v.read = max(v.read, e.Seq)
		}
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
	v.taken(e)
	if e.Seq <= v.cursor {
		return
	}
	v.early[e.Seq] = e
	c.prove(e)
	switch joined := slices.Contains(e.Joined, c.o.User) && strings.HasPrefix(v.name, "grp:"); {
	case joined && !v.known:
		v.known, v.begin, v.first, v.cursor = true, e.Seq, e.Seq, e.Seq-1
		maps.DeleteFunc(v.early, func(seq uint64, _ Entry) bool { return seq < e.Seq })
	case v.until != 0 && e.Seq > v.until:
		c.sync() // it tells since when the user is a member again
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
		e, ok := v.early[v.next()]
		if !ok {
			break
		}
		delete(v.early, e.Seq)
		if e.amends {
			v.cursor = e.Seq
			continue
		}
		c.h.Add(Record{
			Kind: Applied, Conversation: v.name, Seq: e.Seq, Count: e.Count, ID: e.ID, Hash: e.Hash, Timeline: c.timeline,
		})
		v.cursor = e.Seq
		if editsOf(v.edited[e.Seq]) > editsOf(e.Hash) {
			e.Hash = v.edited[e.Seq]
		}
		if v.gone[e.Seq] {
			e.Hash = HashRecalled
		}
		v.entries = append(v.entries, e)
		switch {
		case e.edited != "":
			v.edit(e.Target, e.edited)
		case !leavesWords(e.Hash):
			v.erase(e.Target)
		}
		if slices.Contains(e.Left, c.o.User) && e.Seq >= max(v.first, v.told) {
			if v.until = e.Seq; v.head > e.Seq {
				c.sync() // a member again
			}
		}
	}
	if v.cursor > before && v.until == 0 {
		v.received = v.cursor
		c.h.Add(Record{Kind: Cursor, Conversation: v.name, Seq: v.cursor, Timeline: c.timeline})
		c.write(wire.NewClientFrame(&wire.Received{Conversation: v.name, Seq: v.cursor}))
	}
	c.fill(v)
}

// prove remembers the newest entry, also one that is applied later: it must not be
// applied in another history.
func (c *rawClient) prove(e Entry) {
	if e.pos <= c.newest.GetPos() {
		return
	}
	raw, err := hex.DecodeString(e.ID)
	if err != nil {
		return // EntryOf made it
	}
	c.newest = &wire.Newest{Conversation: e.Conversation, Seq: e.Seq, Id: raw, StoredAtMs: e.stored, Pos: e.pos}
}

// taken takes note of a message that is told as taken back or edited, also if it is known
// already or an older answer brings it later (SPEC §6.8).
func (v *rawConv) taken(e Entry) {
	if e.Hash == HashRecalled {
		v.erase(e.Seq)
		v.gone[e.Seq] = true
	}
	if editsOf(e.Hash) > 0 {
		v.edit(e.Seq, e.Hash)
	}
}

// edit changes what a message says, unless what is known of it is newer.
func (v *rawConv) edit(target uint64, hash string) {
	if editsOf(v.edited[target]) < editsOf(hash) {
		v.edited[target] = hash
	}
	i, ok := slices.BinarySearchFunc(v.entries, target, func(e Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if ok && v.entries[i].Hash != HashRecalled && editsOf(v.entries[i].Hash) < editsOf(hash) {
		v.entries[i].Hash = hash
	}
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
	if c.s == nil || c.doubt != 0 || v.pulling || !v.known || v.next() > v.head || (v.until != 0 && v.cursor >= v.until) {
		return
	}
	v.pulling = true
	c.requests++
	c.s.asked[c.requests] = question{since: Now(), conv: v}
	c.write(wire.NewClientFrame(&wire.Pull{Number: c.requests, Conversation: v.name, From: v.next(), Limit: 500}))
}

func (c *rawClient) MarkRead(_ context.Context, conversation string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.convs[conversation]
	if v == nil || v.cursor <= v.read || v.until != 0 || len(v.entries) == 0 || c.doubt != 0 {
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
		view.Standings = append(view.Standings, Standing{Conversation: name, First: v.begin, Last: v.cursor, Member: v.until == 0, Read: v.read})
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
