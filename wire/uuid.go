package wire

import (
	"encoding/base64"
	"encoding/hex"

	"google.golang.org/protobuf/proto"
)

// In JSON a client may write an id as the text of a UUID (SPEC §2). What reads the
// JSON of `bytes` takes its 36 characters for base64, and gets 27 bytes, of which the
// text can be had back exactly: so the id is found after the decoding, whoever did it.

const (
	uuidText    = 36
	uuidDecoded = uuidText / 4 * 3
)

// parseUUID reads the text of a UUID, of either case.
func parseUUID(text []byte) (id [16]byte, ok bool) {
	if len(text) != uuidText || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	var digits [32]byte
	copy(digits[:], text[:8])
	copy(digits[8:], text[9:13])
	copy(digits[12:], text[14:18])
	copy(digits[16:], text[19:23])
	copy(digits[20:], text[24:])
	_, err := hex.Decode(id[:], digits[:])
	return id, err == nil
}

// idOf returns the id that was written as the text of a UUID; b itself if none was.
func idOf(b []byte) []byte {
	if len(b) != uuidDecoded {
		return b
	}
	var text [uuidText]byte
	base64.URLEncoding.Encode(text[:], b)
	if id, ok := parseUUID(text[:]); ok {
		return id[:]
	}
	return b
}

// readIDs puts the ids of a message that a client wrote in JSON into their one form.
func readIDs(m proto.Message) {
	switch m := m.(type) {
	case *ClientFrame:
		switch f := m.Frame.(type) {
		case *ClientFrame_Send:
			if f.Send != nil {
				f.Send.Id, f.Send.InsteadOf = idOf(f.Send.Id), idOf(f.Send.InsteadOf)
			}
		case *ClientFrame_Amend:
			if f.Amend != nil {
				f.Amend.Id, f.Amend.InsteadOf = idOf(f.Amend.Id), idOf(f.Amend.InsteadOf)
			}
		case *ClientFrame_Sync:
			readIDs(f.Sync)
		case *ClientFrame_Hello:
			readIDs(f.Hello.GetSync())
		}
	case *Sync:
		if n := m.GetNewest(); n != nil {
			n.Id = idOf(n.Id)
		}
	case *SendMessageRequest:
		m.Id = idOf(m.Id)
	case *EditMessageRequest:
		m.Id = idOf(m.Id)
	case *ReactToMessageRequest:
		m.Id = idOf(m.Id)
	case *ScheduleMessageRequest:
		if m.Message != nil {
			m.Message.Id = idOf(m.Message.Id)
		}
	case *ChangeScheduledRequest:
		m.Id = idOf(m.Id)
		if m.Message != nil {
			m.Message.Id = idOf(m.Message.Id)
		}
	case *CancelScheduledRequest:
		m.Id = idOf(m.Id)
	case *VoteInPollRequest:
		m.Id = idOf(m.Id)
	case *StreamMessageRequest:
		m.Id = idOf(m.Id)
	case *EndPollRequest:
		m.Id = idOf(m.Id)
	case *PinMessageRequest:
		m.Id = idOf(m.Id)
	case *ForwardMessagesRequest:
		if m.Merge != nil {
			m.Merge.Id = idOf(m.Merge.Id)
		}
		for _, s := range m.Messages {
			if s != nil {
				s.Id = idOf(s.Id)
			}
		}
	case *ListConversationsRequest:
		if n := m.GetNewest(); n != nil {
			n.Id = idOf(n.Id)
		}
	}
}
