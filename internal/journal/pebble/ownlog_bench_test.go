package pebble

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sys/unix"
)

// BenchmarkOwnLog is the experiment of ADR 6: what a commit costs with Pebble's own log,
// which a goroutine of Pebble's writes and syncs, and with one that the committing
// goroutine appends to and syncs itself, before it applies the batch to a Pebble that has
// no log. Both in turns in one run, at several paces; floor is the log alone. It reports
// CPU µs and voluntary context switches per message, the ratio of both to Pebble's log,
// and the waits of a commit in µs. Run it on a real disk:
//
//	TMPDIR=… go test -run - -bench OwnLog -benchtime 1x ./internal/journal/pebble
func BenchmarkOwnLog(b *testing.B) {
	for _, pace := range []struct{ perSecond, batch int }{{200, 1}, {2000, 1}, {2000, 4}, {0, 64}, {0, 512}} {
		b.Run(fmt.Sprintf("%d/s in batches of %d", pace.perSecond, pace.batch), func(b *testing.B) {
			for range b.N {
				logs := []*logged{openLogged(b, "pebble"), openLogged(b, "own"), openLogged(b, "floor")}
				for range 4 {
					for _, l := range logs {
						l.run(b, pace.perSecond, pace.batch, 2*time.Second)
					}
				}
				for _, l := range logs {
					slices.Sort(l.waits)
					b.ReportMetric(l.cpu(), l.name+"-cpu-µs/msg")
					b.ReportMetric(l.switches(), l.name+"-switches/msg")
					b.ReportMetric(float64(l.waits[len(l.waits)/2].Microseconds()), l.name+"-p50-µs")
					b.ReportMetric(float64(l.waits[len(l.waits)*99/100].Microseconds()), l.name+"-p99-µs")
				}
				b.ReportMetric(logs[1].cpu()/logs[0].cpu(), "cpu-ratio")
				b.ReportMetric(logs[1].switches()/max(logs[0].switches(), 0.01), "switches-ratio")
			}
		})
	}
}

// logged commits batches of messages in one of the ways.
type logged struct {
	name     string
	j        *Journal // nil: nothing but the log
	log      *os.File // nil: Pebble's
	seq      uint64
	messages int
	used     time.Duration
	switched int64
	waits    []time.Duration
}

func openLogged(b *testing.B, name string) *logged {
	l := &logged{name: name}
	dir := b.TempDir()
	if name != "floor" {
		l.j = &Journal{dir: dir, o: Options{Logger: quiet()}.withDefaults()}
		l.j.fs = l.j.o.FS
		l.j.metrics = newMetrics(nil)
		o := l.j.engineOptions()
		o.DisableWAL = name == "own"
		db, err := pebble.Open(filepath.Join(dir, "db"), o)
		if err != nil {
			b.Fatal(err)
		}
		l.j.db = db
		b.Cleanup(func() {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		})
	}
	if name != "pebble" {
		f, err := os.Create(filepath.Join(dir, "log"))
		if err != nil {
			b.Fatal(err)
		}
		l.log = f
		b.Cleanup(func() { f.Close() })
	}
	return l
}

// fill makes a batch of what a message is stored as: a record and the key of its id.
func (l *logged) fill(p *pebble.Batch, n int) error {
	var record [190]byte
	var id [26]byte
	for range n {
		l.seq++
		for i := range 8 {
			record[i+8], id[i+2] = byte(l.seq>>(8*i)), byte(l.seq*0x9e3779b97f4a7c15>>(8*i))
		}
		if err := p.Set(fmt.Appendf(nil, "e%06d/%012d", l.seq%2000, l.seq), record[:], nil); err != nil {
			return err
		}
		if err := p.Set(id[:], nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// run commits at a pace, 0: one batch after the other.
func (l *logged) run(b *testing.B, perSecond, batch int, d time.Duration) {
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	for n := 0; time.Since(begun) < d; n++ {
		if perSecond > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(n*batch) * time.Second / time.Duration(perSecond))))
		}
		at := time.Now()
		if err := l.commit(batch); err != nil {
			b.Fatal(err)
		}
		l.waits = append(l.waits, time.Since(at))
		l.messages += batch
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	l.used += time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	l.switched += after.Nvcsw - before.Nvcsw
}

func (l *logged) commit(n int) error {
	if l.j == nil {
		_, err := l.log.Write(make([]byte, n*270))
		if err == nil {
			err = unix.Fdatasync(int(l.log.Fd()))
		}
		return err
	}
	p := l.j.db.NewBatch()
	defer p.Close()
	if err := l.fill(p, n); err != nil {
		return err
	}
	if l.log == nil {
		return l.j.write(p, true)
	}
	if _, err := l.log.Write(p.Repr()); err != nil {
		return err
	}
	if err := unix.Fdatasync(int(l.log.Fd())); err != nil {
		return err
	}
	return l.j.db.Apply(p, pebble.NoSync)
}

func (l *logged) cpu() float64 {
	return float64(l.used.Nanoseconds()) / 1e3 / float64(l.messages)
}

func (l *logged) switches() float64 { return float64(l.switched) / float64(l.messages) }
