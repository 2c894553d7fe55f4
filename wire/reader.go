package wire

import "google.golang.org/protobuf/proto"

// ClientReader decodes frames of clients, one after the other, in memory that is used
// again: a frame and everything in it may be used until the next Read. Strings stay
// good for ever. A chat message costs the collector nothing but its text.
//
// The zero value is ready. It is for one goroutine at a time.
type ClientReader struct {
	frame    ClientFrame
	send     sendParts
	received receivedParts
	last     *string
}

// memoryCodec is a Codec that can decode into a ClientReader; those of this package do.
type memoryCodec interface {
	decode(data []byte, frame proto.Message, mem *ClientReader) error
}

// Read decodes a frame as c.Decode does. last is the conversation that this client
// named last, "" at first: clients name the same again and again, and its memory serves
// for all of them.
func (m *ClientReader) Read(c Codec, data []byte, last *string) (*ClientFrame, error) {
	m.frame.Reset()
	mc, ok := c.(memoryCodec)
	if !ok {
		return &m.frame, c.Decode(data, &m.frame)
	}
	m.last = last
	err := mc.decode(data, &m.frame, m)
	m.last = nil
	return &m.frame, err
}

// Forget lets go of what the last frame was, whose memory may be large.
func (m *ClientReader) Forget() {
	m.frame.Reset()
	p := &m.send
	p.text.Text, p.content.Body, p.send.Mentions, p.send.InsteadOf = "", nil, nil, nil
}

// sendParts is room for a Send, its own if there is no reader.
func (m *ClientReader) sendParts() *sendParts {
	if m == nil {
		return &sendParts{}
	}
	m.send = sendParts{}
	return &m.send
}

func (m *ClientReader) receivedParts() *receivedParts {
	if m == nil {
		return &receivedParts{}
	}
	m.received = receivedParts{}
	return &m.received
}

// name is the name of a conversation as a string.
func (m *ClientReader) name(b []byte) string {
	if m != nil && *m.last == string(b) {
		return *m.last
	}
	s := string(b)
	m.note(s)
	return s
}

// note keeps the name of a conversation for the next frames, if it may be one: what is
// longer, or has a character that JSON may write in several ways, is none.
func (m *ClientReader) note(s string) {
	if m == nil || s == *m.last || len(s) > maxName {
		return
	}
	if n, ascii := plain([]byte(s)); n == len(s) && ascii {
		*m.last = s
	}
}

// maxName is more than the longest name of a conversation has.
const maxName = 256

// knows tells that the last name and a quotation mark stand at the beginning of b.
func (m *ClientReader) knows(b []byte) bool {
	if m == nil {
		return false
	}
	n := len(*m.last)
	return n > 0 && n < len(b) && b[n] == '"' && string(b[:n]) == *m.last
}
