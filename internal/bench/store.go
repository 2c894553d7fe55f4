package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The store scenario measures the journal alone, in this process: it is the one
// scenario that knows a part of the server, by the domain's contract of it. The
// engine is handed in.

// StoreJournal is what of a journal is measured; see im.Journal and im.Marks.
type StoreJournal interface {
	Append(ctx context.Context, batch []im.Append, out []im.Appended) error
	Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error)
	Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error
	SetMarks(ctx context.Context, marks []im.Mark, w im.MarkWait) error
}

// StoreEngine opens the journal in a directory, or in the database with a URL,
// making it if there is none, and returns it with the function that closes it.
type StoreEngine func(where string) (StoreJournal, func() error, error)

// StoreOptions are the settings of the store scenario. Zero values mean the
// defaults in brackets; Resends and Rate may be zero.
type StoreOptions struct {
	Engine        string                 // which of Engines [pebble]
	Engines       map[string]StoreEngine // by name
	Postgres      string                 // a server's URL: the journal is in a database of the scenario's own there, not in Dir
	PostgresPID   int                    // the server's main process, for its CPU time [found if it is on this machine]
	Dir           string                 // where; it is left there ["": a temporary directory]
	Messages      int                    // stored before anything is measured [1,000,000]
	Conversations int                    // [10,000]
	Payload       int                    // bytes of a message's text [150]
	Batches       []int                  // messages per append [1, 32, 256, 1024]
	Resends       float64                // share of messages that were stored before, in a second step per batch size
	Step          time.Duration          // how long a step takes [5 s]
	Rate          float64                // messages per second of a last step with an open loop; 0: none
	Progress      io.Writer              // [nobody]
}

// StoreReport is what the scenario found, one object.
type StoreReport struct {
	Scenario string         `json:"scenario"`
	Settings map[string]any `json:"settings"`
	Preload  []StoreStep    `json:"preload"` // a tenth of the messages each: the cost as the journal grows
	Steps    []StoreStep    `json:"steps"`
	Paced    *StorePaced    `json:"paced,omitempty"`
	Reads    []StoreRead    `json:"reads"`
	// ReopenMs is the time to open the journal again after closing it, ReadyMs
	// that with a first read and a first append.
	ReopenMs        float64 `json:"reopen_ms"`
	ReadyMs         float64 `json:"ready_ms"`
	BytesPerMessage float64 `json:"bytes_per_message"`
	Lost            uint64  `json:"lost"`
	Duplicated      uint64  `json:"duplicated"`
	Disordered      uint64  `json:"disordered"`
	Machine         Machine `json:"machine"`
}

// StoreStep is appends of one batch size. Seconds are those spent in Append.
// CPU time is the whole process's without making the messages, so it has the
// store's background work; ServerMicros is that of a database server. The floor
// is as many bytes as the messages have, appended to a bare file with fdatasync
// per batch, or a bare insert of the same rows into the same database; half
// before the step and half after it.
type StoreStep struct {
	Batch       int     `json:"batch"`
	Resends     float64 `json:"resends"`
	Messages    int     `json:"messages"`
	Seconds     float64 `json:"seconds"`
	PerS        float64 `json:"per_s"`
	CPUMicros   float64 `json:"cpu_us_per_message"`
	Server      float64 `json:"server_cpu_us_per_message,omitempty"`
	Fsyncs      int     `json:"fsyncs"` // appends that stored something: one fsync each at the least
	FloorPerS   float64 `json:"floor_per_s"`
	FloorMicros float64 `json:"floor_cpu_us_per_message"`
	FloorServer float64 `json:"floor_server_cpu_us_per_message,omitempty"`
	FloorRatio  float64 `json:"floor_ratio"`
	Append      Latency `json:"append_ms"`
}

// StoreRead is reads of one kind, one at a time.
type StoreRead struct {
	Kind    string  `json:"kind"` // last, old
	Entries int     `json:"entries"`
	Reads   int     `json:"reads"`
	PerS    float64 `json:"per_s"`
	Micros  float64 `json:"us"`
}

