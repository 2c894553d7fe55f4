package outbox

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// help is one look at a conversation's promises that drives what it finds, for
// all who asked before it began.
type help struct {
	done chan struct{}
	err  error
	next *help // for those who ask while it is under way
}

// Help drives what a conversation has pending, whoever made it and however
// young it is, and returns when all of it is applied. It is for one who finds
// that the journal is ahead of the directory: the one who appended a change has
// not applied it, is about to, or was killed in between.
//
// Doing this next to the one who made the promise is harmless, in this process
// or another. Those who ask at the same time share the work. ctx bounds the
// caller's wait only.
func (r *Runner) Help(ctx context.Context, c im.ConversationID) error {
	r.mu.Lock()
	if r.closing() {
		r.mu.Unlock()
		return errClosed
	}
	running := r.helping[c]
	h := running
	lead := false
	switch {
	case running == nil:
		h, lead = &help{done: make(chan struct{})}, true
		r.helping[c] = h
	case running.next == nil:
		h, lead = &help{done: make(chan struct{})}, true
		running.next = h
	default:
		h = running.next
	}
	if lead {
		r.helps.Go(func() { r.help(c, running, h) })
	}
	r.mu.Unlock()
	select {
	case <-h.done:
		return h.err
	case <-ctx.Done():
		return fmt.Errorf("promises of %s: %w", c, ctx.Err())
	}
}

// help runs h after the one before it.
func (r *Runner) help(c im.ConversationID, before, h *help) {
	if before != nil {
		<-before.done // which put h in its place
	}
	h.err = r.driveAll(c)
	r.mu.Lock()
	if h.next != nil {
		r.helping[c] = h.next
	} else {
		delete(r.helping, c)
	}
	r.mu.Unlock()
	close(h.done)
}

var errClosed = im.Errorf(im.CodeUnavailable, "the server is shutting down")

func (r *Runner) driveAll(c im.ConversationID) error {
	rows, err := r.pendingOf(context.Background(), c)
	if err != nil {
		return err
	}
	for _, p := range rows {
		if r.closing() {
			return errClosed
		}
		if err := r.drive(context.Background(), p); err != nil {
			r.failed(c)
			return err
		}
	}
	if len(rows) > 0 {
		r.succeeded(c)
	}
	return nil
}
