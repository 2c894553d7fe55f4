package messaging

import (
	"crypto/rand"
	"runtime/debug"

	"github.com/skein-im/skein/internal/im"
)

// guarded runs what is done for one item. A panic is that item's end and nobody
// else's: whoever sent it, or passes it on, would take down one process after the
// other with it. The user is told a reference to what is in the log, and not to
// repeat a message, which the sender's later ones would wait for. A promise of the
// directory's is repeated all the same: it was made.
func (s *Service) guarded(what string, it *im.Entry, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			reference := rand.Text()[:8]
			s.metrics.panics.Inc()
			s.log.Error("panic; only this message is refused", "in", what, "reference", reference, "conversation", it.Conversation, "sender", it.Sender, "id", it.ID, "panic", p, "stack", string(debug.Stack()))
			code := im.CodeUnprocessable
			if it.Kind == im.EntryEvent {
				code = im.CodeInternal
			}
			err = im.Errorf(code, "the server failed (reference %s)", reference)
		}
	}()
	return f()
}

// deliver hands a batch on. If one of its entries makes that panic, the others are
// handed on alone; it is stored, so its members find it.
func (s *Service) deliver(batch []im.Delivery) {
	none := im.Entry{}
	if s.guarded("delivery", &none, func() error { s.deliverer.Deliver(batch); return nil }) == nil || len(batch) < 2 {
		return
	}
	for i := range batch {
		_ = s.guarded("delivery", &batch[i].Entry, func() error { s.deliverer.Deliver(batch[i : i+1]); return nil })
	}
}
