package wire

import (
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
)

// The writer of the hot frames: what a chat is made of, in either direction. It
// writes byte for byte what protojson writes, less the white space, or nothing:
// a frame that is not hot and whatever is unusual in a hot one (an event, an
// unknown kind, invalid UTF-8, a frame without its message) are left to
// protojson, so that there is one place that decides what becomes of them.
//
// Fields stand in the order of their declaration; those at their default are
// left out. A field that is added to a hot message must be added here: a test
// that fills every field by reflection fails until it is.

// appendHot appends frame to dst and reports whether it could. The bytes behind
// dst are undefined if it could not.
func appendHot(dst []byte, frame proto.Message) ([]byte, bool) {
	w := jsonWriter{b: dst}
	start := w.open()
	switch f := frame.(type) {
	case *ClientFrame:
		w.client(f)
	case *ServerFrame:
		w.server(f)
	default:
		return nil, false
	}
	w.close(start)
	return w.b, !w.odd
}

// jsonWriter appends to b until it is odd: then what was written is no use.
type jsonWriter struct {
	b   []byte
	odd bool
}

func (w *jsonWriter) client(f *ClientFrame) {
	switch m := f.GetFrame().(type) {
	case *ClientFrame_Send:
		if m != nil && m.Send != nil {
			w.send(m.Send)
			return
		}
	case *ClientFrame_Received:
		if m != nil && m.Received != nil {
			w.mark(`,"received":`, m.Received.Conversation, m.Received.Seq)
			return
		}
	case *ClientFrame_Read:
		if m != nil && m.Read != nil {
			w.mark(`,"read":`, m.Read.Conversation, m.Read.Seq)
			return
		}
	case *ClientFrame_Ping:
		if m != nil && m.Ping != nil {
			w.ping(m.Ping)
			return
		}
	case *ClientFrame_Pong:
		if m != nil && m.Pong != nil {
			w.pong(m.Pong)
			return
		}
	}
	w.odd = true
}

func (w *jsonWriter) server(f *ServerFrame) {
	switch m := f.GetFrame().(type) {
	case *ServerFrame_SendAck:
		if m != nil && m.SendAck != nil {
			w.sendAck(m.SendAck)
			return
		}
	case *ServerFrame_SendError:
		if m != nil && m.SendError != nil {
			w.sendError(m.SendError)
			return
		}
	case *ServerFrame_Push:
		if m != nil && m.Push != nil {
			w.push(m.Push)
			return
		}
	case *ServerFrame_Receipt:
		if m != nil && m.Receipt != nil {
			w.receipt(m.Receipt)
			return
		}
	case *ServerFrame_Ping:
		if m != nil && m.Ping != nil {
			w.ping(m.Ping)
			return
		}
	case *ServerFrame_Pong:
		if m != nil && m.Pong != nil {
			w.pong(m.Pong)
			return
		}
	}
	w.odd = true
}

func (w *jsonWriter) send(m *Send) {
	if len(m.Extra) > 0 || m.Poll != nil || m.GroupMention != 0 || m.Silent || m.Streaming || len(m.Media) > 0 || m.NoPreview || m.Thread != 0 || m.AlsoInMain {
		w.odd = true
		return
	}
	w.grow(192 + len(m.Conversation) + contentRoom(m.Content))
	w.raw(`,"send":`)
	start := w.open()
	w.text(`,"conversation":`, m.Conversation)
	w.bytes(`,"id":`, m.Id)
	w.content(m.Content)
	w.uint(`,"replyTo":`, m.ReplyTo)
	w.mentions(m.Mentions)
	w.bytes(`,"insteadOf":`, m.InsteadOf)
	w.close(start)
}

// mark writes a Received or a Read.
func (w *jsonWriter) mark(name, conversation string, seq uint64) {
	w.grow(80 + len(conversation))
	w.raw(name)
	start := w.open()
	w.text(`,"conversation":`, conversation)
	w.uint(`,"seq":`, seq)
	w.close(start)
}

func (w *jsonWriter) ping(m *Ping) {
	w.grow(80 + len(m.Position))
	w.raw(`,"ping":`)
	start := w.open()
	w.text(`,"position":`, m.Position)
	if m.Digest != nil { // 0 is a digest as well
		w.number(`,"digest":`, *m.Digest)
	}
	w.close(start)
}

func (w *jsonWriter) pong(m *Pong) {
	w.grow(128 + len(m.Position))
	w.raw(`,"pong":`)
	start := w.open()
	w.int(`,"serverTimeMs":`, m.ServerTimeMs)
	w.bool(`,"resync":`, m.Resync)
	w.text(`,"position":`, m.Position)
	w.uint(`,"stickers":`, m.Stickers)
	w.close(start)
}

func (w *jsonWriter) sendAck(m *SendAck) {
	w.grow(224 + len(m.Conversation))
	w.raw(`,"sendAck":`)
	start := w.open()
	w.bytes(`,"id":`, m.Id)
	w.text(`,"conversation":`, m.Conversation)
	w.uint(`,"seq":`, m.Seq)
	w.int(`,"storedAtMs":`, m.StoredAtMs)
	w.uint(`,"count":`, m.Count)
	w.uint(`,"pos":`, m.Pos)
	w.close(start)
}

