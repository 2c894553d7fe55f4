package importing

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// batchMessages and batchBytes bound what is stored in one step.
	batchMessages = 500
	batchBytes    = 4 << 20
	// maxText is how long the text of one entry is at most: less than the server takes.
	maxText = 60 << 10
	// maxCaption is how long the text beside a file may be: within JSON, which may double it.
	maxCaption = 20 << 10
	// maxReacted is how many reactions a message takes along: they lie in one body.
	maxReacted = 1024
	// keptRoots is how many first messages of threads are remembered as they are.
	keptRoots = 4 * batchMessages
	// checkAfter is when a server asks for the first time whether a message names its file: when
	// it is stored, or never will be.
	checkAfter = time.Hour
)

// saidBy is a message that waits to be stored, and what became of its entries.
type saidBy struct {
	*Message
	p      *person
	at     time.Time
	id     im.MessageID
	thread *thread // of those that begin one
	parts  []part
}

// part is one entry of a message: the text and the first file, each further file, and what of
// a text is too long for one.
type part struct {
	id   im.MessageID
	text string
	file *File
}

// root is the first message of a thread as it is, with what a batch makes of it.
type root struct {
	entry im.Entry
	state *entrycodec.State
}

// message takes the next message in the order of the export.
func (w *writer) message(ctx context.Context, m *Message) error {
	if w.now == nil || w.now.Key != m.Conversation {
		if err := w.finish(ctx); err != nil {
			return err
		}
		v, err := w.conversation(ctx, m.Conversation, m.At)
		if err != nil {
			return err
		}
		w.now = v
	}
	v := w.now
	if v.refused != "" {
		w.c.drop(m, v.refused)
		return nil
	}
	s := &saidBy{Message: m, p: w.people[w.c.user(m.Author).Key], at: time.UnixMilli(m.At / 1000).UTC(), thread: w.c.threads[threadKey(m.Conversation, m.Key)]}
	s.id = w.messageID(s.at, "message", m.Conversation, m.Key)
	if !v.first(s) {
		w.c.drop(m, "it is twice in the export")
		return nil
	}
	v.batch = append(v.batch, s)
	if v.size += len(m.Text) + 100*len(m.Reactions) + 500; len(v.batch) >= batchMessages || v.size >= batchBytes {
		return w.flush(ctx, v)
	}
	return nil
}

// first tells whether a message comes for the first time. Those of one id have one time, so they
// are neighbours in the order, but for others of that time.
func (v *conversation) first(s *saidBy) bool {
	if v.ids == nil || !v.idsAt.Equal(s.at) {
		v.ids, v.idsAt = map[im.MessageID]bool{}, s.at
	}
	twice := v.ids[s.id]
	v.ids[s.id] = true
	return !twice
}

// finish ends the conversation whose messages are being written: all have read it.
func (w *writer) finish(ctx context.Context) error {
	v := w.now
	if w.now = nil; v == nil || v.refused != "" {
		return nil
	}
	if err := w.flush(ctx, v); err != nil || v.last == 0 {
		return err
	}
	if err := w.markRead(ctx, v); err != nil {
		return err
	}
	v.roots, v.batch, v.read, v.ids = nil, nil, nil, nil
	return nil
}

// flush stores the messages that wait, but for those that are there.
func (w *writer) flush(ctx context.Context, v *conversation) error {
	if len(v.batch) == 0 {
		return nil
	}
	asked := make([]im.Append, len(v.batch))
	for i, s := range v.batch {
		asked[i] = im.Append{Entry: im.Entry{Conversation: v.id, Sender: s.p.id, ID: s.id}, Hash: hashOf(s.id)}
	}
	found := make([]im.Appended, len(asked))
	if err := w.t.Journal.Lookup(ctx, asked, found); err != nil {
		return err
	}
	next := &step{w: w, v: v, seq: v.head.Seq, time: v.head.Time}
	for i, s := range v.batch {
		switch {
		case found[i].Status == im.Duplicate:
			if err := w.there(ctx, v, s, &found[i]); err != nil {
				return err
			}
		case found[i].Status != im.Absent:
			w.c.drop(s.Message, "another message has its id")
			w.c.Problem(s.Where, "another message has this one's id")
		case s.at.Before(next.time):
			w.c.drop(s.Message, "the conversation has later messages of its own")
			if !next.told {
				next.told = true
				w.c.Problemf(s.Where, "%s has messages that are later than this one, and not of this import: it, and others like it, are left out", v.id)
			}
		default:
			if err := next.whole(ctx, s); err != nil {
				return err
			}
		}
	}
	if err := next.store(ctx); err != nil {
		return err
	}
	v.batch, v.size = v.batch[:0], 0
	w.o.Progress("written", w.r.Written.Messages+w.r.Already.Messages)
	return nil
}

