package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the flags that scenarios share.
type Options struct {
	Connections int
	Transport   string // ws or tcp
	Codec       string // pb or json
	Duration    time.Duration
	Warmup      time.Duration
	Rate        float64 // messages per second in all; 0: closed loop
	Window      int     // closed loop: unanswered sends per connection
	Payload     int     // bytes of a message's text
	Progress    io.Writer
}

// Report is what a scenario found, one object.
type Report struct {
	Scenario   string         `json:"scenario"`
	Settings   map[string]any `json:"settings"`
	Sent       uint64         `json:"sent"`
	Acked      uint64         `json:"acked"`
	Delivered  uint64         `json:"delivered"`
	Lost       uint64         `json:"lost"`
	Duplicated uint64         `json:"duplicated"`
	Disordered uint64         `json:"disordered"`
	Rejected   uint64         `json:"rejected"`
	Seconds    float64        `json:"seconds"`
	AckedPerS  float64        `json:"acked_per_s"`
	FramesPerS float64        `json:"frames_per_s"`
	Ack        Latency        `json:"ack_ms"`
	Delivery   Latency        `json:"delivery_ms"`
	Server     ServerReport   `json:"server"`
	Machine    Machine        `json:"machine"`
}

// ServerReport is the measured process.
type ServerReport struct {
	CPUMicrosPerMessage      float64 `json:"cpu_us_per_message"`
	CPUPercent               float64 `json:"cpu_percent"`
	RSSBytes                 int64   `json:"rss_bytes"`
	RSSPerConnection         int64   `json:"rss_per_connection"`
	KernelBytesPerConnection int64   `json:"kernel_bytes_per_connection"`
}

// Machine is what the figures were measured on.
type Machine struct {
	Cores       int     `json:"cores"`
	FsyncMicros float64 `json:"fsync_us"`
}

// user is one virtual user with one connection.
type user struct {
	*conn
	id    string
	index int
}

// logIn makes n users and connects them, 64 at a time.
func logIn(ctx context.Context, s *Server, o Options, n int) ([]*user, error) {
	target, err := s.target(o.Transport)
	if err != nil {
		return nil, err
	}
	codec, err := codecByName(o.Codec)
	if err != nil {
		return nil, err
	}
	users := make([]*user, n)
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failed.Load() > 0 || ctx.Err() != nil {
					return
				}
				u, err := connect(ctx, s, i, func() (*conn, error) { return dial(target, codec) })
				if err != nil {
					failed.Add(1)
					errs <- fmt.Errorf("user %d: %w", i, err)
					return
				}
				users[i] = u
				if (i+1)%1000 == 0 {
					fmt.Fprintf(o.Progress, "  %d connected\n", i+1)
				}
			}
		}()
	}
	wg.Wait()
	select {
	case err := <-errs:
		closeAll(users)
		return nil, err
	default:
		return users, ctx.Err()
	}
}

func connect(ctx context.Context, s *Server, i int, dial func() (*conn, error)) (*user, error) {
	u := &user{id: fmt.Sprintf("bench%06d", i), index: i}
	token, err := s.mint(ctx, u.id)
	if err != nil {
		return nil, err
	}
	if u.conn, err = dial(); err != nil {
		return nil, err
	}
	if _, err := u.hello(token); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

func closeAll(users []*user) {
	for _, u := range users {
		if u != nil {
			u.Close()
		}
	}
}

// Idle logs users in and leaves them alone: memory per connection and the CPU
// that heartbeats cost.
func Idle(ctx context.Context, s *Server, o Options) (*Report, error) {
	r := newReport("idle", o)
	before, err := s.usage()
	if err != nil {
		return nil, err
	}
	kernelBefore, err := kernelBytes()
	if err != nil {
		return nil, err
	}
	users, err := logIn(ctx, s, o, o.Connections)
	if err != nil {
		return nil, err
	}
	defer closeAll(users)
	start, err := s.usage()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Progress, "%d connections idle for %s\n", len(users), o.Duration)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(o.Duration):
	}
	end, err := s.usage()
	if err != nil {
		return nil, err
	}
	kernelAfter, err := kernelBytes()
	if err != nil {
		return nil, err
	}
	n := int64(len(users))
	r.Seconds = end.at.Sub(start.at).Seconds()
	r.Server.CPUPercent = 100 * (end.cpu - start.cpu).Seconds() / r.Seconds
	r.Server.RSSBytes = end.rss
	r.Server.RSSPerConnection = (end.rss - before.rss) / n
	// Both ends of every connection are on this machine.
	r.Server.KernelBytesPerConnection = (kernelAfter - kernelBefore) / (2 * n)
	return r, r.machine(s)
}
