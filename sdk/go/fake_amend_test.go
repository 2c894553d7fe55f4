package skein

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// What the fake server makes of amendments, and the stretches it tells (SPEC §4.7, §6.8).

// kindEdit is an amendment that this version of the client does not know: it makes the
// target say what it says itself.
const kindEdit = wire.EntryKind(99)

// amend stores what an entry makes of its target.
func (f *fake) amend(e *wire.Entry) {
	if alsoInMain(e) {
		f.changeRoot(e)
		return
	}
	if e.Target == 0 {
		return
	}
	now := f.journal[e.Conversation]
	t := proto.Clone(now[e.Target-1]).(*wire.Entry)
	switch {
	case e.Kind == wire.EntryKind_ENTRY_KIND_RECALL:
		if e.AlsoInMain = t.AlsoInMain; t.Thread != 0 && !t.Recalled {
			f.leaves(t, e)
		}
		t = erased(t, e.Seq)
	case t.Recalled:
		return // a real server refuses it
	case isReply(e):
		e.Replies = &wire.Replies{Count: t.GetReplies().GetCount() + 1, LastAtMs: e.StoredAtMs}
		t = threaded(t, e)
	case e.Kind == wire.EntryKind_ENTRY_KIND_REACTION:
		t = f.reacts(t, e)
	case e.Kind == wire.EntryKind_ENTRY_KIND_STREAM:
		t = streamed(t, e)
	case e.Kind == wire.EntryKind_ENTRY_KIND_PREVIEW:
		t = previewed(t, e)
	case polls(e):
		t = f.votes(t, e)
	case e.Kind == wire.EntryKind_ENTRY_KIND_PIN:
		t = pinned(t, e)
	case e.Kind == wire.EntryKind_ENTRY_KIND_EDIT:
		e.EditedAtMs, e.Edits = e.StoredAtMs, t.Edits+1
		t = edited(t, e)
	default:
		t.Content, t.Amended = e.Content, e.Seq
	}
	now[e.Target-1] = t
}

// changeRoot has the root of a message that stands in both count it.
func (f *fake) changeRoot(e *wire.Entry) {
	now := f.journal[e.Conversation]
	if root := now[e.Thread-1]; !root.Recalled {
		now[e.Thread-1] = threaded(root, e)
	}
}

// pushed is an entry as it is pushed: one that stands in both says what its root comes to.
func (f *fake) pushed(e *wire.Entry) *wire.Entry {
	if !alsoInMain(e) {
		return e
	}
	c := proto.Clone(e).(*wire.Entry)
	c.Replies = f.journal[e.Conversation][e.Thread-1].Replies
	return c
}

// leaves has the recall of a reply say what its root comes to, and the root say so.
func (f *fake) leaves(reply, recall *wire.Entry) {
	now := f.journal[recall.Conversation]
	root := now[reply.Thread-1]
	if recall.Thread = reply.Thread; root.Recalled {
		return
	}
	recall.Replies = &wire.Replies{Count: root.GetReplies().GetCount() - 1, LastAtMs: root.GetReplies().GetLastAtMs()}
	now[reply.Thread-1] = threaded(root, recall)
}

// reacts counts a reaction in its target, and sets what the entry tells of that.
func (f *fake) reacts(t, e *wire.Entry) *wire.Entry {
	r := &wire.Reaction{Reaction: e.React.Reaction}
	i := slices.IndexFunc(t.Reactions, func(x *wire.Reaction) bool { return x.Reaction == r.Reaction })
	if i < 0 {
		i = len(t.Reactions)
		t.Reactions = append(t.Reactions, r)
	}
	now := t.Reactions[i]
	if e.React.Remove {
		now.Count--
	} else {
		now.Count++
	}
	if e.Sender == f.user {
		now.Mine = !e.React.Remove
	}
	e.Reactions = []*wire.Reaction{{Reaction: now.Reaction, Count: now.Count}}
	if now.Count == 0 {
		t.Reactions = slices.Delete(t.Reactions, i, i+1)
	}
	t.Amended = e.Seq
	return t
}

// edit makes an entry say something else, by an edit or by what this version of the
// client does not know; it has no effect on one that was recalled.
func (f *fake) edit(conversation string, target uint64, text string) {
	f.do(func() {
		kind := kindEdit
		if len(f.journal[conversation])%2 == 0 {
			kind = wire.EntryKind_ENTRY_KIND_EDIT
		}
		f.append(nil, &wire.Entry{
			Conversation: conversation, Sender: "bob", Kind: kind, Target: target,
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
		})
	})
}

// takeBack recalls an entry.
func (f *fake) takeBack(conversation string, target uint64) {
	f.do(func() {
		f.append(nil, &wire.Entry{Conversation: conversation, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: target})
	})
}

// page gathers a stretch: what was touched counts as the entries do.
type page struct {
	f       *fake
	entries []*wire.Entry
	touched map[uint64]*wire.Entry
}