// hashOf is what tells an entry of an import from another one under its id: the id says all.
func hashOf(id im.MessageID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// there counts a message that an earlier run stored.
func (w *writer) there(ctx context.Context, v *conversation, s *saidBy, found *im.Appended) error {
	a := &w.r.Already
	a.Messages++
	if s.Root != "" {
		a.Replies++
	}
	a.Reactions += reactions(s.Message)
	files, err := w.filesThere(ctx, v, s)
	if err != nil {
		return err
	}
	a.Files += files
	w.r.leave("file", "its message is here without it", int64(len(s.Files))-files)
	v.upTo(found.Seq, found.Count)
	if s.thread != nil {
		s.thread.seq, s.thread.author = found.Seq, s.p.id
	}
	if r := w.rootOf(v, s.Root); r != nil {
		v.read.reply(r, found.Seq, s.p.id)
		if s.thread != nil {
			s.thread.root = r.top()
		}
	}
	return nil
}

// filesThere counts the files of a message that is there which came over with it.
func (w *writer) filesThere(ctx context.Context, v *conversation, s *saidBy) (n int64, err error) {
	if len(s.Files) == 0 {
		return 0, nil
	}
	asked := make([]im.Append, len(s.Files))
	for i := range asked {
		id := s.id
		if i > 0 {
			id = w.partID(s, "file", i)
		}
		asked[i] = im.Append{Entry: im.Entry{Conversation: v.id, Sender: s.p.id, ID: id}, Hash: hashOf(id)}
	}
	found := make([]im.Appended, len(asked))
	if err := w.t.Journal.Lookup(ctx, asked, found); err != nil {
		return 0, err
	}
	for i := range found {
		if found[i].Status != im.Duplicate {
			continue
		}
		got, err := w.t.Journal.Read(ctx, v.id, found[i].Seq, false, 1)
		if err != nil {
			return 0, err
		}
		if len(got) == 0 || got[0].Seq != found[i].Seq {
			continue
		}
		var e wire.Entry
		if err := entrycodec.Decode(got[0].Body, &e); err != nil {
			return 0, err
		}
		if len(e.GetMedia()) > 0 {
			n++
		}
	}
	return n, nil
}

func (v *conversation) upTo(seq, count uint64) {
	if seq > v.last {
		v.last, v.lastCount = seq, count
	}
}

// rootOf is what is known of the message that another one names as its thread's first.
func (w *writer) rootOf(v *conversation, key string) *thread {
	if key == "" {
		return nil
	}
	if t := w.c.threads[threadKey(v.Key, key)]; t != nil && t.seq > 0 {
		return t
	}
	return nil
}

// top is the seq of the thread's first message: threads have no threads.
func (t *thread) top() uint64 { return cmp.Or(t.root, t.seq) }

// step is what is stored at once.
type step struct {
	w     *writer
	v     *conversation
	seq   uint64
	time  time.Time
	told  bool
	batch []im.Append
	at    []time.Time
	count Things
	parts int64
}

// whole adds a message. If the import has to stop at it, for a file that cannot be fetched now,
// what was added before is stored: the next run does not fetch that again.
func (x *step) whole(ctx context.Context, s *saidBy) error {
	n, count := len(x.batch), x.count
	err := x.add(ctx, s)
	var stop *stopError
	if errors.As(err, &stop) {
		x.batch, x.at, x.count = x.batch[:n], x.at[:n], count
		return errors.Join(fmt.Errorf("the message of %s: %w", s.Where, err), x.store(ctx))
	}
	return err
}

// add makes the entries of a message.
func (x *step) add(ctx context.Context, s *saidBy) error {
	w := x.w
	said := w.from.Text(cleaned(s.Text), w)
	if strings.TrimSpace(said.Text) == "" && len(s.Files) == 0 {
		w.c.drop(s.Message, "it says nothing")
		return nil
	}
	x.split(s, said.Text)
	reply := w.rootOf(x.v, s.Root)
	if s.Root != "" && reply == nil {
		w.c.Problem(s.Where, "the first message of its thread is not in the export, or comes later; it stands outside of any thread")
	}
	for n := range s.parts {
		body, err := x.body(ctx, s, n, &said)
		if err != nil {
			return err
		}
		if err := x.entry(ctx, s, &s.parts[n], body, reply); err != nil {
			return err
		}
		if n == 0 && s.thread != nil {
			s.thread.seq, s.thread.author = x.seq, s.p.id
			if reply != nil {
				s.thread.root = reply.top()
			}
		}
	}
	if reply != nil {
		x.v.read.reply(reply, x.seq, s.p.id)
	}
	x.count.Messages++
	if s.Root != "" {
		x.count.Replies++
	}
	x.parts += int64(len(s.parts) - 1)
	return nil
}

// split makes the parts of a message: their ids follow from what they are, so a file that
// is missing this time changes nothing about the others.
func (x *step) split(s *saidBy, text string) {
	first := part{id: s.id}
	rest := text
	if len(s.Files) > 0 {
		first.file = &s.Files[0]
		if len(text) <= maxCaption {
			first.text, rest = text, ""
		}
	} else {
		first.text, rest = cutBytes(text, maxText)
	}
	s.parts = append(s.parts[:0], first)
	for n := 1; rest != ""; n++ {
		p := part{id: x.w.partID(s, "text", n)}
		p.text, rest = cutBytes(rest, maxText)
		s.parts = append(s.parts, p)
	}
	for n := 1; n < len(s.Files); n++ {
		s.parts = append(s.parts, part{id: x.w.partID(s, "file", n), file: &s.Files[n]})
	}
}

// partID is the id of a part of a message but the first.
func (w *writer) partID(s *saidBy, what string, n int) im.MessageID {
	return w.messageID(s.at, "part", s.Conversation, s.Key, fmt.Sprint(what, n))
}

// cutBytes cuts a text before most bytes, between lines if there are some.
func cutBytes(s string, most int) (first, rest string) {
	if len(s) <= most {
		return s, ""
	}
	at := most
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	if line := strings.LastIndexByte(s[:at], '\n'); line > most/2 {
		return s[:line], s[line+1:]
	}
	return s[:at], s[at:]
}

// body is what the nth entry of a message says.
func (x *step) body(ctx context.Context, s *saidBy, n int, said *Said) ([]byte, error) {
	p := &s.parts[n]
	e := &wire.Entry{NoPreview: true}
	u, err := x.file(ctx, s, p)
	switch {
	case err != nil:
		return nil, err
	case u != nil:
		e.Content, e.Media = fileContent(u, p.text), []*wire.Media{entrycodec.MediaToWire(u)}
	default:
		text := p.text
		if p.file != nil { // it is not there: its name is
			text = strings.TrimPrefix(text+"\n📎 "+shownName(p.file.Name, "?", 200), "\n")
		}
		e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	}
	if n > 0 {
		return entrycodec.Encode(e), nil
	}
	e.Mentions = said.Mentions
	if x.v.id.Kind() == im.KindGroup {
		switch {
		case said.All:
			e.GroupMention = wire.GroupMention_GROUP_MENTION_ALL
		case said.Here:
			e.GroupMention = wire.GroupMention_GROUP_MENTION_HERE
		}
	}
	if s.EditedMs > 0 {
		e.EditedAtMs, e.Edits = max(s.EditedMs, s.at.UnixMilli()), 1
	}
	if s.Pinned {
		e.Pinned = &wire.Pinned{User: string(s.p.id), AtMs: s.at.UnixMilli()}
	}
	return x.reacted(s, entrycodec.Encode(e))
}

// reacted is a body with the reactions to it.
func (x *step) reacted(s *saidBy, body []byte) ([]byte, error) {
	if len(s.Reactions) == 0 {
		return body, nil
	}
	state, err := entrycodec.Open(body, 0)
	if err != nil {
		return nil, err
	}
	taken := int64(0)
	leave := func(why string, n int) { x.w.r.leave("reaction", why, int64(n)) }
	for _, r := range s.Reactions {
		name := reaction(r.Name)
		if name == "" {
			leave("its name cannot be used", len(r.Users))
			continue
		}
		asked := entrycodec.Encode(&wire.Entry{React: &wire.React{Reaction: name}})
		for _, key := range r.Users {
			u := x.w.c.user(key)
			if u == nil {
				leave("by somebody unknown", 1)
				continue
			}
			if taken == maxReacted {
				leave("too many on one message", 1)
				continue
			}
			told, err := state.React(x.w.people[u.Key].id, asked, nil)
			switch {
			case errors.Is(err, entrycodec.ErrReactions):
				leave("too many kinds on one message", 1)
			case err != nil:
				return nil, err
			case told == nil:
				leave("twice by one user", 1)
			default:
				taken++
			}
		}
	}
	x.count.Reactions += taken
	return state.Body(), nil
}

// fileContent is the content of a message with a file (SPEC §11.2).
func fileContent(u *im.Upload, caption string) *wire.Content {
	about := map[string]any{"media": u.ID, "mime": u.MIME, "bytes": u.Size}
	kind := "file"
	if strings.HasPrefix(u.MIME, "image/") && u.Width > 0 {
		kind = "image"
		about["width"], about["height"] = u.Width, u.Height
		if u.Blurhash != "" {
			about["blurhash"] = u.Blurhash
		}
	} else {
		about["name"] = u.Name
	}
	if caption != "" {
		about["caption"] = caption
	}
	b, err := json.Marshal(about)
	if err != nil {
		panic(err) // texts and numbers
	}
	fallback, _, _ := strings.Cut(cmp.Or(caption, u.Name, kind), "\n")
	fallback, _ = cutBytes(fallback, 1000)
	return &wire.Content{Type: kind, Body: &wire.Content_Text{Text: string(b)}, Fallback: fallback}
}

// entry adds an entry to what is stored, in the thread of reply if that is not nil.
func (x *step) entry(ctx context.Context, s *saidBy, p *part, body []byte, reply *thread) error {
	x.seq++
	e := im.Entry{Conversation: x.v.id, Sender: s.p.id, ID: p.id, Kind: im.EntryMessage, Body: body, Seq: x.seq, Stored: s.at}
	a := im.Append{Hash: hashOf(p.id), IfRoster: x.v.head.Roster}
	if reply != nil {
		r, err := x.root(ctx, reply.top())
		if err != nil {
			return err
		}
		if r != nil {
			if e.Target = r.entry.Seq; !s.InMain {
				e.Kind = im.EntryReply
			}
			r.replied(&a, &e)
		}
	}
	if a.Amend.None() {
		a.Labels = entrycodec.Labels(&e)
		if s.thread != nil && p.id == s.id {
			state, err := entrycodec.Open(body, 0)
			if err != nil {
				return err
			}
			x.keep(&root{e, state})
		}
	}
	a.Entry = e
	x.batch, x.at, x.time = append(x.batch, a), append(x.at, s.at), s.at
	return nil
}

// replied makes an entry a reply to a root, which says so from then on.
func (r *root) replied(a *im.Append, e *im.Entry) {
	count := uint64(r.state.Told.GetReplies().GetCount())
	before := entrycodec.Labels(&r.entry)
	r.state.SetReplies(count+1, e.Stored)
	a.Own = entrycodec.Labels(e)
	a.Amend = im.Amend{Change: true, If: r.entry.Amended, Body: r.state.Body()}
	r.entry.Body, r.entry.Amended = a.Amend.Body, e.Seq
	a.Labels, _ = entrycodec.Relabel(before, entrycodec.Labels(&r.entry))
	a.Labels = append(a.Labels, entrycodec.LabelFollows(e.Sender))
	if r.entry.Sender != e.Sender && count == 0 {
		a.Labels = append(a.Labels, entrycodec.LabelFollows(r.entry.Sender))
	}
}

// root is a thread's first message as it is, nil if it is none any more.
func (x *step) root(ctx context.Context, seq uint64) (*root, error) {
	if r := x.v.roots[seq]; r != nil {
		return r, nil
	}
	got, err := x.w.t.Journal.Read(ctx, x.v.id, seq, false, 1)
	if err != nil || len(got) == 0 || got[0].Seq != seq || len(got[0].Body) == 0 || got[0].Kind != im.EntryMessage || got[0].Root() != 0 {
		return nil, err
	}
	state, err := entrycodec.Open(got[0].Body, got[0].Amended)
	if err != nil {
		return nil, err
	}
	r := &root{got[0], state}
	x.keep(r)
	return r, nil
}

// keep remembers a root. Those that this step changes stay: there are fewer of them.
func (x *step) keep(r *root) {
	if len(x.v.roots) >= keptRoots {
		for seq := range x.v.roots {
			if seq <= x.v.head.Seq && x.v.roots[seq].entry.Amended <= x.v.head.Seq {
				delete(x.v.roots, seq)
			}
		}
	}
	x.v.roots[r.entry.Seq] = r
}

// store stores what was added, all of it or nothing.
func (x *step) store(ctx context.Context) error {
	if len(x.batch) == 0 {
		return nil
	}
	v, r := x.v, x.w.r
	out := make([]im.Appended, len(x.batch))
	if err := x.w.t.Journal.AppendDated(ctx, x.batch, x.at, out); err != nil {
		return err
	}
	for i := range out {
		if out[i].Status != im.Stored || out[i].Seq != v.head.Seq+uint64(i)+1 {
			return fmt.Errorf("an entry of %s was not stored as it was to be (%d): does somebody else use the store?", v.id, out[i].Status)
		}
	}
	last := out[len(out)-1]
	v.head = im.Head{Seq: last.Seq, Count: last.Count, Time: last.Time, Roster: last.Roster, Pos: last.Pos}
	v.upTo(last.Seq, last.Count)
	w := &r.Written
	w.Messages += x.count.Messages
	w.Replies += x.count.Replies
	w.Reactions += x.count.Reactions
	w.Files += x.count.Files
	w.FileBytes += x.count.FileBytes
	r.Parts += x.parts
	return nil
}