func (o *StoreOptions) defaults() error {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Messages, 1_000_000)
	def(&o.Conversations, 10_000)
	def(&o.Payload, 150)
	if o.Engine == "" {
		o.Engine = "pebble"
	}
	if len(o.Batches) == 0 {
		o.Batches = []int{1, 32, 256, 1024}
	}
	if o.Step == 0 {
		o.Step = 5 * time.Second
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	switch {
	case o.Engines[o.Engine] == nil:
		return fmt.Errorf("engine %q: want one of %s", o.Engine, strings.Join(slices.Sorted(maps.Keys(o.Engines)), ", "))
	case o.Engine == "postgres" && o.Postgres == "":
		return errors.New("postgres: want the URL of a server")
	case o.Messages < 0 || o.Messages > 1<<30:
		return errors.New("messages: want 1 to 2^30")
	case o.Conversations < 0 || o.Conversations > 1<<24:
		return errors.New("conversations: want 1 to 2^24")
	case o.Payload < 0 || o.Payload > 1<<16:
		return errors.New("payload: want 1 to 65536 bytes")
	case slices.Min(o.Batches) < 1 || slices.Max(o.Batches) > 1<<14:
		return errors.New("batches: want 1 to 16384 messages each")
	case !(o.Resends >= 0 && o.Resends <= 1):
		return errors.New("resends: want a share from 0 to 1")
	case o.Step < 0 || !(o.Rate >= 0 && o.Rate <= 1e7):
		return errors.New("step and rate must not be negative")
	}
	return nil
}

// Store measures the journal: appends on top of stored messages, with and
// without resends; reads; reopening. Every answer is checked, and after the
// reopening all heads and a sample of the entries are.
func Store(ctx context.Context, o StoreOptions) (_ *StoreReport, err error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	dir := o.Dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "skein-bench-store-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	r := &storeRun{
		ctx: ctx, o: o, dir: filepath.Join(dir, "journal"), floorFile: filepath.Join(dir, "floor"),
		load: newStoreLoad(o.Conversations, o.Payload), rng: rand.New(rand.NewPCG(3, 4)),
	}
	if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s exists: the scenario needs a journal of its own (%v)", r.dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	r.book = &storeBook{l: r.load, heads: make([]uint32, o.Conversations), stored: make([]uint32, o.Conversations)}
	report := &StoreReport{Scenario: "store", Settings: map[string]any{
		"engine": o.Engine, "messages": o.Messages, "conversations": o.Conversations, "payload": o.Payload,
		"batches": o.Batches, "resends": o.Resends, "step_s": o.Step.Seconds(), "rate": o.Rate,
	}}
	if o.Engine == "postgres" {
		if r.postgres, err = newStorePostgres(ctx, &o); err != nil {
			return nil, err
		}
		r.dir = r.postgres.url
	}
	err = r.run(report)
	if r.close != nil {
		err = errors.Join(err, r.close())
	}
	if r.postgres != nil {
		err = errors.Join(err, r.postgres.close())
	}
	if err != nil {
		return nil, err
	}
	report.Lost, report.Duplicated, report.Disordered = r.book.lost, r.book.duplicated, r.book.disordered
	return report, nil
}

// storeRun is one run of the scenario.
type storeRun struct {
	ctx            context.Context
	o              StoreOptions
	dir, floorFile string         // dir is where the journal is
	postgres       *storePostgres // if it is in a database
	load           *storeLoad
	book           *storeBook
	rng            *rand.Rand
	j              StoreJournal
	close          func() error
	made           time.Duration // CPU time to make a message

	ns     []uint32
	resent []bool
	batch  []im.Append
	out    []im.Appended
}

func (r *storeRun) say(format string, args ...any) { fmt.Fprintf(r.o.Progress, format+"\n", args...) }

