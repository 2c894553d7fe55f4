package wire

import "google.golang.org/protobuf/encoding/protowire"

// The two frames that clients send most, decoded into one piece of memory each
// instead of one for every part, or into memory that is used again (ClientReader).
// Only the shapes that clients really send are decoded here; everything else is
// left to the generated code. The input has passed check.

// sendParts is everything a plain text Send consists of.
type sendParts struct {
	one     ClientFrame_Send
	send    Send
	content Content
	text    Content_Text
	id      [16]byte
}

type receivedParts struct {
	one      ClientFrame_Received
	received Received
}

// decodeParts decodes data into f, which is empty, and reports whether it did.
func decodeParts(data []byte, f *ClientFrame, mem *ClientReader) bool {
	num, typ, n := protowire.ConsumeTag(data)
	if n < 0 || typ != protowire.BytesType {
		return false
	}
	body, m := protowire.ConsumeBytes(data[n:])
	if m < 0 || n+m != len(data) {
		return false
	}
	switch num {
	case 2:
		return decodeSend(body, f, mem)
	case 3:
		return decodeReceived(body, f, mem)
	}
	return false
}

// decodeSend takes a Send with a conversation, an id of 16 bytes and a text,
// each once.
func decodeSend(data []byte, f *ClientFrame, mem *ClientReader) bool {
	var conversation, id, content []byte
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 || typ != protowire.BytesType {
			return false
		}
		v, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return false
		}
		data = data[n+m:]
		to := oneOf(num, &conversation, &id, &content)
		if to == nil || *to != nil {
			return false
		}
		*to = v
	}
	if conversation == nil || len(id) != 16 || content == nil {
		return false
	}
	kind, text, ok := plainText(content)
	if !ok {
		return false
	}
	p := mem.sendParts()
	p.id = [16]byte(id)
	p.text.Text = string(text)
	p.content.Type, p.content.Body = contentType(kind), &p.text
	p.send.Conversation, p.send.Id, p.send.Content = mem.name(conversation), p.id[:], &p.content
	p.one.Send = &p.send
	f.Frame = &p.one
	return true
}

// oneOf returns the place of field 1, 2 or 3.
func oneOf(num protowire.Number, one, two, three *[]byte) *[]byte {
	switch num {
	case 1:
		return one
	case 2:
		return two
	case 3:
		return three
	}
	return nil
}

// plainText returns a content's type and text, each there once.
func plainText(data []byte) (kind, text []byte, ok bool) {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 || typ != protowire.BytesType {
			return nil, nil, false
		}
		v, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return nil, nil, false
		}
		data = data[n+m:]
		switch {
		case num == 1 && kind == nil:
			kind = v
		case num == 2 && text == nil:
			text = v
		default:
			return nil, nil, false
		}
	}
	return kind, text, kind != nil && text != nil
}

// contentType spares the copy of the type nearly every message has.
func contentType(b []byte) string {
	if string(b) == "text" {
		return "text"
	}
	return string(b)
}

func decodeReceived(data []byte, f *ClientFrame, mem *ClientReader) bool {
	_, typ, n := protowire.ConsumeTag(data)
	if n != 1 || data[0] != 1<<3|byte(protowire.BytesType) || typ != protowire.BytesType {
		return false
	}
	conversation, m := protowire.ConsumeBytes(data[n:])
	if m < 0 {
		return false
	}
	data = data[n+m:]
	if len(data) < 2 || data[0] != 2<<3|byte(protowire.VarintType) {
		return false
	}
	seq, n := protowire.ConsumeVarint(data[1:])
	if n < 0 || 1+n != len(data) {
		return false
	}
	p := mem.receivedParts()
	p.received.Conversation, p.received.Seq = mem.name(conversation), seq
	p.one.Received = &p.received
	f.Frame = &p.one
	return true
}
