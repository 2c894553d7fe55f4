package remote

import (
	"encoding/binary"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The questions and answers of im.Logic's methods, in the order of the asks.

func putHandshake(b []byte, h *im.Handshake) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, h.Token)
		b = putString(b, h.Connection)
		b = putDevice(b, &h.Device)
		b = putString(b, h.Client)
		b = putString(b, h.Address)
		return putString(b, h.Request)
	})
}

func (r *reader) handshake() im.Handshake {
	in := r.record()
	h := im.Handshake{Token: in.string(), Connection: im.ConnectionID(in.string()), Device: in.device(), Client: in.string(), Address: in.string()}
	if len(in.b) > 0 { // nodes of before send none
		h.Request = in.string()
	}
	r.also(in)
	return h
}

// markAsk is a call of Mark.
type markAsk struct {
	user           im.UserID
	conversation   im.ConversationID
	received, read uint64
}

func (m *markAsk) append(b []byte) []byte {
	b = putString(b, m.user)
	b = putString(b, m.conversation)
	b = binary.AppendUvarint(b, m.received)
	return binary.AppendUvarint(b, m.read)
}

func (r *reader) mark() markAsk {
	return markAsk{user: im.UserID(r.string()), conversation: im.ConversationID(r.string()), received: r.uint(), read: r.uint()}
}

func putSyncQuery(b []byte, q *im.SyncQuery) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, q.Position)
		b = putString(b, q.Timeline)
		b = binary.AppendUvarint(b, uint64(max(q.Limit, 0)))
		b = putString(b, q.Cursor)
		n := &q.Newest
		b = putString(b, n.Conversation)
		b = binary.AppendUvarint(b, n.Seq)
		b = append(b, n.ID[:]...)
		b = binary.AppendVarint(b, n.StoredMs)
		b = putBool(binary.AppendUvarint(b, n.Pos), q.Heads)
		b = binary.AppendUvarint(b, uint64(len(q.Only)))
		for _, c := range q.Only {
			b = putString(b, c)
		}
		return b
	})
}

func (r *reader) syncQuery() im.SyncQuery {
	in := r.record()
	q := im.SyncQuery{Position: in.string(), Timeline: in.string(), Limit: int(in.uint()), Cursor: in.string()}
	q.Newest = im.Newest{Conversation: im.ConversationID(in.string()), Seq: in.uint(), ID: in.id(), StoredMs: in.int(), Pos: in.uint()}
	q.Heads = in.bool()
	for range in.count() {
		q.Only = append(q.Only, im.ConversationID(in.string()))
	}
	r.also(in)
	return q
}

func putSyncResult(b []byte, s *im.SyncResult) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, s.Timeline)
		b = putString(b, s.Position)
		b = putString(b, s.Next)
		b = putBool(b, s.Reset)
		b = binary.AppendUvarint(b, uint64(len(s.Conversations)))
		for i := range s.Conversations {
			b = putState(b, &s.Conversations[i])
		}
		return b
	})
}

func putState(b []byte, s *im.ConversationState) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, s.Conversation)
		h := &s.Head
		b = binary.AppendUvarint(b, h.Seq)
		b = binary.AppendUvarint(b, h.Count)
		b = putTime(b, h.Time)
		b = binary.AppendUvarint(b, h.Roster)
		b = binary.AppendUvarint(b, h.Pos)
		for _, n := range [...]uint64{s.First, s.Until, s.Read, s.Unread, s.PeerReceived, s.PeerRead} {
			b = binary.AppendUvarint(b, n)
		}
		b = putString(b, s.Title)
		b = putStretch(b, &s.Told)
		b = binary.AppendUvarint(b, uint64(len(s.Earlier)))
		for _, w := range s.Earlier {
			b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, w.First), w.Until), w.Hidden)
		}
		b = putBool(b, h.Damaged)
		b = binary.AppendUvarint(b, s.Recalled)
		b = binary.AppendUvarint(b, uint64(len(s.RecalledSeqs)))
		for _, seq := range s.RecalledSeqs {
			b = binary.AppendUvarint(b, seq)
		}
		// What a state of one's own gets new comes behind it.
		b = putBool(putMyState(b, &s.Mine), s.MarksOnly)
		b = binary.AppendUvarint(b, s.UnreadMentions)
		b = binary.AppendUvarint(b, uint64(len(s.MentionSeqs)))
		for _, seq := range s.MentionSeqs {
			b = binary.AppendUvarint(b, seq)
		}
		b = putString(b, s.Mine.Folder)
		b = binary.AppendUvarint(b, uint64(len(s.Lifetimes)))
		for _, p := range s.Lifetimes {
			b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, p.After), p.Until), uint64(p.Lifetime))
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, s.Mine.HiddenCount), s.Mine.UnreadAt)
		b = binary.AppendUvarint(b, s.Floor)
		b = putString(b, s.Mine.Threads)
		b = append(b, byte(s.Mine.PushLevel))
		return b
	})
}

func putStretch(b []byte, s *im.Stretch) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = binary.AppendUvarint(b, s.First)
		b = binary.AppendUvarint(b, s.Last)
		b = putEntries(b, s.Entries)
		b = putEntries(b, s.Touched)
		if b = putBool(b, s.End.Seq > 0); s.End.Seq > 0 {
			b = append(b, s.End.ID[:]...)
			b = binary.AppendVarint(b, s.End.StoredMs)
			b = binary.AppendUvarint(b, s.End.Pos)
		}
		return b
	})
}