func (r *storeRun) run(report *StoreReport) (err error) {
	report.Machine.Cores = runtime.NumCPU()
	if report.Machine.FsyncMicros, err = fileFsyncMicros(filepath.Dir(r.floorFile)); err != nil {
		return err
	}
	if err = r.open(); err != nil {
		return err
	}
	r.calibrate()
	r.say("storing %d messages in %d conversations", r.o.Messages, r.o.Conversations)
	if report.Preload, err = r.preload(); err != nil {
		return err
	}
	if r.postgres != nil {
		if err := r.postgres.fill(r.ctx, r.o.Messages); err != nil {
			return err
		}
	}
	for _, batch := range r.o.Batches {
		for _, resends := range slices.Compact([]float64{0, r.o.Resends}) {
			step, err := r.step(batch, resends)
			if err != nil {
				return err
			}
			report.Steps = append(report.Steps, step)
			r.say("  batch %4d, resends %2.0f %%: %8.0f msg/s, %5.2f µs CPU, floor ratio %.2f, p99 %.2f ms%s",
				batch, 100*resends, step.PerS, step.CPUMicros, step.FloorRatio, step.Append.P99, step.server())
		}
	}
	if r.o.Rate > 0 {
		if report.Paced, err = r.paced(); err != nil {
			return err
		}
		r.say("  %.0f msg/s offered: p99 %.2f ms, %d appends took more than 5 ms", r.o.Rate, report.Paced.Ack.P99, report.Paced.Slow)
	}
	for _, old := range []bool{false, true} {
		read, err := r.reads(old)
		if err != nil {
			return err
		}
		report.Reads = append(report.Reads, read)
		r.say("  read %s %d: %.0f µs", read.Kind, read.Entries, read.Micros)
	}
	return r.reopen(report)
}

func (r *storeRun) open() (err error) {
	r.j, r.close, err = r.o.Engines[r.o.Engine](r.dir)
	return err
}

const storePreloadBatch = 1024

func (r *storeRun) preload() (parts []StoreStep, err error) {
	for done := 0; done < r.o.Messages; {
		n := min((r.o.Messages+9)/10, r.o.Messages-done)
		part, err := r.appends(storePreloadBatch, 0, n, 0)
		if err != nil {
			return parts, err
		}
		parts = append(parts, part)
		done += n
		r.say("  %9d stored: %8.0f msg/s, %5.2f µs CPU, p99 %.2f ms", done, part.PerS, part.CPUMicros, part.Append.P99)
	}
	return parts, nil
}

// next makes a batch.
func (r *storeRun) next(size int, resends float64) {
	r.ns, r.resent, r.batch = r.ns[:0], r.resent[:0], slices.Grow(r.batch[:0], size)[:size]
	fresh := uint32(len(r.book.seqs))
	for i := range size {
		n, again := fresh, false
		if resends > 0 && r.rng.Float64() < resends {
			n, again = r.old(fresh)
		}
		if !again {
			n = fresh
			fresh++
		}
		r.ns, r.resent = append(r.ns, n), append(r.resent, again)
		r.load.item(n, &r.batch[i])
	}
	r.out = slices.Grow(r.out[:0], size)[:size]
	clear(r.out)
}

// old picks a message for a resend: in equal parts a recent and any old one, and
// now and then one of the batch in the making.
func (r *storeRun) old(fresh uint32) (n uint32, ok bool) {
	stored := uint32(len(r.book.seqs))
	switch k := r.rng.IntN(16); {
	case k == 0 && fresh > stored:
		return stored + r.rng.Uint32N(fresh-stored), true
	case stored == 0:
		return 0, false
	case k < 8:
		n = stored - 1 - r.rng.Uint32N(min(stored, 10_000))
	default:
		n = r.rng.Uint32N(stored)
	}
	// What the journal lost is not asked for again: it would be stored, rightly.
	return n, r.book.seqs[n] > 0
}

// calibrate measures what it costs to make a message, to leave it out.
func (r *storeRun) calibrate() {
	start := processCPU()
	const rounds = 64
	for range rounds {
		r.load.made = r.load.made[:0]
		r.next(1024, 0)
	}
	r.made = (processCPU() - start) / (rounds * 1024)
	r.load.made = r.load.made[:0]
}