// takes adds a place if what it tells fits; first is where the stretch begins then.
func (p *page) takes(e *wire.Entry, first uint64, limit int) bool {
	if !p.f.sees(e) {
		return true
	}
	n := len(p.entries) + len(p.touched)
	_, known := p.touched[e.Seq]
	switch {
	case !amends(e):
		if !known && n >= limit {
			return false
		}
		delete(p.touched, e.Seq)
		p.entries = append(p.entries, e)
		return true
	case e.Target >= first || e.Target == 0:
		return true
	}
	t := p.f.journal[e.Conversation][e.Target-1]
	if _, known := p.touched[t.Seq]; known || !p.f.sees(t) {
		return true
	}
	if n >= limit {
		return false
	}
	p.touched[t.Seq] = t
	return true
}

func (p *page) stretch(conversation string, first, last uint64) stretch {
	if first == 0 || first > last {
		return stretch{}
	}
	s := stretch{first: first, last: last, entries: p.entries}
	slices.SortFunc(s.entries, func(a, b *wire.Entry) int { return int(a.Seq) - int(b.Seq) })
	for _, t := range slices.Collect(maps.Values(p.touched)) {
		if t.Thread != 0 && t.Thread < first { // what was done to a reply may have changed its root
			p.touched[t.Thread] = p.f.journal[conversation][t.Thread-1]
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(p.touched)) {
		s.touched = append(s.touched, p.touched[seq])
	}
	if e := p.f.journal[conversation][last-1]; amends(e) {
		s.end = newestOf(e)
	}
	for i, e := range s.entries {
		if p.f.gone(e) {
			s.entries[i] = blank(e)
		}
	}
	s.touched = slices.DeleteFunc(s.touched, p.f.gone)
	p.f.told += len(s.entries) + len(s.touched)
	return s
}

// up is the stretch from a seq on, in a conversation that has it.
func (f *fake) up(conversation string, from uint64, limit int) stretch {
	p := &page{f: f, touched: map[uint64]*wire.Entry{}}
	j := f.journal[conversation]
	if until := f.until[conversation]; until > 0 {
		j = j[:until]
	}
	var last uint64
	for _, e := range j[from-1:] {
		if f.walkMax > 0 && last > 0 && e.Seq >= from+uint64(f.walkMax) || !p.takes(e, from, limit) {
			break
		}
		if f.sees(e) || len(f.lifetimes(conversation)) > 0 {
			last = e.Seq
		}
	}
	return p.stretch(conversation, from, last)
}

// down is the stretch that ends at a seq and begins at least at least.
func (f *fake) down(conversation string, from, least uint64, limit int) stretch {
	p := &page{f: f, touched: map[uint64]*wire.Entry{}}
	var first uint64
	for seq := from; seq >= max(least, 1); seq-- {
		e := f.journal[conversation][seq-1]
		if f.walkMax > 0 && first > 0 && seq+uint64(f.walkMax) <= from || !p.takes(e, seq, limit) {
			break
		}
		if f.sees(e) {
			first = seq
		}
	}
	return p.stretch(conversation, first, from)
}

// tell puts a stretch into a state.
func tell(w *wire.ConversationState, s stretch) *wire.ConversationState {
	w.FromSeq, w.Entries, w.Touched, w.Last = s.first, s.entries, s.touched, s.end
	return w
}

// news is a conversation as a resume tells it, with what is new since a seq.
func (f *fake) news(conversation string, since uint64) *wire.ConversationState {
	w := f.state(conversation)
	if since == 0 || since > w.Seq || f.deltaMax == 0 {
		return w
	}
	return tell(w, f.down(conversation, w.Seq, since, f.deltaMax))
}

// line is a conversation as the list tells it: with its last entry that amends nothing,
// and nothing of what was touched before that.
func (f *fake) line(conversation string) *wire.ConversationState {
	w := f.state(conversation)
	for seq := w.Seq; seq > 0 && seq+200 > w.Seq; seq-- {
		if e := f.journal[conversation][seq-1]; f.sees(e) && !amends(e) && !f.gone(e) {
			p := &page{f: f, entries: []*wire.Entry{e}}
			for _, behind := range f.journal[conversation][seq:w.Seq] {
				if !amends(behind) && f.sees(behind) {
					p.entries = append(p.entries, behind)
				}
			}
			return tell(w, p.stretch(conversation, seq, w.Seq))
		}
	}
	return w
}

// putBack puts the server back to where a conversation, the only one, had n entries.
func (f *fake) putBack(conversation string, n int) {
	f.do(func() {
		old := f.journal[conversation][:n]
		f.journal[conversation], f.changes, f.pos = nil, f.changes[:n], uint64(n)
		for _, e := range old {
			e = proto.Clone(e).(*wire.Entry)
			if e.Amended > uint64(n) { // as it was written
				e.Amended, e.Recalled = 0, false
				e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint("m", e.Seq)}}
			}
			f.journal[conversation] = append(f.journal[conversation], e)
		}
	})
}
