package messaging

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// positions is a gateway's side of Positions, and the directory's.
type positions struct {
	mu       sync.Mutex
	promised bool
	err      error
	receipts chan struct{} // nil: they left
	told     []string
}

func (p *positions) take() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, p.told = p.told, nil
	return all
}

func (p *positions) set(promised bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised, p.err = promised, err
}

func (p *positions) options(o *Options) {
	o.Positions = &Positions{
		Promised: func(context.Context) (bool, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.promised, p.err
		},
		Receipts: func(ctx context.Context) error {
			if p.receipts == nil {
				return nil
			}
			select {
			case <-p.receipts:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Tell: func(position string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.told = append(p.told, position)
		},
	}
}

// A position is told when everything up to it is on its way, and not while
// anything is half done.
func TestPositionsAreToldWhenAllIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &positions{receipts: make(chan struct{})}
		w := newWorld(t, p.options)
		defer w.Close()
		next := func(what string, want bool) {
			t.Helper()
			time.Sleep(positionEvery)
			synctest.Wait()
			at, err := w.journal.Position(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := p.take()
			if len(got) > 1 || want != (len(got) == 1) || want && got[0] != at.String() {
				t.Errorf("%s: told %q at %v", what, got, at)
			}
		}
		close(p.receipts)
		w.mustSend("alice", ab, "one")
		next("all is done", true)
		next("nothing is new", false)

		w.mustSend("alice", ab, "two")
		p.set(true, nil)
		next("a promise waits", false)
		p.set(false, errors.New("down"))
		next("the directory cannot tell", false)
		p.set(false, nil)
		next("it can", true)

		p.receipts = make(chan struct{})
		w.mustSend("alice", ab, "three")
		next("receipts wait", false)
		close(p.receipts)
		next("they have left", true)

		turn := w.committing.Enter()
		w.mustSend("alice", ab, "four")
		next("a batch is under way", false)
		w.committing.Leave(turn)
		next("it is over", true)

		turn = w.moving.Enter()
		w.mustSend("alice", ab, "five")
		next("a mark is moved", false)
		w.moving.Leave(turn)
		next("it was", true)

		w.mustSend("alice", ab, "six")
		w.broken.Store(true)
		next("the journal failed", false)
	})
}

// Wait waits for what began before, however much begins meanwhile.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns im.Turns
		wait := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() { done <- turns.Wait(ctx) }()
			synctest.Wait()
			return done
		}
		over := func(what string, done <-chan error, want bool) {
			t.Helper()
			synctest.Wait()
			if got := len(done) == 1; got != want {
				t.Fatalf("%s: over %v, want %v", what, got, want)
			}
		}
		over("nothing", wait(t.Context()), true)
		first, second := turns.Enter(), turns.Enter()
		done := wait(t.Context())
		third := turns.Enter()
		turns.Leave(first)
		over("one of two", done, false)
		turns.Leave(second)
		over("both", done, true)
		ctx, cancel := context.WithCancel(t.Context())
		done = wait(ctx)
		fourth := turns.Enter()
		cancel()
		over("given up", done, true)
		done = wait(t.Context())
		turns.Leave(third)
		over("what was given up on", done, false)
		turns.Leave(fourth)
		over("and what began since", done, true)

		fifth := turns.Enter()
		one, two := wait(t.Context()), wait(t.Context())
		sixth := turns.Enter()
		three := wait(t.Context())
		ctx, cancel = context.WithCancel(t.Context())
		four := wait(ctx)
		cancel()
		over("the one of several that gave up", four, true)
		turns.Leave(fifth)
		over("the one that came first", one, true)
		over("one that came after what is under way", three, false)
		turns.Leave(sixth)
		over("the second", two, true)
		over("the third", three, true)
	})
}
