package wire

import (
	"math"

	"google.golang.org/protobuf/proto"
)

// The reader of the hot frames. It reads a part of the language that protojson
// reads, to the same result, and declines everything else: an unknown field or
// another name of a known one, a field that stands twice, null, a number that is
// not a row of digits, an enum's number, invalid UTF-8, half a surrogate, more
// elements than a frame may have, and whatever is no JSON. It never decides that
// a frame is bad; that is protojson's to say, which reads what was declined from
// the beginning. So a case that is missing here costs time, never the meaning.
//
// What it reads is copied out of the input, which is not changed.

// decodeHot fills frame from data and reports whether it could. If not, frame is
// as it was.
func decodeHot(data []byte, frame proto.Message, elements int, mem *ClientReader) bool {
	r := jsonReader{b: data, left: elements, mem: mem}
	switch f := frame.(type) {
	case *ClientFrame:
		if m := r.client(); r.end() {
			f.Reset()
			f.Frame = m
			return true
		}
	case *ServerFrame:
		if m := r.server(); r.end() {
			f.Reset()
			f.Frame = m
			return true
		}
	}
	return false
}

// jsonReader reads b from i on. Once it has declined there is nothing left to
// read, so that every loop ends.
type jsonReader struct {
	b    []byte
	i    int
	left int // how many more elements the frame may have, as checkJSON counts them
	odd  bool
	mem  *ClientReader // nil: memory of its own
}

func (r *jsonReader) decline() { r.b, r.i, r.odd = nil, 0, true }

func (r *jsonReader) client() (m isClientFrame_Frame) {
	switch string(r.field('{')) {
	case "send":
		m = r.send()
	case "received":
		p := r.mem.receivedParts()
		p.received.Conversation, p.received.Seq = r.mark()
		p.one.Received = &p.received
		m = &p.one
	case "read":
		v := &Read{}
		v.Conversation, v.Seq = r.mark()
		m = &ClientFrame_Read{v}
	case "ping":
		m = &ClientFrame_Ping{r.ping()}
	case "pong":
		m = &ClientFrame_Pong{r.pong()}
	default:
		r.decline()
	}
	return m
}

func (r *jsonReader) server() (m isServerFrame_Frame) {
	switch string(r.field('{')) {
	case "sendAck":
		m = &ServerFrame_SendAck{r.sendAck()}
	case "sendError":
		m = &ServerFrame_SendError{r.sendError()}
	case "push":
		m = &ServerFrame_Push{r.push()}
	case "receipt":
		m = &ServerFrame_Receipt{r.receipt()}
	case "ping":
		m = &ServerFrame_Ping{r.ping()}
	case "pong":
		m = &ServerFrame_Pong{r.pong()}
	default:
		r.decline()
	}
	return m
}

// end reads the end of the frame and reports whether it was read.
func (r *jsonReader) end() bool {
	if r.field(',') != nil { // a second frame
		r.decline()
	}
	r.space()
	return !r.odd && r.i == len(r.b)
}

// send reads a Send into one piece of memory, as decodeSend does.
func (r *jsonReader) send() *ClientFrame_Send {
	p, seen := r.mem.sendParts(), uint(0)
	m := &p.send
	p.one.Send = m
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "conversation":
			r.once(&seen, 1)
			m.Conversation = r.conversation()
		case "id":
			r.once(&seen, 2)
			m.Id = r.id(&p.id)
		case "content":
			r.once(&seen, 3)
			m.Content = r.content(&p.content, &p.text)
		case "replyTo":
			r.once(&seen, 4)
			m.ReplyTo = r.uint()
		case "mentions":
			r.once(&seen, 5)
			m.Mentions = r.texts()
		case "insteadOf":
			r.once(&seen, 6)
			m.InsteadOf = idOf(r.bytes())
		default:
			r.decline()
		}
	}
	return &p.one
}

// mark reads a Received or a Read.
func (r *jsonReader) mark() (conversation string, seq uint64) {
	seen := uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "conversation":
			r.once(&seen, 1)
			conversation = r.conversation()
		case "seq":
			r.once(&seen, 2)
			seq = r.uint()
		default:
			r.decline()
		}
	}
	return conversation, seq
}