func (w *jsonWriter) sendError(m *SendError) {
	w.grow(160 + len(m.Error.GetCode()) + len(m.Error.GetMessage()))
	w.raw(`,"sendError":`)
	start := w.open()
	w.bytes(`,"id":`, m.Id)
	if e := m.Error; e != nil {
		w.raw(`,"error":`)
		inner := w.open()
		w.text(`,"code":`, e.Code)
		w.text(`,"message":`, e.Message)
		if e.RetryAfterMs != 0 {
			w.raw(`,"retryAfterMs":`)
			w.b = strconv.AppendUint(w.b, uint64(e.RetryAfterMs), 10) // 32 bits: a number
		}
		w.text(`,"field":`, e.Field)
		w.text(`,"frame":`, e.Frame)
		w.text(`,"conversation":`, e.Conversation)
		if e.CodeNumber != 0 {
			w.raw(`,"codeNumber":`)
			w.b = strconv.AppendUint(w.b, uint64(e.CodeNumber), 10)
		}
		w.text(`,"ticket":`, e.Ticket)
		w.close(inner)
	}
	w.bytes(`,"first":`, m.First)
	w.close(start)
}

func (w *jsonWriter) receipt(m *Receipt) {
	w.grow(128 + len(m.Conversation) + len(m.User))
	w.raw(`,"receipt":`)
	start := w.open()
	w.text(`,"conversation":`, m.Conversation)
	w.text(`,"user":`, m.User)
	w.uint(`,"received":`, m.Received)
	w.uint(`,"read":`, m.Read)
	w.uint(`,"readCount":`, m.ReadCount)
	w.close(start)
}

func (w *jsonWriter) push(m *Push) {
	w.raw(`,"push":`)
	start := w.open()
	if len(m.Entries) > 0 {
		w.raw(`,"entries":`)
		list := w.open()
		for _, e := range m.Entries {
			if w.entry(e); w.odd {
				return
			}
		}
		w.closeList(list)
	}
	w.text(`,"position":`, m.Position)
	w.close(start)
}

func (w *jsonWriter) entry(e *Entry) {
	if e == nil || e.Event != nil || len(e.Extra) > 0 || e.React != nil || len(e.Reactions) > 0 || e.Poll != nil || e.Vote != nil || e.GroupMention != 0 || e.Pinned != nil || e.Silent || e.Forward != nil || e.Streaming || e.Replaced != 0 || e.CutOff || e.Deleted || len(e.Media) > 0 || e.NoPreview || e.Preview != nil || e.Thread != 0 || e.Replies != nil || e.AlsoInMain {
		w.odd = true
		return
	}
	w.grow(336 + len(e.Conversation) + len(e.Sender) + contentRoom(e.Content))
	w.raw(`,`)
	start := w.open()
	w.text(`,"conversation":`, e.Conversation)
	w.uint(`,"seq":`, e.Seq)
	w.bytes(`,"id":`, e.Id)
	w.text(`,"sender":`, e.Sender)
	w.int(`,"storedAtMs":`, e.StoredAtMs)
	w.kind(e.Kind)
	w.content(e.Content)
	w.uint(`,"replyTo":`, e.ReplyTo)
	w.mentions(e.Mentions)
	w.uint(`,"count":`, e.Count)
	w.bool(`,"recalled":`, e.Recalled)
	w.uint(`,"target":`, e.Target)
	w.uint(`,"pos":`, e.Pos)
	w.uint(`,"amended":`, e.Amended)
	w.int(`,"editedAtMs":`, e.EditedAtMs)
	if e.Edits != 0 {
		w.raw(`,"edits":`)
		w.b = strconv.AppendUint(w.b, uint64(e.Edits), 10) // 32 bits: a number
	}
	w.close(start)
}

func (w *jsonWriter) kind(k EntryKind) {
	switch k {
	case EntryKind_ENTRY_KIND_UNSPECIFIED:
	case EntryKind_ENTRY_KIND_MESSAGE:
		w.raw(`,"kind":"ENTRY_KIND_MESSAGE"`)
	case EntryKind_ENTRY_KIND_RECALL:
		w.raw(`,"kind":"ENTRY_KIND_RECALL"`)
	case EntryKind_ENTRY_KIND_EVENT:
		w.raw(`,"kind":"ENTRY_KIND_EVENT"`)
	case EntryKind_ENTRY_KIND_EDIT:
		w.raw(`,"kind":"ENTRY_KIND_EDIT"`)
	case EntryKind_ENTRY_KIND_REACTION:
		w.raw(`,"kind":"ENTRY_KIND_REACTION"`)
	case EntryKind_ENTRY_KIND_PIN:
		w.raw(`,"kind":"ENTRY_KIND_PIN"`)
	case EntryKind_ENTRY_KIND_VOTE:
		w.raw(`,"kind":"ENTRY_KIND_VOTE"`)
	case EntryKind_ENTRY_KIND_STREAM:
		w.raw(`,"kind":"ENTRY_KIND_STREAM"`)
	case EntryKind_ENTRY_KIND_PREVIEW:
		w.raw(`,"kind":"ENTRY_KIND_PREVIEW"`)
	case EntryKind_ENTRY_KIND_THREAD_REPLY:
		w.raw(`,"kind":"ENTRY_KIND_THREAD_REPLY"`)
	case EntryKind_ENTRY_KIND_POLL_END:
		w.raw(`,"kind":"ENTRY_KIND_POLL_END"`)
	default:
		w.odd = true
	}
}

