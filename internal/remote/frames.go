package remote

import (
	"encoding/binary"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// version begins every message on the bus. A node does not read messages of
// another version; see versions.go.
const version = 3

// opened begins to read a message.
func opened(data []byte) *reader {
	r := &reader{b: data}
	if r.byte() != version {
		r.fail()
	}
	return r
}

// frameBytes is from which size on a frame is sent as it is and another begun.
const frameBytes = 256 << 10

// up is the head of a frame to a logic node, before its sends and requests.
type up struct {
	from     string
	instance uint64 // of the sender
	to       uint64 // the instance it is meant for
	number   uint64 // of frames from this sender to this node: 1, 2, 3 …
	// first is the number of the first send in the frame, or of the next one when it
	// has none; restart: what is unanswered comes again from here on.
	first   uint64
	restart bool
	sends   uint64
}

func (u *up) append(b []byte) []byte {
	return putRecord(append(b, version), func(b []byte) []byte {
		b = putString(b, u.from)
		b = binary.AppendUvarint(b, u.instance)
		b = binary.AppendUvarint(b, u.to)
		b = binary.AppendUvarint(b, u.number)
		b = binary.AppendUvarint(b, u.first)
		b = putBool(b, u.restart)
		return binary.AppendUvarint(b, u.sends)
	})
}

func (r *reader) up() up {
	in := r.record()
	u := up{from: in.string(), instance: in.uint(), to: in.uint(), number: in.uint(), first: in.uint(), restart: in.bool(), sends: in.uint()}
	r.also(in)
	return u
}

func putSend(b []byte, s *sending) []byte {
	b = putString(b, s.user)
	b = putString(b, s.connection)
	b = binary.AppendUvarint(b, s.place.At)
	b = binary.AppendUvarint(b, s.place.Since)
	b = putBool(b, s.doubt)
	return putMessage(b, &s.msg)
}

// send reads what putSend wrote.
func (r *reader) send() (im.Actor, im.Message) {
	a := im.Actor{
		User: im.UserID(r.string()), Connection: im.ConnectionID(r.string()),
		Turn: im.Turn{At: r.uint(), Since: r.uint()}, Doubt: r.bool(),
	}
	return a, r.message()
}

// What is asked of a logic node, besides sends.
const (
	askAuthenticate = iota + 1
	askMark
	askSync
	askPull
	askCompare
	askSignal
	askCall
	askStanding
	askChanged
	// askCancel takes a request back: its body is the number. It has no answer.
	askCancel
	// askCustom passes a signal of the clients' own on. It is not askSignal with more
	// fields: a node that does not know it must not take it for typing.
	askCustom
	// askSeen tells who is there no more.
	askSeen
	// askMedia asks for rows of uploads; what exactly only internal/media knows.
	askMedia
)

func putRequest(b []byte, q *request, left time.Duration) []byte {
	return putRecord(b, func(b []byte) []byte {
		b = binary.AppendUvarint(b, q.number)
		b = append(b, q.kind)
		b = binary.AppendUvarint(b, uint64(max(left, 0)/time.Millisecond))
		return putBytes(b, q.body)
	})
}

// asked is a request as the logic node sees it.
type asked struct {
	number  uint64
	kind    byte
	timeout time.Duration
	body    []byte
}

func (r *reader) request() asked {
	in := r.record()
	q := asked{number: in.uint(), kind: in.byte(), timeout: time.Duration(in.uint()) * time.Millisecond, body: in.bytes()}
	r.also(in)
	return q
}

// The kinds of messages on n.<node>.
const (
	downAnswers  = 'a'
	downPresence = 'p'
	downForgot   = 'f'
)

// down is the head of a frame of answers.
type down struct {
	from     string
	instance uint64 // of the logic node
	to       uint64 // the instance it is meant for
	number   uint64 // of frames from this logic node to that instance
	// next is the number of the send that the node expects; gap: something else came.
	next uint64
	gap  bool
}

func (d *down) append(b []byte) []byte {
	return putRecord(append(b, version, downAnswers), func(b []byte) []byte {
		b = putString(b, d.from)
		b = binary.AppendUvarint(b, d.instance)
		b = binary.AppendUvarint(b, d.to)
		b = binary.AppendUvarint(b, d.number)
		b = binary.AppendUvarint(b, d.next)
		return putBool(b, d.gap)
	})
}

func (r *reader) down() down {
	in := r.record()
	d := down{from: in.string(), instance: in.uint(), to: in.uint(), number: in.uint(), next: in.uint(), gap: in.bool()}
	r.also(in)
	return d
}

// The answers in a frame.
const (
	itemAck = iota + 1
	itemSendError
	itemAnswer
	itemError
	itemFound // an ack of what was stored before: no delivery follows
)

func putAck(b []byte, number uint64, a *im.Ack) []byte {
	item := byte(itemFound)
	if a.Follows {
		item = itemAck
	}
	b = binary.AppendUvarint(append(b, item), number)
	b = binary.AppendUvarint(b, a.Seq)
	b = binary.AppendUvarint(b, a.Count)
	b = binary.AppendVarint(b, a.Stored.UnixMilli())
	return binary.AppendUvarint(b, a.Pos)
}

// partBytes is how long a part of an answer may be.
const partBytes = 512 << 10

// putParcel appends a parcel. Its entries are of one conversation.
func putParcel(b []byte, p *im.Parcel) []byte {
	return putRecord(append(b, version), func(b []byte) []byte {
		switch {
		case len(p.Entries) > 0:
			b = putString(append(b, parcelEntries), p.Entries[0].Conversation)
			b = binary.AppendUvarint(b, uint64(len(p.Entries)))
			for i := range p.Entries {
				b = putEntry(b, &p.Entries[i])
				origin := im.ConnectionID("")
				if i < len(p.Origin) {
					origin = p.Origin[i]
				}
				b = putString(b, origin)
			}
		case p.Head != nil:
			b = putHead(append(b, parcelHead), p.Head)
			b = putUsers(b, p.Head.Added)
		case p.Receipt != nil:
			b = putString(append(b, parcelReceipt), p.Receipt.User)
			b = putString(b, p.Receipt.Conversation)
			b = binary.AppendUvarint(b, p.Receipt.Received)
			b = binary.AppendUvarint(b, p.Receipt.Read)
			b = binary.AppendUvarint(b, p.Receipt.ReadCount)
		case p.MyState != nil:
			b = putString(putMyState(append(b, parcelMyState), p.MyState), p.MyState.Folder)
			b = binary.AppendUvarint(binary.AppendUvarint(b, p.MyState.HiddenCount), p.MyState.UnreadAt)
			b = putString(b, p.MyState.Threads)
			b = append(b, byte(p.MyState.PushLevel))
		case p.Floor != nil:
			b = putString(append(b, parcelFloor), p.Floor.Conversation)
			b = binary.AppendUvarint(binary.AppendUvarint(b, p.Floor.Seq), p.Floor.Count)
		case p.Typing != nil:
			b = putString(append(b, parcelTyping), p.Typing.Conversation)
			b = putString(b, p.Typing.User)
		case p.Custom != nil:
			b = putCustom(append(b, parcelCustom), p.Custom)
		}
		return b
	})
}

// What a parcel has.
const (
	parcelEntries = iota + 1
	parcelHead
	parcelReceipt
	parcelTyping
	parcelMyState
	parcelCustom
	parcelFloor
)

func putCustom(b []byte, s *im.CustomSignal) []byte {
	return putBytes(putString(putString(putString(b, s.Conversation), s.User), s.Type), s.Data)
}

func (r *reader) custom() *im.CustomSignal {
	return &im.CustomSignal{Conversation: im.ConversationID(r.string()), User: im.UserID(r.string()), Type: r.string(), Data: r.bytes()}
}

// putWatched puts the times behind all users: who knows none reads the users.
func putWatched(b []byte, ws []im.Watched) []byte {
	b = binary.AppendUvarint(b, uint64(len(ws)))
	for _, w := range ws {
		b = putString(b, w.User)
	}
	for _, w := range ws {
		b = putTime(b, w.Seen)
	}
	return b
}

func (r *reader) watched() []im.Watched {
	var ws []im.Watched
	for _, u := range r.users() {
		ws = append(ws, im.Watched{User: u})
	}
	for i := range ws {
		ws[i].Seen = r.time()
	}
	return ws
}

// putMyState is what has a place of its own in more than one record: what a state gets
// new, as the folder, comes at the end of each of them.
func putMyState(b []byte, s *im.MyState) []byte {
	b = putString(b, s.Conversation)
	b = binary.AppendUvarint(b, s.Revision)
	b = putBool(putBool(putBool(b, s.Pinned), s.Hidden), s.Unread)
	b = putTime(b, s.MutedUntil)
	b = putString(b, s.Draft)
	b = binary.AppendUvarint(b, s.ClearedBelow)
	return putString(b, s.Deleted)
}

func (r *reader) myState() im.MyState {
	return im.MyState{
		Conversation: im.ConversationID(r.string()), Revision: r.uint(), Pinned: r.bool(), Hidden: r.bool(), Unread: r.bool(),
		MutedUntil: r.time(), Draft: r.string(), ClearedBelow: r.uint(), Deleted: im.SeqSet(r.string()),
	}
}

func putHead(b []byte, h *im.ParcelHead) []byte {
	b = putString(b, h.Conversation)
	b = binary.AppendUvarint(b, h.Seq)
	return binary.AppendUvarint(b, h.Roster)
}

func (r *reader) head() im.ParcelHead {
	return im.ParcelHead{Conversation: im.ConversationID(r.string()), Seq: r.uint(), Roster: r.uint()}
}

// readParcel reads a parcel; ok is false for one that this node does not know.
func readParcel(data []byte) (p im.Parcel, ok bool) {
	r := opened(data)
	in := r.record()
	switch in.byte() {
	case parcelEntries:
		c := im.ConversationID(in.string())
		n := in.count()
		p.Entries, p.Origin = make([]im.Entry, n), make([]im.ConnectionID, n)
		for i := range n {
			p.Entries[i] = in.entry(c)
			p.Origin[i] = im.ConnectionID(in.string())
		}
		ok = n > 0
	case parcelHead:
		h := in.head()
		h.Added = in.users()
		p.Head, ok = &h, true
	case parcelReceipt:
		p.Receipt = &im.Mark{User: im.UserID(in.string()), Conversation: im.ConversationID(in.string()), Received: in.uint(), Read: in.uint(), ReadCount: in.uint()}
		ok = true
	case parcelMyState:
		s := in.myState()
		s.Folder, s.HiddenCount, s.UnreadAt = in.string(), in.uint(), in.uint()
		s.Threads = im.ThreadMarks(in.string())
		s.PushLevel = im.PushLevel(in.byte())
		p.MyState, ok = &s, true
	case parcelTyping:
		p.Typing = &im.ParcelTyping{Conversation: im.ConversationID(in.string()), User: im.UserID(in.string())}
		ok = true
	case parcelCustom:
		p.Custom, ok = in.custom(), true
	case parcelFloor:
		p.Floor, ok = &im.Floor{Conversation: im.ConversationID(in.string()), Seq: in.uint(), Count: in.uint()}, true
	}
	r.also(in)
	return p, ok && r.err == nil
}

func putControl(b []byte, c *im.Control) []byte {
	return putRecord(append(b, version), func(b []byte) []byte {
		b = putString(b, c.User)
		b = putString(b, c.Unwatch)
		b = putString(b, c.Session)
		b = putBool(b, c.Yield)
		b = putDevice(b, &c.By)
		b = putString(b, c.ByConnection)
		b = putTime(b, c.At)
		b = append(b, byte(c.Class))
		b = putString(b, c.Code)
		b = putBool(b, c.News) // a node of before finds no user in it, and does nothing
		return putString(b, c.Text)
	})
}

func readControl(data []byte) (im.Control, error) {
	r := opened(data)
	in := r.record()
	c := im.Control{
		User: im.UserID(in.string()), Unwatch: im.UserID(in.string()), Session: im.SessionID(in.string()), Yield: in.bool(),
		By: in.device(), ByConnection: im.ConnectionID(in.string()), At: in.time(), Class: im.DeviceClass(in.byte()), Code: im.Code(in.string()), News: in.bool(),
		Text: in.string(),
	}
	r.also(in)
	return c, r.err
}
