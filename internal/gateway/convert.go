package gateway

import (
	"sync"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// maxListed bounds a WatchPresence.
const maxListed = 1000

// sent is what a Send and an Amend have in common.
type sent interface {
	GetConversation() string
	GetId() []byte
	GetInsteadOf() []byte
}

// sentBy is what a frame of the class of sends asks to store.
func sentBy(f *wire.ClientFrame) sent {
	if a := f.GetAmend(); a != nil {
		return a
	}
	return f.GetSend()
}

// wording is what a Send and an Edit have in common.
type wording interface {
	GetContent() *wire.Content
	GetMentions() []string
}

// toMessage checks a Send or an Amend; a gateway may allow less than the protocol.
func toMessage(f *wire.ClientFrame, l *Limits) (im.Message, error) {
	if a := f.GetAmend(); a != nil {
		m, err := contract.Amend(a)
		if e := a.GetEdit(); err == nil && e != nil {
			err = im.In("edit", l.allow(e))
		}
		return m, err
	}
	m, err := contract.Message(f.GetSend())
	if err == nil {
		err = l.allow(f.GetSend())
	}
	return m, err
}

// allow refuses what is longer than it may be here.
func (l *Limits) allow(p wording) error {
	if contract.ContentBytes(p.GetContent()) > l.ContentBytes {
		return im.TooLarge("content", "is longer than %d bytes", l.ContentBytes)
	}
	if len(p.GetMentions()) > l.Mentions {
		return im.TooLarge("mentions", "has %d users; at most %d are allowed", len(p.GetMentions()), l.Mentions)
	}
	return nil
}

// toDevice checks the device of a Hello, where there must be one.
func toDevice(d *wire.Device) (im.Device, error) {
	if d == nil {
		return im.Device{}, im.Wrong("device", "is missing")
	}
	return contract.ParseDevice(d)
}

// fromError is what a client is told of an error.
func fromError(err error) *wire.Error { return contract.Error(im.Public(err)) }

// pools keep memory that is used again; nothing in it belongs to a session.
type pools struct{ pushes, receipts, readers, marks sync.Pool }

// pushBox is a Push frame whose parts are used again. It is read by the codec
// only, so it goes back to the pool once it is encoded.
type pushBox struct {
	frame wire.ServerFrame
	one   wire.ServerFrame_Push
	push  wire.Push
	boxes []*contract.EntryBox
}

// newPush makes a Push of entries.
func (p *pools) newPush(es []im.Entry) *pushBox {
	b, ok := p.pushes.Get().(*pushBox)
	if !ok {
		b = &pushBox{}
		b.one.Push = &b.push
		b.frame.Frame = &b.one
	}
	b.push.Entries = b.push.Entries[:0]
	for i := range es {
		if i == len(b.boxes) {
			b.boxes = append(b.boxes, new(contract.EntryBox))
		}
		b.push.Entries = append(b.push.Entries, b.boxes[i].Fill(&es[i]))
	}
	return b
}

func (p *pools) freePush(b *pushBox) {
	for i := range b.push.Entries {
		b.boxes[i].Clear()
	}
	if len(b.boxes) <= 256 {
		p.pushes.Put(b)
	}
}

// receiptBox is a Receipt whose parts are used again.
type receiptBox struct {
	frame   wire.ServerFrame
	one     wire.ServerFrame_Receipt
	receipt wire.Receipt
}

func (p *pools) newReceipt(m *im.Mark) *receiptBox {
	b, ok := p.receipts.Get().(*receiptBox)
	if !ok {
		b = &receiptBox{}
		b.one.Receipt = &b.receipt
		b.frame.Frame = &b.one
	}
	r := &b.receipt
	r.Conversation, r.User, r.Received, r.Read, r.ReadCount = string(m.Conversation), string(m.User), m.Received, m.Read, m.ReadCount
	return b
}

func myStateFrame(s *im.MyState) *wire.ServerFrame {
	return wire.NewServerFrame(contract.MyState(s))
}

func floorFrame(f *im.Floor) *wire.ServerFrame {
	return wire.NewServerFrame(&wire.Floor{Conversation: string(f.Conversation), Seq: f.Seq, Count: f.Count})
}

// errorFrame is an Error that answers no frame.
func errorFrame(err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Error{Error: fromError(err)}}
}

// errorAbout is an Error that answers a frame about a conversation; both may be
// unknown. It tells what it answers (SPEC §10).
func errorAbout(frame, conversation string, err error) *wire.ServerFrame {
	e := fromError(im.In(frame, err))
	e.Frame = frame
	if len(conversation) <= im.MaxConversationID {
		e.Conversation = conversation
	}
	return wire.NewServerFrame(e)
}

// errorOn is an Error that answers a frame.
func errorOn(f *wire.ClientFrame, err error) *wire.ServerFrame {
	frame, conversation := wire.Named(f)
	return errorAbout(frame, conversation, err)
}

// closing is what a connection ends with: the code tells that it does (SPEC §10),
// whatever code the reason has.
func closing(err error) *im.Error {
	e := im.Public(err)
	code := im.Code(im.CodeProtocolError)
	switch e.Code.Info().Action {
	case im.ActionRetry:
		code = im.CodeNotReady
	case im.ActionFix:
	default:
		return e
	}
	told := *e
	told.Code = code
	return &told
}

func resultError(number uint32, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Result{Result: &wire.Result{Number: number, Response: &wire.Result_Error{Error: fromError(err)}}}}
}

// rangeError answers a Pull, which stands at that path.
func rangeError(at string, p *wire.Pull, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Range{Range: &wire.Range{Number: p.GetNumber(), Conversation: p.GetConversation(), Error: fromError(im.In(at, err))}}}
}

func syncError(p *wire.Sync, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_SyncDelta{SyncDelta: &wire.SyncDelta{Number: p.GetNumber(), Error: fromError(im.In("sync", err))}}}
}

func sendError(id []byte, err error) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_SendError{SendError: &wire.SendError{Id: id, Error: fromError(err)}}}
}