func (r *jsonReader) ping() *Ping {
	m, seen := &Ping{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "position":
			r.once(&seen, 1)
			m.Position = r.text()
		case "digest":
			r.once(&seen, 2)
			m.Digest = proto.Uint64(r.uint())
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) pong() *Pong {
	m, seen := &Pong{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "serverTimeMs":
			r.once(&seen, 1)
			m.ServerTimeMs = r.int()
		case "resync":
			r.once(&seen, 2)
			m.Resync = r.bool()
		case "position":
			r.once(&seen, 3)
			m.Position = r.text()
		case "stickers":
			r.once(&seen, 4)
			m.Stickers = r.uint()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) sendAck() *SendAck {
	m, seen := &SendAck{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "id":
			r.once(&seen, 1)
			m.Id = r.bytes()
		case "conversation":
			r.once(&seen, 2)
			m.Conversation = r.text()
		case "seq":
			r.once(&seen, 3)
			m.Seq = r.uint()
		case "storedAtMs":
			r.once(&seen, 4)
			m.StoredAtMs = r.int()
		case "count":
			r.once(&seen, 5)
			m.Count = r.uint()
		case "pos":
			r.once(&seen, 6)
			m.Pos = r.uint()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) sendError() *SendError {
	m, seen := &SendError{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "id":
			r.once(&seen, 1)
			m.Id = r.bytes()
		case "error":
			r.once(&seen, 2)
			m.Error = r.error()
		case "first":
			r.once(&seen, 3)
			m.First = r.bytes()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) error() *Error {
	m, seen := &Error{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "code":
			r.once(&seen, 1)
			m.Code = r.text()
		case "message":
			r.once(&seen, 2)
			m.Message = r.text()
		case "retryAfterMs":
			r.once(&seen, 3)
			m.RetryAfterMs = r.uint32()
		case "field":
			r.once(&seen, 4)
			m.Field = r.text()
		case "frame":
			r.once(&seen, 5)
			m.Frame = r.text()
		case "conversation":
			r.once(&seen, 6)
			m.Conversation = r.text()
		case "codeNumber":
			r.once(&seen, 7)
			m.CodeNumber = r.uint32()
		case "ticket":
			r.once(&seen, 8)
			m.Ticket = r.text()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) uint32() uint32 {
	n := r.uint()
	if n > math.MaxUint32 {
		r.decline()
	}
	return uint32(n)
}

func (r *jsonReader) receipt() *Receipt {
	m, seen := &Receipt{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "conversation":
			r.once(&seen, 1)
			m.Conversation = r.text()
		case "user":
			r.once(&seen, 2)
			m.User = r.text()
		case "received":
			r.once(&seen, 3)
			m.Received = r.uint()
		case "read":
			r.once(&seen, 4)
			m.Read = r.uint()
		case "readCount":
			r.once(&seen, 5)
			m.ReadCount = r.uint()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) push() *Push {
	m, seen := &Push{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "entries":
			r.once(&seen, 1)
			for more := r.item('['); more; more = r.item(',') {
				m.Entries = append(m.Entries, r.entry())
			}
		case "position":
			r.once(&seen, 2)
			m.Position = r.text()
		default:
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) entry() *Entry {
	m, seen := &Entry{}, uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "conversation":
			r.once(&seen, 1)
			m.Conversation = r.text()
		case "seq":
			r.once(&seen, 2)
			m.Seq = r.uint()
		case "id":
			r.once(&seen, 3)
			m.Id = r.bytes()
		case "sender":
			r.once(&seen, 4)
			m.Sender = r.text()
		case "storedAtMs":
			r.once(&seen, 5)
			m.StoredAtMs = r.int()
		case "kind":
			r.once(&seen, 6)
			m.Kind = r.kind()
		case "content":
			r.once(&seen, 7)
			m.Content = r.content(&Content{}, &Content_Text{})
		case "replyTo":
			r.once(&seen, 8)
			m.ReplyTo = r.uint()
		case "mentions":
			r.once(&seen, 9)
			m.Mentions = r.texts()
		case "count":
			r.once(&seen, 10)
			m.Count = r.uint()
		case "recalled":
			r.once(&seen, 11)
			m.Recalled = r.bool()
		case "target":
			r.once(&seen, 12)
			m.Target = r.uint()
		case "pos":
			r.once(&seen, 13)
			m.Pos = r.uint()
		case "amended":
			r.once(&seen, 14)
			m.Amended = r.uint()
		case "editedAtMs":
			r.once(&seen, 15)
			m.EditedAtMs = r.int()
		case "edits":
			r.once(&seen, 16)
			n := r.uint()
			if m.Edits = uint32(n); uint64(m.Edits) != n {
				r.decline()
			}
		default: // an event and extra as well
			r.decline()
		}
	}
	return m
}

func (r *jsonReader) kind() EntryKind {
	switch string(r.quoted()) {
	case "ENTRY_KIND_UNSPECIFIED":
		return EntryKind_ENTRY_KIND_UNSPECIFIED
	case "ENTRY_KIND_MESSAGE":
		return EntryKind_ENTRY_KIND_MESSAGE
	case "ENTRY_KIND_RECALL":
		return EntryKind_ENTRY_KIND_RECALL
	case "ENTRY_KIND_EVENT":
		return EntryKind_ENTRY_KIND_EVENT
	case "ENTRY_KIND_EDIT":
		return EntryKind_ENTRY_KIND_EDIT
	case "ENTRY_KIND_REACTION":
		return EntryKind_ENTRY_KIND_REACTION
	case "ENTRY_KIND_PIN":
		return EntryKind_ENTRY_KIND_PIN
	case "ENTRY_KIND_VOTE":
		return EntryKind_ENTRY_KIND_VOTE
	case "ENTRY_KIND_STREAM":
		return EntryKind_ENTRY_KIND_STREAM
	case "ENTRY_KIND_PREVIEW":
		return EntryKind_ENTRY_KIND_PREVIEW
	case "ENTRY_KIND_THREAD_REPLY":
		return EntryKind_ENTRY_KIND_THREAD_REPLY
	case "ENTRY_KIND_POLL_END":
		return EntryKind_ENTRY_KIND_POLL_END
	}
	r.decline()
	return 0
}

// content reads a Content into m, with text as the memory for its body if it
// is one.
func (r *jsonReader) content(m *Content, text *Content_Text) *Content {
	seen := uint(0)
	for name := r.field('{'); name != nil; name = r.field(',') {
		switch string(name) {
		case "type":
			r.once(&seen, 1)
			m.Type = r.contentType()
		case "text":
			r.once(&seen, 2) // one body of the two
			text.Text = r.text()
			m.Body = text
		case "data":
			r.once(&seen, 2)
			m.Body = &Content_Data{r.bytes()}
		case "fallback":
			r.once(&seen, 3)
			m.Fallback = r.text()
		default:
			r.decline()
		}
	}
	return m
}

// once declines what stands in an object for the second time.
func (r *jsonReader) once(seen *uint, field int) {
	if *seen&(1<<field) != 0 {
		r.decline()
	}
	*seen |= 1 << field
}
