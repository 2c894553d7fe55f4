package bench

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// StorePaced is an open loop at a rate: whatever came while an append was under
// way is the next batch, and marks move with every message, as in the server.
// Latency counts from a message's intended time.
type StorePaced struct {
	Rate      float64 `json:"rate"`
	Messages  int     `json:"messages"`
	Seconds   float64 `json:"seconds"`
	PerS      float64 `json:"per_s"`
	Batch     float64 `json:"batch"` // messages per append, on average
	CPUMicros float64 `json:"cpu_us_per_message"`
	Ack       Latency `json:"ack_ms"`
	Append    Latency `json:"append_ms"`
	Slow      int     `json:"appends_over_5ms"`
}

const (
	storePacedBatch = 1024
	storeSlow       = 5 * time.Millisecond
)

// paced runs the open loop for two steps.
func (r *storeRun) paced() (*StorePaced, error) {
	p := &StorePaced{Rate: r.o.Rate}
	receipts := make(chan im.Mark, 1<<16)
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for m := range receipts {
			if err := r.j.SetMarks(r.ctx, []im.Mark{m}, im.MarkWait{}); err != nil && len(failed) == 0 {
				failed <- err
			}
		}
	}()
	err := r.pace(p, receipts)
	close(receipts)
	wg.Wait()
	if len(failed) > 0 && err == nil {
		err = <-failed
	}
	return p, err
}

func (r *storeRun) pace(p *StorePaced, receipts chan<- im.Mark) error {
	var ack, took histogram
	gap := float64(time.Second) / r.o.Rate
	due := func(n int) time.Duration { return time.Duration(float64(n) * gap) }
	appends := 0
	begin, cpu := time.Now(), processCPU()
	for end := 2 * r.o.Step; ; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		now := time.Since(begin)
		if now >= end {
			break
		}
		waiting := int(float64(now)/gap) + 1 - p.Messages
		if waiting <= 0 {
			time.Sleep(due(p.Messages) - now)
			continue
		}
		r.next(min(waiting, storePacedBatch), 0)
		start := time.Now()
		if err := r.j.Append(r.ctx, r.batch, r.out); err != nil {
			return err
		}
		in := time.Since(start)
		took.record(in)
		if in > storeSlow {
			p.Slow++
		}
		for i := range r.batch {
			ack.record(time.Since(begin) - due(p.Messages+i))
		}
		appends++
		p.Messages += len(r.batch)
		r.checked()
		if err := r.mark(receipts); err != nil {
			return err
		}
	}
	p.Seconds = time.Since(begin).Seconds()
	p.PerS = float64(p.Messages) / p.Seconds
	p.Batch = float64(p.Messages) / float64(max(appends, 1))
	used := processCPU() - cpu - time.Duration(p.Messages)*r.made
	p.CPUMicros = float64(used.Nanoseconds()) / 1e3 / float64(max(p.Messages, 1))
	p.Ack, p.Append = ack.latency(), took.latency()
	return nil
}

// mark moves the senders' marks now and has the receivers' moved elsewhere, one
// by one, as their receipts come in.
func (r *storeRun) mark(receipts chan<- im.Mark) error {
	marks := make([]im.Mark, 0, len(r.ns))
	for i, n := range r.ns {
		if r.out[i].Status != im.Stored {
			continue
		}
		c, o := r.load.convs[r.load.conversation(n)], &r.out[i]
		marks = append(marks, im.Mark{User: r.load.users[r.load.sender(n)], Conversation: c, Received: o.Seq, Read: o.Seq, ReadCount: o.Count})
		m := im.Mark{User: r.load.users[r.load.receiver(n)], Conversation: c, Received: o.Seq}
		select {
		case receipts <- m:
		default: // the receivers are behind; a later mark covers it
		}
	}
	return r.j.SetMarks(r.ctx, marks, im.MarkWait{})
}