// appends runs batches until so many messages were appended, or, if that is 0,
// for a time.
func (r *storeRun) appends(size int, resends float64, messages int, d time.Duration) (StoreStep, error) {
	s := StoreStep{Batch: size, Resends: resends}
	var h histogram
	var in time.Duration
	server, cpu, begin := r.postgres.serverCPU(), processCPU(), time.Now()
	for s.Messages < messages || messages == 0 && (s.Messages == 0 || time.Since(begin) < d) {
		if err := r.ctx.Err(); err != nil {
			return s, err
		}
		n := size
		if messages > 0 {
			n = min(n, messages-s.Messages)
		}
		r.next(n, resends)
		start := time.Now()
		if err := r.j.Append(r.ctx, r.batch, r.out); err != nil {
			return s, err
		}
		took := time.Since(start)
		in += took
		h.record(took)
		if r.checked() > 0 {
			s.Fsyncs++
		}
		s.Messages += n
	}
	cpu = processCPU() - cpu - time.Duration(s.Messages)*r.made
	s.Seconds = in.Seconds()
	s.PerS = float64(s.Messages) / in.Seconds()
	s.CPUMicros = float64(cpu.Nanoseconds()) / 1e3 / float64(s.Messages)
	s.Server = float64((r.postgres.serverCPU() - server).Nanoseconds()) / 1e3 / float64(s.Messages)
	s.Append = h.latency()
	return s, nil
}

// checked checks the answers to the batch, and returns how many items were
// stored.
func (r *storeRun) checked() (stored int) {
	for i, n := range r.ns {
		r.book.answered(n, r.resent[i], &r.out[i])
		if r.out[i].Status == im.Stored {
			stored++
		}
	}
	return stored
}

// step measures one batch size against its floor.
func (r *storeRun) step(size int, resends float64) (StoreStep, error) {
	before, err := r.floor(size)
	if err != nil {
		return StoreStep{}, err
	}
	s, err := r.appends(size, resends, 0, r.o.Step)
	if err != nil {
		return s, err
	}
	after, err := r.floor(size)
	if err != nil {
		return s, err
	}
	messages := float64(before.messages + after.messages)
	s.FloorPerS = messages / (before.took + after.took).Seconds()
	s.FloorMicros = float64((before.cpu + after.cpu).Nanoseconds()) / 1e3 / messages
	s.FloorServer = float64((before.server + after.server).Nanoseconds()) / 1e3 / messages
	s.FloorRatio = s.PerS / s.FloorPerS
	return s, nil
}

// server tells of the database server's CPU time, if it is known.
func (s *StoreStep) server() string {
	if s.Server == 0 {
		return ""
	}
	return fmt.Sprintf(", server %.1f µs CPU, of the floor %.1f", s.Server, s.FloorServer)
}

type storeFloor struct {
	messages          int
	took, cpu, server time.Duration
}

// floor appends the bytes of batches of a size to a bare file, for a tenth of a
// step.
func (r *storeRun) floor(size int) (f storeFloor, err error) {
	if r.postgres != nil {
		return r.postgres.floor(r.ctx, size, r.o.Step/5)
	}
	file, err := os.Create(r.floorFile)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(r.floorFile)) }()
	buf := r.load.body[:0:0]
	for len(buf) < size*r.load.itemBytes() {
		buf = append(buf, r.load.body...)
	}
	buf = buf[:size*r.load.itemBytes()]
	start, cpu := time.Now(), processCPU()
	for f.messages == 0 || time.Since(start) < r.o.Step/10 {
		if _, err := file.Write(buf); err != nil {
			return f, err
		}
		if err := datasync(file); err != nil {
			return f, err
		}
		f.messages += size
	}
	f.took, f.cpu = time.Since(start), processCPU()-cpu
	return f, nil
}

// fileFsyncMicros is the median time of a small write with fdatasync in dir.
func fileFsyncMicros(dir string) (us float64, err error) {
	f, err := os.CreateTemp(dir, "fsync")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	var h histogram
	block := make([]byte, 4096)
	for range 200 {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := datasync(f); err != nil {
			return 0, err
		}
		h.record(time.Since(start))
	}
	return h.latency().P50 * 1000, nil
}
