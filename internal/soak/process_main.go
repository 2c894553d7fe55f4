package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
)

// RunProcess is the program of a Process: what it reads are requests, what it
// writes are replies. It ends with a request to close, or when nobody is there
// to ask any more.
func RunProcess(in io.Reader, out io.Writer) error {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	var o processOptions
	if err := dec.Decode(&o); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // it was never needed
		}
		return err
	}
	m, err := startProcess(o)
	if err != nil {
		return err
	}
	if err := enc.Encode(processReply{}); err != nil {
		return err
	}
	for {
		var req processRequest
		if err := dec.Decode(&req); err != nil {
			return fmt.Errorf("nobody asks any more: %w", err)
		}
		r := m.answer(req)
		if err := enc.Encode(r); err != nil {
			return err
		}
		if req.Do == "close" {
			return nil
		}
	}
}

// processMain is the inside of a process.
type processMain struct {
	c     *sdkClient
	close func() error // the history

	mu    sync.Mutex
	acked []ackedSpot
}

// firstConnect bounds the first start, which waits for the server.
const firstConnect = time.Minute

func startProcess(o processOptions) (*processMain, error) {
	f, again, err := openHistory(o.History)
	if err != nil {
		return nil, err
	}
	h := NewRecorder(f, o.User, o.Device)
	if again {
		h.Add(Record{Kind: Started})
	}
	m := &processMain{close: f.Close}
	ctx, cancel := context.WithTimeout(context.Background(), firstConnect)
	defer cancel()
	d, err := NewSDK(ctx, DeviceOptions{
		URLs: o.URLs, Token: o.Token, User: o.User, Device: o.Device, Codec: o.codec(),
		History: h, Reconnect: o.Reconnect, Slow: o.Slow, Acked: m.keep, Mortal: true,
	}, o.Store)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.c = d.(*sdkClient)
	return m, nil
}

func (m *processMain) keep(s spot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acked = append(m.acked, ackedSpot{s.conversation, s.seq, s.timeline})
}

func (m *processMain) answer(req processRequest) (r processReply) {
	var err error
	ctx := context.Background()
	switch req.Do {
	case "send":
		if len(m.c.slots) == cap(m.c.slots) {
			r.Busy = true
			break
		}
		err = m.c.Send(ctx, req.Conversation, req.Text)
	case "read":
		err = m.c.MarkRead(ctx, req.Conversation)
	case "pending":
		r.Pending, err = m.pending(ctx)
	case "holds":
		r.Numbers = m.c.Holds()
	case "close":
		m.hearAll(ctx)
		err = errors.Join(m.c.Close(), m.close())
		r.Numbers = m.c.unread
	default:
		err = fmt.Errorf("soak: a process cannot %q", req.Do)
	}
	if err != nil {
		r.Error = err.Error()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Acked, m.acked = m.acked, nil
	return r
}

// pending counts what is neither refused nor in its place, whichever process
// took it, and answers that are not written down.
func (m *processMain) pending(ctx context.Context) (int, error) {
	n := m.c.Pending()
	out, err := m.c.client.Outbox(ctx)
	for _, o := range out {
		if o.Status != skein.StatusFailed {
			n++
		}
	}
	return n, err
}

// hearAll waits until the program has handled everything it is to be told. After a start
// that is all it did not handle before, thousands of entries on a busy machine: it may take
// its time, but not stand still.
func (m *processMain) hearAll(ctx context.Context) {
	next, moved := uint64(0), time.Now()
	for {
		left, err := m.c.store.Feed(ctx, 0, 1)
		if err == nil && len(left) == 0 {
			return
		}
		if err == nil && left[0].N != next {
			next, moved = left[0].N, time.Now()
		}
		if time.Since(moved) > callTime/2 {
			m.c.h.Add(Record{Kind: Misbehaved, Code: fmt.Sprintf("the program is told nothing more, and there is more (%v)", err)})
			return
		}
		_ = pause(ctx, 10*time.Millisecond) // ctx does not end
	}
}
