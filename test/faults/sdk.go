package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/soak"
)

// deviceCommand makes this program be a device (soak.RunProcess). It is not for
// people.
const deviceCommand = "sdk-device"

// sdkKilled kills processes that use the SDK with its store on disk, at random
// moments under load, and starts them again on what they had on disk. The server
// stays up, but for every third round.
func sdkKilled(ctx context.Context, o options, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := &run{o: o, name: "sdk kill -9", strike: (*run).killDevices}
	r.device = func() *exec.Cmd {
		cmd := exec.Command(self, deviceCommand)
		// It ends with us, since nobody asks it any more; a signal for the terminal's
		// group is ours to deal with.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	return judgeRun(ctx, o, out, r, func(dir string) (fault, error) { return killing{dir}, nil })
}

// killDevices is one round: some of the processes, one at least, end at once and
// begin again a little later, some of these twice. In every third round they do
// while the server is away, and full of what they could not send.
func (r *run) killDevices(ctx context.Context, _ fault, rng *rand.Rand) error {
	all := r.world.Processes()
	for _, p := range all {
		if err := p.Failed(); err != nil {
			return err
		}
	}
	serverFirst := rng.IntN(2) == 0
	if r.struck%3 == 0 {
		r.server.kill()
		if err := wait(ctx, between(rng, 50*time.Millisecond, 400*time.Millisecond)); err != nil {
			return err
		}
	}
	var chosen []*soak.Process
	for _, i := range rng.Perm(len(all))[:1+rng.IntN(len(all))] {
		chosen = append(chosen, all[i])
		all[i].Kill()
	}
	r.killed += len(chosen)
	if rng.IntN(2) == 0 {
		if err := wait(ctx, between(rng, 0, 300*time.Millisecond)); err != nil {
			return err
		}
	}
	if serverFirst {
		if err := r.serverAgain(ctx); err != nil {
			return err
		}
	}
	for _, p := range chosen {
		if err := r.again(ctx, p, rng); err != nil {
			return err
		}
	}
	r.say("killed %d processes", len(chosen))
	return r.serverAgain(ctx)
}

// serverAgain starts the server if it is down.
func (r *run) serverAgain(ctx context.Context) error {
	if r.server.cmd != nil {
		return nil
	}
	took, err := r.server.start(ctx)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	r.restarts = append(r.restarts, took)
	return nil
}

// again starts a device; one in four dies once more while it begins.
func (r *run) again(ctx context.Context, p *soak.Process, rng *rand.Rand) error {
	err := p.Start()
	if err == nil && rng.IntN(4) == 0 {
		err = wait(ctx, between(rng, time.Millisecond, 400*time.Millisecond))
		p.Kill()
		r.killed++
		err = errors.Join(err, p.Start())
	}
	return err
}
