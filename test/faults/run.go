package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
)

// fault is what happens to the server.
type fault interface {
	// data is where the server keeps its data.
	data() string
	// address is where clients reach the server that listens at the given one.
	address(server string) (string, error)
	// strike hurts; the server is dead when it returns.
	strike(s *server) error
	// close takes away what the fault needed.
	close() error
}

// killing is kill -9.
type killing struct{ dir string }

func (k killing) data() string           { return filepath.Join(k.dir, "data") }
func (k killing) strike(s *server) error { s.kill(); return nil }
func (k killing) close() error           { return nil }

func (k killing) address(server string) (string, error) { return server, nil }

// run is one run from the build to the judgement.
type run struct {
	o    options
	name string
	dir  string

	// strike, if set, is a round in place of a fault and a start.
	strike func(*run, context.Context, fault, *rand.Rand) error

	// device, if set, makes the command of a device that is a process.
	device func() *exec.Cmd

	server   *server
	database string // URL of the server's, "" if it has the embedded store
	world    *soak.World
	copies   []serverCopy
	returns  []soak.Return
	restarts []time.Duration
	// shortened are the starts that the server refused because it noticed a loss.
	shortened []string
	struck    int
	killed    int   // processes of devices
	calm      error // why the end was not calm
	fsync     time.Duration
	check     *soak.Report
}

// What a run may take at most: heal is from the last fault to silence.
const (
	buildTime = 10 * time.Minute // with all that is not done in rounds
	roundTime = 10 * time.Second
	heal      = 30 * time.Second
	// healLossy is enough where a loss is expected: nobody waits for calm there.
	healLossy = 5 * time.Second
)

func (r *run) run(ctx context.Context, makeFault func(dir string) (fault, error)) (err error) {
	if r.dir, err = os.MkdirTemp("", "skein-faults-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime+time.Duration(r.o.rounds)*roundTime)
	defer cancel()
	bin := r.o.bin
	if bin == "" {
		if bin, err = build(ctx, r.dir, r.o.tags); err != nil {
			return err
		}
	}
	f, err := makeFault(r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if r.server, err = newServer(bin, f.data(), filepath.Join(r.dir, "server.log")); err != nil {
		return err
	}
	defer r.server.logFile.Close()
	if r.o.postgres {
		dir := filepath.Join(r.dir, "postgres")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		db, err := pgtest.Start(dir, nil)
		if err != nil {
			return err
		}
		defer db.Kill()
		r.database = db.URL()
		r.server.args = append(r.server.args, "--set", "store="+r.database)
	}
	r.server.env = r.o.serverEnv
	defer r.server.kill()
	if _, err := r.server.start(ctx); err != nil {
		return err
	}
	if r.fsync, err = measureFsync(f.data()); err != nil {
		return err
	}
	if err := r.makeWorld(ctx, f); err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, r.world.Close())
		}
	}()
	if stopped, err := r.rounds(ctx, f); err != nil || stopped {
		return err
	}
	views, err := r.readServer(ctx)
	if err != nil {
		return err
	}
	closed = true
	if err := r.world.Close(); err != nil {
		return fmt.Errorf("close the devices: %w", err)
	}
	return r.judge(ctx, views)
}

func (r *run) makeWorld(ctx context.Context, f fault) error {
	key, err := r.server.adminKey()
	if err != nil {
		return err
	}
	public, err := f.address(r.server.http)
	if err != nil {
		return err
	}
	stream, err := f.address(r.server.tcp)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "clients")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r.world, err = soak.NewWorld(ctx, soak.Plan{
		HTTP: "http://" + public, WS: []string{"ws://" + public + "/ws"}, TCP: []string{"tcp://" + stream},
		Reconnect: soak.RestartStorm,
		AdminKey:  key, Dir: dir, Clients: r.o.clients, Rate: r.o.rate, Seed: r.o.seed, Process: r.device,
	})
	return err
}

