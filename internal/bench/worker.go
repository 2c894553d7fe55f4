package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/child"
)

// worker drives a share of the users: in this process (local) or in a child
// process (remote). Calls come one at a time.
type worker interface {
	do(ctx context.Context, c command) (*answer, error)
	close()
}

// command is one step of a scenario.
type command struct {
	Do string `json:"do"`
	// connect
	Plan *plan `json:"plan,omitempty"`
	// pace: messages per second of all; 0: a closed loop
	Rate float64 `json:"rate,omitempty"`
	// storm: what it is made of
	What string `json:"what,omitempty"`
	// arm: the number of the message to watch for
	Number uint32 `json:"number,omitempty"`
	// lost: what all workers were told of the groups
	Promised map[string][]ackedSeq `json:"promised,omitempty"`
}

// What a worker can be told.
const (
	doConnect = "connect" // log in
	doStart   = "start"   // send
	doPace    = "pace"    // from now on at another pace
	doCount   = "count"   // the warm-up is over: latencies count from now on
	doRest    = "rest"    // the measured time is over
	doStats   = "stats"
	doStop    = "stop"  // send no more, wait for what is under way; answers the promises
	doLost    = "lost"  // answers the final stats
	doStorm   = "storm" // begin a storm
	doArm     = "arm"
	doFire    = "fire"
	doLast    = "last"
	doFill    = "fill"   // resume: log in, write to the pool, remember where, and go
	doReturn  = "return" // resume: come back and sync
)

type answer struct {
	Err      string                `json:"err,omitempty"`
	Stats    *stats                `json:"stats,omitempty"`
	Promised map[string][]ackedSeq `json:"promised,omitempty"`
	At       int64                 `json:"at,omitempty"` // Unix nanoseconds
	Storm    *storm                `json:"storm,omitempty"`
	// Sends a second that the server allows each device, 0: no bound.
	Sends float64 `json:"sends,omitempty"`
}

// local is a worker in this process.
type local struct {
	t *traffic
	r *resume
}

func (l *local) do(ctx context.Context, c command) (*answer, error) {
	if c.Do == doConnect {
		if c.Plan.Options.Scenario == ScenarioResume {
			var err error
			l.r, err = newResume(c.Plan)
			return &answer{}, err
		}
		l.t = newTraffic(c.Plan)
		if err := l.t.connect(ctx); err != nil {
			return nil, err
		}
		return &answer{Sends: l.t.sends()}, nil
	}
	if l.r != nil {
		return l.r.do(ctx, c)
	}
	a, err := l.drive(ctx, c)
	if err == nil {
		err = l.t.err()
	}
	return a, err
}

func (l *local) drive(ctx context.Context, c command) (*answer, error) {
	t := l.t
	switch c.Do {
	case doStart:
		t.start()
	case doPace:
		t.change(c.Rate, 0, 0)
	case doCount:
		for _, h := range []*histogram{&t.ack, &t.delivery, &t.direct, &t.crowd, &t.lastMember} {
			h.reset()
		}
		t.counting.Store(true)
		return &answer{Stats: t.stats()}, nil
	case doRest:
		t.counting.Store(false)
		return &answer{Stats: t.stats()}, nil
	case doStats:
		return &answer{Stats: t.stats()}, nil
	case doStop:
		return &answer{Promised: t.stop()}, nil
	case doLost:
		late, lost := t.repaired(ctx, c.Promised)
		s := t.stats()
		s.Late, s.Lost = late, lost
		return &answer{Stats: s}, nil
	case doStorm:
		t.storm(c.What)
	case doArm:
		t.arm(c.Number)
	case doFire:
		at, err := t.fire()
		return &answer{At: at.UnixNano()}, err
	case doLast:
		at, err := t.last(ctx)
		return &answer{At: at.UnixNano()}, err
	default:
		return nil, fmt.Errorf("a worker cannot %q", c.Do)
	}
	return &answer{}, nil
}

func (l *local) close() {
	if l.r != nil {
		l.r.close()
	}
	if l.t != nil {
		l.t.close()
	}
}

// remote is a worker in a child process: commands and answers are lines of JSON
// on its stdin and stdout.
type remote struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	out *json.Decoder
}

// startRemote starts a load process that gives way to others by nice.
func startRemote(o *Options, nice int) (*remote, error) {
	r := &remote{cmd: exec.Command(o.Lab, "bench", "worker")}
	r.cmd.Stderr = o.Log
	in, err1 := r.cmd.StdinPipe()
	out, err2 := r.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	r.in, r.enc, r.out = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	return r, child.Start(r.cmd, syscall.SIGKILL, giveWay(nice))
}

func (r *remote) do(_ context.Context, c command) (*answer, error) {
	if err := r.enc.Encode(c); err != nil {
		return nil, fmt.Errorf("worker %d: %w", r.cmd.Process.Pid, err)
	}
	var a answer
	if err := r.out.Decode(&a); err != nil {
		return nil, fmt.Errorf("worker %d ended: %w", r.cmd.Process.Pid, err)
	}
	if a.Err != "" {
		return nil, errors.New(a.Err)
	}
	return &a, nil
}

// close ends the process: its stdin ends, and if that does not help it is killed.
func (r *remote) close() {
	r.in.Close()
	kill := time.AfterFunc(20*time.Second, func() { _ = r.cmd.Process.Kill() })
	_ = r.cmd.Wait() // what it had to say it has said
	kill.Stop()
}

// RunWorker is a child process: it obeys stdin until it ends.
func RunWorker(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	l := &local{}
	defer l.close()
	in, out := json.NewDecoder(bufio.NewReaderSize(stdin, 1<<20)), json.NewEncoder(stdout)
	for {
		var c command
		if err := in.Decode(&c); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		a, err := l.do(ctx, c)
		if err != nil {
			a = &answer{Err: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// perWorker is how many connections one process takes: file descriptors and a
// loopback address' source ports allow a little more.
func perWorker() int {
	files, known := openFiles()
	if !known || files > 26_000 {
		return 25_000
	}
	return max(files-1000, 1)
}

// workersFor is how many processes drive n connections.
func workersFor(o *Options, n int) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return (n + perWorker() - 1) / perWorker()
}
