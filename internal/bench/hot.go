package bench

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/wire"
)

// The frames that every message costs, as protobuf, written and read by hand:
// what measures must cost little, or it measures itself. Everything else, and all
// of JSON, goes through the protocol's codec.

// Numbers of ClientFrame's and ServerFrame's fields.
const (
	hotSend     = 2
	hotReceived = 3
	hotAck      = 2
	hotPush     = 4
	hotReceipt  = 5
)

// sent is what a Send says, as far as the floor repeats it; received the same of a
// Received. The bytes belong to the frame.
type sent struct{ conversation, id, content []byte }

type received struct {
	conversation []byte
	seq          uint64
}

// ack is what a SendAck says, arrival what a client looks at of an entry.
type ack struct {
	id, conversation []byte
	seq              uint64
}

type arrival struct {
	conversation, id, sender, text []byte
	seq                            uint64
	kind                           wire.EntryKind
}

// field takes the first field of p: a number v or bytes b. ok is false at the end
// and where it is no protobuf; n then is 0 or −1.
func field(p []byte) (num protowire.Number, v uint64, b []byte, n int) {
	if len(p) == 0 {
		return 0, 0, nil, 0
	}
	num, typ, n := protowire.ConsumeTag(p)
	if n < 0 {
		return 0, 0, nil, -1
	}
	m := 0
	switch typ {
	case protowire.BytesType:
		b, m = protowire.ConsumeBytes(p[n:])
	case protowire.VarintType:
		v, m = protowire.ConsumeVarint(p[n:])
	default:
		m = protowire.ConsumeFieldValue(num, typ, p[n:])
	}
	if m < 0 {
		return 0, 0, nil, -1
	}
	return num, v, b, n + m
}

// frameOf returns which frame p is and its message, 0 if it is not one alone.
func frameOf(p []byte) (num protowire.Number, message []byte) {
	num, _, message, n := field(p)
	if n != len(p) || message == nil {
		return 0, nil
	}
	return num, message
}

func readSent(p []byte) (s sent, ok bool) {
	for {
		num, _, b, n := field(p)
		if n <= 0 {
			return s, n == 0
		}
		switch num {
		case 1:
			s.conversation = b
		case 2:
			s.id = b
		case 3:
			s.content = b
		}
		p = p[n:]
	}
}

func readReceived(p []byte) (r received, ok bool) {
	for {
		num, v, b, n := field(p)
		if n <= 0 {
			return r, n == 0
		}
		switch num {
		case 1:
			r.conversation = b
		case 2:
			r.seq = v
		}
		p = p[n:]
	}
}

func readAck(p []byte) (a ack, ok bool) {
	for {
		num, v, b, n := field(p)
		if n <= 0 {
			return a, n == 0 && len(a.id) == 16
		}
		switch num {
		case 1:
			a.id = b
		case 2:
			a.conversation = b
		case 3:
			a.seq = v
		}
		p = p[n:]
	}
}

func readEntry(p []byte) (a arrival, ok bool) {
	for {
		num, v, b, n := field(p)
		if n <= 0 {
			return a, n == 0
		}
		switch num {
		case 1:
			a.conversation = b
		case 2:
			a.seq = v
		case 3:
			a.id = b
		case 4:
			a.sender = b
		case 6:
			a.kind = wire.EntryKind(v)
		case 7:
			if a.text, ok = readText(b); !ok {
				return a, false
			}
		}
		p = p[n:]
	}
}

// readText returns the text of a Content.
func readText(p []byte) (text []byte, ok bool) {
	for {
		num, _, b, n := field(p)
		if n <= 0 {
			return text, n == 0
		}
		if num == 2 {
			text = b
		}
		p = p[n:]
	}
}

// arrivalOf is the same of an entry that the codec decoded.
func arrivalOf(e *wire.Entry) arrival {
	return arrival{
		conversation: []byte(e.Conversation), id: e.Id, sender: []byte(e.Sender), text: []byte(e.GetContent().GetText()),
		seq: e.Seq, kind: e.Kind,
	}
}

func varintField(num protowire.Number, v uint64) int {
	return protowire.SizeTag(num) + protowire.SizeVarint(v)
}

func bytesField(num protowire.Number, n int) int {
	return protowire.SizeTag(num) + protowire.SizeBytes(n)
}

func putVarint(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

// putHead begins a field of n bytes.
func putHead(dst []byte, num protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.BytesType), uint64(n))
}

func putBytes[B []byte | string](dst []byte, num protowire.Number, b B) []byte {
	return append(putHead(dst, num, len(b)), b...)
}

// textType is the Content's type of every message.
const textType = "text"

func putSend(dst []byte, conversation string, id, text []byte) []byte {
	content := bytesField(1, len(textType)) + bytesField(2, len(text))
	dst = putHead(dst, hotSend, bytesField(1, len(conversation))+bytesField(2, len(id))+bytesField(3, content))
	dst = putBytes(putBytes(dst, 1, conversation), 2, id)
	return putBytes(putBytes(putHead(dst, 3, content), 1, textType), 2, text)
}