// rounds strikes under load. stopped tells that the server noticed a loss and
// was not told to go on: there is nothing more to see.
func (r *run) rounds(ctx context.Context, f fault) (stopped bool, err error) {
	loadCtx, stopLoad := context.WithCancel(ctx)
	var load sync.WaitGroup
	load.Go(func() { r.world.Load(loadCtx) })
	defer load.Wait()
	defer stopLoad()
	rng := rand.New(rand.NewPCG(r.o.seed, 0))
	for r.struck < r.o.rounds {
		after := 50*time.Millisecond + time.Duration(rng.Int64N(int64(1950*time.Millisecond)))
		if err := wait(ctx, after); err != nil {
			return false, err
		}
		if err := r.server.running(); err != nil {
			return false, err
		}
		r.struck++
		if r.strike != nil {
			if err := r.strike(r, ctx, f, rng); err != nil {
				return false, fmt.Errorf("round %d: %w", r.struck, err)
			}
			r.say("after %v", after)
			continue
		}
		if err := f.strike(r.server); err != nil {
			return false, err
		}
		took, err := r.server.start(ctx)
		if errors.Is(err, errShortened) {
			r.shortened = append(r.shortened, err.Error())
			if !r.o.acceptLoss {
				return true, nil
			}
			took, err = r.server.start(ctx, "--accept-loss")
		}
		if err != nil {
			return false, fmt.Errorf("restart %d: %w", r.struck, err)
		}
		r.restarts = append(r.restarts, took)
		r.say("struck after %v, ready again in %v", after, took.Round(time.Millisecond))
	}
	if r.strike != nil { // the last one is followed by traffic too
		return false, wait(ctx, time.Second)
	}
	return false, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (r *run) say(format string, args ...any) {
	if r.o.verbose {
		fmt.Fprintf(os.Stderr, "round %d: %s\n", r.struck, fmt.Sprintf(format, args...))
	}
}

// readServer lets all become quiet and reads the server twice: through the
// API, and in its store once it has stopped.
func (r *run) readServer(ctx context.Context) ([]soak.View, error) {
	limit := heal
	if r.o.expectLoss {
		limit = healLossy
	}
	calm, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.calm = r.world.Quiesce(calm)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := r.server.running(); err != nil {
		return nil, err
	}
	views, err := r.world.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.server.stop(ctx); err != nil {
		return nil, err
	}
	if r.database == "" {
		journal, err := readJournal(ctx, filepath.Join(r.server.data, "journal"), views)
		return append(views, journal), err
	}
	journal, wrong, err := readPostgres(ctx, r.database)
	if err == nil && len(wrong) > 0 {
		err = errors.New(strings.Join(wrong, "\n"))
	}
	return append(views, journal), err
}

// readJournal reads every conversation that anybody knows in the server's store.
func readJournal(ctx context.Context, dir string, others []soak.View) (soak.View, error) {
	v := soak.View{Source: soak.SourceJournal}
	j, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return v, fmt.Errorf("read the journal: %w", err)
	}
	defer j.Close()
	v.Timeline = j.Timeline()
	var names []im.ConversationID
	for _, o := range others {
		for _, st := range o.Standings {
			names = append(names, im.ConversationID(st.Conversation))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	heads := make([]im.Head, len(names))
	if err := j.Heads(ctx, names, heads); err != nil {
		return v, fmt.Errorf("read the journal: %w", err)
	}
	for i, c := range names {
		v.Standings = append(v.Standings, soak.Standing{Conversation: string(c), First: 1, Last: heads[i].Seq, Member: true})
		for from := uint64(1); from <= heads[i].Seq; {
			entries, err := j.Read(ctx, c, from, false, 1000)
			if err != nil {
				return v, fmt.Errorf("read %s in the journal: %w", c, err)
			}
			if len(entries) == 0 {
				break // the checker finds what is missing
			}
			for k := range entries {
				v.Entries = append(v.Entries, soak.EntryOf(contract.Entry(&entries[k])))
			}
			from = entries[len(entries)-1].Seq + 1
		}
	}
	return v, nil
}

// judge reads what the devices keep and wrote down, and checks it all.
func (r *run) judge(ctx context.Context, views []soak.View) error {
	stores, err := r.world.Stores(ctx)
	if err != nil {
		return err
	}
	histories, err := r.world.Histories()
	if err != nil {
		return err
	}
	r.check = soak.Check(soak.Run{Histories: histories, Views: append(views, stores...), Returns: r.returns})
	return nil
}

// measureFsync is the median of some, in the server's directory: figures of
// durable work mean nothing without it.
func measureFsync(dir string) (time.Duration, error) {
	path := filepath.Join(dir, "fsync-probe")
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	block := make([]byte, 4096)
	var took []time.Duration
	for range 51 {
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