func (w *jsonWriter) content(c *Content) {
	if c == nil {
		return
	}
	w.raw(`,"content":`)
	start := w.open()
	w.text(`,"type":`, c.Type)
	// A body is there even if it is empty.
	switch body := c.Body.(type) {
	case nil:
	case *Content_Text:
		if body == nil {
			w.odd = true
			return
		}
		w.raw(`,"text":`)
		w.quote(body.Text)
	case *Content_Data:
		if body == nil {
			w.odd = true
			return
		}
		w.raw(`,"data":`)
		w.base64(body.Data)
	default:
		w.odd = true
	}
	w.text(`,"fallback":`, c.Fallback)
	w.close(start)
}

// contentRoom is about how long the content becomes.
func contentRoom(c *Content) int {
	const rest = 48
	if c == nil {
		return 0
	}
	switch body := c.Body.(type) {
	case *Content_Text:
		if body != nil {
			return rest + len(body.Text) + len(body.Text)/16
		}
	case *Content_Data:
		if body != nil {
			return rest + base64.StdEncoding.EncodedLen(len(body.Data))
		}
	}
	return rest
}

func (w *jsonWriter) mentions(users []string) {
	if len(users) == 0 {
		return
	}
	w.raw(`,"mentions":`)
	list := w.open()
	for _, u := range users {
		w.raw(`,`)
		w.quote(u)
	}
	w.closeList(list)
}

// open begins an object or a list. Each of its fields or items is written with
// a comma before it; close puts the bracket in the place of the first.
func (w *jsonWriter) open() int { return len(w.b) }

func (w *jsonWriter) close(start int) {
	if len(w.b) == start {
		w.b = append(w.b, '{')
	}
	w.b[start] = '{'
	w.b = append(w.b, '}')
}

// closeList ends a list, which is not empty.
func (w *jsonWriter) closeList(start int) {
	w.b[start] = '['
	w.b = append(w.b, ']')
}

func (w *jsonWriter) grow(n int)   { w.b = slices.Grow(w.b, n) }
func (w *jsonWriter) raw(s string) { w.b = append(w.b, s...) }

// The following write a field, name and value, unless it has its default.

func (w *jsonWriter) text(name, s string) {
	if s != "" {
		w.raw(name)
		w.quote(s)
	}
}

func (w *jsonWriter) bytes(name string, b []byte) {
	if len(b) > 0 {
		w.raw(name)
		w.base64(b)
	}
}

func (w *jsonWriter) bool(name string, is bool) {
	if is {
		w.raw(name)
		w.raw("true")
	}
}

func (w *jsonWriter) uint(name string, n uint64) {
	if n != 0 {
		w.number(name, n)
	}
}

func (w *jsonWriter) int(name string, n int64) {
	if n != 0 {
		w.raw(name)
		w.b = append(strconv.AppendInt(append(w.b, '"'), n, 10), '"')
	}
}

// number writes a field of 64 bits, which is a string in JSON.
func (w *jsonWriter) number(name string, n uint64) {
	w.raw(name)
	w.b = append(strconv.AppendUint(append(w.b, '"'), n, 10), '"')
}

func (w *jsonWriter) base64(b []byte) {
	w.b = append(base64.StdEncoding.AppendEncode(append(w.b, '"'), b), '"')
}

// quote writes a string: what stands between two escapes at once.
func (w *jsonWriter) quote(s string) {
	w.b = append(w.b, '"')
	ascii := true
	for rest := s; ; {
		n, only := plain([]byte(rest)) // without a copy: plain changes nothing
		ascii = ascii && only
		w.b = append(w.b, rest[:n]...)
		if n == len(rest) {
			break
		}
		w.escape(rest[n])
		rest = rest[n+1:]
	}
	if !ascii && !utf8.ValidString(s) {
		w.odd = true
	}
	w.b = append(w.b, '"')
}

// escape writes a quotation mark, a backslash or a control character.
func (w *jsonWriter) escape(c byte) {
	switch c {
	case '"', '\\':
		w.b = append(w.b, '\\', c)
	case '\n':
		w.b = append(w.b, '\\', 'n')
	case '\t':
		w.b = append(w.b, '\\', 't')
	case '\r':
		w.b = append(w.b, '\\', 'r')
	case '\b':
		w.b = append(w.b, '\\', 'b')
	case '\f':
		w.b = append(w.b, '\\', 'f')
	default:
		const digits = "0123456789abcdef"
		w.b = append(w.b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}
