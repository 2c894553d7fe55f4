package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Process is a device whose SDK lives in a process of its own, which may be
// killed at any moment and started again on the same store and history. The
// process writes its history itself; over its standard input and output it is
// told what to do, one request at a time.
type Process struct {
	o       processOptions
	dir     string
	command func() *exec.Cmd
	acked   func(spot)

	call sync.Mutex // held for a request and its reply; taken before mu

	mu      sync.Mutex
	live    *liveProcess
	changed chan struct{} // closed when live or failed change
	failed  error         // it ended by itself
	unread  map[string]uint64
}

// processOptions go to the process first: DeviceOptions, and where its files are.
type processOptions struct {
	URLs                []string
	Token, User, Device string
	JSON                bool
	Reconnect, Slow     time.Duration
	History, Store      string
}

// processRequest is a request, processReply its answer; the first reply of a
// process says that it is ready.
type processRequest struct {
	Do           string // a key of processCalls
	Conversation string `json:",omitempty"`
	Text         string `json:",omitempty"`
}

type processReply struct {
	Error string `json:",omitempty"`
	// Busy: too many messages wait for an answer; nothing was done.
	Busy    bool              `json:",omitempty"`
	Pending int               `json:",omitempty"`
	Numbers map[string]uint64 `json:",omitempty"`
	// Acked are messages that were acknowledged since the last reply.
	Acked []ackedSpot `json:",omitempty"`
}

type ackedSpot struct {
	Conversation string
	Seq          uint64
	Timeline     string
}

// liveProcess is one process of a device's.
type liveProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	enc   *json.Encoder
	dec   *json.Decoder
	ready bool
	// killed: its end is wanted. Guarded by Process.mu.
	killed bool
	ended  chan struct{}
}

// errProcessEnded: what became of a request is in the history, if anywhere.
var errProcessEnded = errors.New("soak: the device's process ended")

// newProcess makes the device; Start starts its first process.
func newProcess(o processOptions, dir string, command func() *exec.Cmd, acked func(spot)) *Process {
	base := filepath.Join(dir, o.User+"."+o.Device)
	o.History, o.Store = base+".jsonl", base+".db"
	return &Process{o: o, dir: dir, command: command, acked: acked, changed: make(chan struct{})}
}

// Start starts a process where there is none. It does not wait until it is ready.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(p.dir, p.o.User+"."+p.o.Device+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = theirs, log
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, out.Close())
	}
	l := &liveProcess{cmd: cmd, in: in, out: out, enc: json.NewEncoder(in), dec: json.NewDecoder(out), ended: make(chan struct{})}
	p.live = l
	p.tell()
	go p.watch(l)
	return nil
}

// watch waits for the end of a process. An end that nobody wanted is the device's.
func (p *Process) watch(l *liveProcess) {
	err := l.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.killed {
		p.failed = fmt.Errorf("soak: the process of %s/%s ended by itself: %w", p.o.User, p.o.Device, errors.Join(errProcessEnded, err))
	}
	if p.live == l {
		p.live = nil
	}
	p.tell()
	close(l.ended)
}

// tell wakes who waits for a change. The caller holds mu.
func (p *Process) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Kill ends the process at once, as kill -9 does, if there is one.
func (p *Process) Kill() {
	if l := p.end(); l != nil {
		_ = l.cmd.Process.Kill() // it may have ended by itself
		<-l.ended
		l.out.Close()
	}
}

// end takes the process; that it ends is wanted from now on.
func (p *Process) end() *liveProcess {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.live
	if l != nil {
		l.killed, p.live = true, nil
		p.tell()
	}
	return l
}

// Failed tells why a process ended that nobody killed.
func (p *Process) Failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// current waits for a process.
func (p *Process) current(ctx context.Context) (*liveProcess, error) {
	for {
		p.mu.Lock()
		l, changed, err := p.live, p.changed, p.failed
		p.mu.Unlock()
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// do makes a request of the process that there is, or that comes next. ctx bounds
// the wait for one only: a process answers, or ends.
func (p *Process) do(ctx context.Context, req processRequest) (processReply, error) {
	p.call.Lock()
	defer p.call.Unlock()
	l, err := p.current(ctx)
	if err != nil {
		return processReply{}, err
	}
	return p.ask(l, req)
}

// ask makes a request of a process. The caller holds call.
func (p *Process) ask(l *liveProcess, req processRequest) (r processReply, err error) {
	if !l.ready {
		if err := l.enc.Encode(p.o); err != nil {
			return r, errProcessEnded
		}
		if err := l.dec.Decode(&r); err != nil {
			return r, errProcessEnded
		}
		l.ready = true
	}
	r = processReply{}
	if l.enc.Encode(req) != nil || l.dec.Decode(&r) != nil {
		return r, errProcessEnded
	}
	for _, s := range r.Acked {
		p.acked(spot{s.Conversation, s.Seq, s.Timeline})
	}
	if r.Error != "" {
		err = errors.New(r.Error)
	}
	return r, err
}

// Name is the user's and the device's id.
func (p *Process) Name() (user, device string) { return p.o.User, p.o.Device }

// Send sends a text, if the process lives long enough; otherwise the history
// tells how far it came.
func (p *Process) Send(ctx context.Context, conversation, text string) error {
	for {
		r, err := p.do(ctx, processRequest{Do: "send", Conversation: conversation, Text: text})
		switch {
		case errors.Is(err, errProcessEnded) && p.Failed() == nil:
			return nil // killed
		case err != nil || !r.Busy:
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// MarkRead marks everything the device holds of the conversation as read.
func (p *Process) MarkRead(ctx context.Context, conversation string) error {
	_, err := p.do(ctx, processRequest{Do: "read", Conversation: conversation})
	return err
}

// Pending is how many messages of its outbox are not settled.
func (p *Process) Pending() int {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	r, err := p.do(ctx, processRequest{Do: "pending"})
	if err != nil {
		return 1 // nobody knows
	}
	return r.Pending
}

// Holds is up to where the device holds each conversation.
func (p *Process) Holds() map[string]uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	r, _ := p.do(ctx, processRequest{Do: "holds"}) // nothing, if it is not there
	return r.Numbers
}

// Close ends the process in good order.
func (p *Process) Close() error {
	p.call.Lock()
	defer p.call.Unlock()
	l := p.end()
	if l == nil {
		return p.Failed()
	}
	r, err := p.ask(l, processRequest{Do: "close"})
	p.unread = r.Numbers
	if closed := l.in.Close(); !errors.Is(closed, os.ErrClosed) { // that is so when it ended by itself meanwhile
		err = errors.Join(err, closed)
	}
	select {
	case <-l.ended:
	case <-time.After(callTime):
		_ = l.cmd.Process.Kill()
		<-l.ended
		err = errors.Join(err, errors.New("soak: the process did not end"))
	}
	if err == nil && !l.cmd.ProcessState.Success() {
		err = errors.New(l.cmd.ProcessState.String())
	}
	if err != nil {
		err = fmt.Errorf("soak: the process of %s/%s: %w", p.o.User, p.o.Device, err)
	}
	return errors.Join(err, l.out.Close(), p.Failed())
}

// View reads the store of the device.
func (p *Process) View(ctx context.Context) (View, error) {
	return storeView(ctx, p.o.Store, p.o.User, p.o.Device, p.unread)
}

// codec is the one the process uses.
func (o *processOptions) codec() wire.Codec {
	if o.JSON {
		return wire.JSON()
	}
	return wire.Protobuf()
}