func putReceived(dst []byte, conversation string, seq uint64) []byte {
	dst = putHead(dst, hotReceived, bytesField(1, len(conversation))+varintField(2, seq))
	return putVarint(putBytes(dst, 1, conversation), 2, seq)
}

func putAck(dst []byte, s *sent, seq, at uint64) []byte {
	dst = putHead(dst, hotAck, bytesField(1, len(s.id))+bytesField(2, len(s.conversation))+varintField(3, seq)+varintField(4, at)+varintField(5, seq))
	dst = putBytes(putBytes(dst, 1, s.id), 2, s.conversation)
	return putVarint(putVarint(putVarint(dst, 3, seq), 4, at), 5, seq)
}

func putPush(dst []byte, s *sent, sender string, seq, at uint64) []byte {
	const kind = uint64(wire.EntryKind_ENTRY_KIND_MESSAGE)
	entry := bytesField(1, len(s.conversation)) + varintField(2, seq) + bytesField(3, len(s.id)) + bytesField(4, len(sender)) +
		varintField(5, at) + varintField(6, kind) + bytesField(7, len(s.content)) + varintField(10, seq)
	dst = putHead(putHead(dst, hotPush, bytesField(1, entry)), 1, entry)
	dst = putVarint(putBytes(dst, 1, s.conversation), 2, seq)
	dst = putBytes(putBytes(dst, 3, s.id), 4, sender)
	dst = putVarint(putVarint(dst, 5, at), 6, kind)
	return putVarint(putBytes(dst, 7, s.content), 10, seq)
}

func putReceipt(dst []byte, r *received, user string) []byte {
	dst = putHead(dst, hotReceipt, bytesField(1, len(r.conversation))+bytesField(2, len(user))+varintField(3, r.seq))
	return putVarint(putBytes(putBytes(dst, 1, r.conversation), 2, user), 3, r.seq)
}

// framing puts messages behind each other in a transport's framing: WebSocket, a
// client's masked, or a length before each.
type framing struct {
	ws, client bool
	op         byte // of a message: text or binary
}

func newFraming(ws, client bool, codec wire.Codec) framing {
	f := framing{ws: ws, client: client, op: 0x81}
	if codec.Binary() {
		f.op = 0x82
	}
	return f
}

// theMask is the one of all clients: it hides nothing here.
const theMask = "\x5a\x13\xc7\x21"

// append appends p, framed.
func (f framing) append(dst, p []byte) []byte {
	n := len(p)
	if !f.ws {
		return append(binary.BigEndian.AppendUint32(dst, uint32(n)), p...)
	}
	masked := byte(0)
	if f.client {
		masked = 0x80
	}
	switch {
	case n < 126:
		dst = append(dst, f.op, masked|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, f.op, masked|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, f.op, masked|127), uint64(n))
	}
	if !f.client {
		return append(dst, p...)
	}
	dst = append(dst, theMask...)
	at := len(dst)
	dst = append(dst, p...)
	unmask(dst[at:], [4]byte([]byte(theMask)))
	return dst
}

// unmask masks p, or takes the mask off: eight bytes at a time.
func unmask(p []byte, m [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(m[:]))
	word |= word << 32
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
	}
	for i := range p {
		p[i] ^= m[i&3]
	}
}

// errFrame is what no server and no client of these scenarios sends.
type errFrame string

func (e errFrame) Error() string { return string(e) }

// next finds the first message of p: its payload, unmasked in place, its opcode
// (0 without WebSocket), and how many bytes it takes; 0 if it is not whole yet.
func (f framing) next(p []byte) (op byte, payload []byte, n int, err error) {
	const longest = 16 << 20
	head, size := 4, 0
	switch {
	case !f.ws && len(p) < 4, f.ws && len(p) < 2:
		return 0, nil, 0, nil
	case !f.ws:
		size = int(binary.BigEndian.Uint32(p))
	default:
		op, head, size = p[0]&0x0f, 2, int(p[1]&0x7f)
		switch {
		case size == 126 && len(p) < 4, size == 127 && len(p) < 10:
			return 0, nil, 0, nil
		case size == 126:
			head, size = 4, int(binary.BigEndian.Uint16(p[2:]))
		case size == 127:
			head, size = 10, int(min(binary.BigEndian.Uint64(p[2:]), longest+1))
		}
		if p[1]&0x80 != 0 {
			head += 4
		}
	}
	if size > longest {
		return 0, nil, 0, errFrame("a frame that long is of no scenario")
	}
	if len(p) < head+size {
		return 0, nil, 0, nil
	}
	payload = p[head : head+size]
	if f.ws && p[1]&0x80 != 0 {
		unmask(payload, [4]byte(p[head-4:]))
	}
	return op, payload, head + size, nil
}