// stretch reads a stretch of a conversation; its End is at its Last.
func (r *reader) stretch(c im.ConversationID) im.Stretch {
	in := r.record()
	s := im.Stretch{First: in.uint(), Last: in.uint(), Entries: in.entries(c), Touched: in.entries(c)}
	if in.bool() {
		s.End = im.Newest{Conversation: c, Seq: s.Last, ID: in.id(), StoredMs: in.int(), Pos: in.uint()}
	}
	r.also(in)
	return s
}

func putEntries(b []byte, es []im.Entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(es)))
	for i := range es {
		b = putEntry(b, &es[i])
	}
	return b
}

func (r *reader) entries(c im.ConversationID) []im.Entry {
	n := r.count()
	if n == 0 {
		return nil
	}
	es := make([]im.Entry, n)
	for i := range es {
		es[i] = r.entry(c)
	}
	return es
}

func (r *reader) syncResult() im.SyncResult {
	in := r.record()
	s := im.SyncResult{Timeline: in.string(), Position: in.string(), Next: in.string(), Reset: in.bool()}
	if n := in.count(); n > 0 {
		s.Conversations = make([]im.ConversationState, n)
		for i := range s.Conversations {
			s.Conversations[i] = in.state()
		}
	}
	r.also(in)
	return s
}

func (r *reader) state() im.ConversationState {
	in := r.record()
	s := im.ConversationState{Conversation: im.ConversationID(in.string())}
	s.Head = im.Head{Seq: in.uint(), Count: in.uint(), Time: in.time(), Roster: in.uint(), Pos: in.uint()}
	for _, n := range [...]*uint64{&s.First, &s.Until, &s.Read, &s.Unread, &s.PeerReceived, &s.PeerRead} {
		*n = in.uint()
	}
	s.Title = in.string()
	s.Told = in.stretch(s.Conversation)
	for range in.count() {
		s.Earlier = append(s.Earlier, im.PastWindow{Window: im.Window{First: in.uint(), Until: in.uint()}, Hidden: in.uint()})
	}
	s.Head.Damaged = in.bool()
	s.Recalled = in.uint()
	for range in.count() {
		s.RecalledSeqs = append(s.RecalledSeqs, in.uint())
	}
	s.Mine, s.MarksOnly = in.myState(), in.bool()
	s.UnreadMentions = in.uint()
	for range in.count() {
		s.MentionSeqs = append(s.MentionSeqs, in.uint())
	}
	s.Mine.Folder = in.string()
	for range in.count() {
		s.Lifetimes = append(s.Lifetimes, im.Period{After: in.uint(), Until: in.uint(), Lifetime: time.Duration(in.uint())})
	}
	s.Mine.HiddenCount, s.Mine.UnreadAt = in.uint(), in.uint()
	s.Floor = in.uint()
	s.Mine.Threads = im.ThreadMarks(in.string())
	s.Mine.PushLevel = im.PushLevel(in.byte())
	r.also(in)
	return s
}

func putPullQuery(b []byte, q *im.PullQuery) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = putString(b, q.Conversation)
		b = binary.AppendUvarint(b, q.From)
		b = putBool(b, q.Backward)
		b = binary.AppendUvarint(b, uint64(max(q.Limit, 0)))
		return putTime(b, q.At)
	})
}

func (r *reader) pullQuery() im.PullQuery {
	in := r.record()
	q := im.PullQuery{Conversation: im.ConversationID(in.string()), From: in.uint(), Backward: in.bool(), Limit: int(in.uint()), At: in.time()}
	r.also(in)
	return q
}

func putPullResult(b []byte, c im.ConversationID, p *im.PullResult) []byte {
	b = putString(b, c)
	b = binary.AppendUvarint(b, p.Head)
	return putStretch(b, &p.Stretch)
}

func (r *reader) pullResult() im.PullResult {
	c := im.ConversationID(r.string())
	return im.PullResult{Head: r.uint(), Stretch: r.stretch(c)}
}

func putStanding(b []byte, s *im.Standing) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = binary.AppendUvarint(b, uint64(len(s.Groups)))
		for _, g := range s.Groups {
			b = putString(b, g.Conversation)
			b = binary.AppendUvarint(b, g.Roster)
		}
		b = putBool(b, s.Sessions != nil)
		b = binary.AppendUvarint(b, uint64(len(s.Sessions)))
		for _, x := range s.Sessions {
			b = putString(b, x)
		}
		for _, g := range s.Groups { // behind all that nodes of before know
			b = binary.AppendUvarint(b, g.From)
		}
		return b
	})
}

func (r *reader) standing() (s im.Standing) {
	in := r.record()
	for range in.count() {
		s.Groups = append(s.Groups, im.GroupStanding{Conversation: im.ConversationID(in.string()), Roster: in.uint()})
	}
	if in.bool() {
		s.Sessions = []im.SessionID{}
	}
	for range in.count() {
		s.Sessions = append(s.Sessions, im.SessionID(in.string()))
	}
	for i := 0; i < len(s.Groups) && len(in.b) > 0; i++ {
		s.Groups[i].From = in.uint()
	}
	r.also(in)
	return s
}

func putChanged(b []byte, heads []im.ParcelHead, more bool) []byte {
	b = putBool(b, more)
	b = binary.AppendUvarint(b, uint64(len(heads)))
	for i := range heads {
		b = putHead(b, &heads[i])
	}
	return b
}

func (r *reader) changed() (heads []im.ParcelHead, more bool) {
	more = r.bool()
	if n := r.count(); n > 0 {
		heads = make([]im.ParcelHead, n)
		for i := range heads {
			heads[i] = r.head()
		}
	}
	return heads, more
}
