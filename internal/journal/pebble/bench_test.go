package pebble

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sys/unix"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

var preload = flag.Int("preload", 0, "messages stored before a benchmark of Append begins")

// load makes batches as 2,000 users in 2,000 direct chats would.
type load struct {
	rng    *rand.Rand
	users  []im.UserID
	bodies [][]byte // encoded beforehand: their garbage would be Append's to collect
	tick   int64
	past   []im.Append // stored a while ago, for resends
}

func newLoad() *load {
	l := &load{rng: rand.New(rand.NewPCG(1, 2)), tick: 1_700_000_000_000 << 6}
	for i := range 2000 {
		l.users = append(l.users, im.UserID(fmt.Sprintf("user%06d", i)))
	}
	text := make([]byte, 150) // which do not compress
	for range 400 {
		for i := range text {
			text[i] = byte(l.rng.UintN(256))
		}
		body, _ := entrycodec.Message("", &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: string(text)}}})
		l.bodies = append(l.bodies, body)
	}
	return l
}

func (l *load) fill(batch []im.Append, resend float64) {
	for i := range batch {
		if len(l.past) > 0 && l.rng.Float64() < resend {
			batch[i] = l.past[l.rng.IntN(len(l.past))]
			continue
		}
		n := l.rng.IntN(len(l.users))
		from, to := l.users[n], l.users[(n+1+l.rng.IntN(2))%len(l.users)]
		l.tick++
		var random [10]byte
		binary.BigEndian.PutUint16(random[:], uint16(l.tick&63)<<6)
		binary.BigEndian.PutUint64(random[2:], l.rng.Uint64())
		id := im.NewMessageID(time.UnixMilli(l.tick>>6), random)
		batch[i] = im.Append{
			Entry: im.Entry{
				Conversation: im.DM(from, to), ID: id, Sender: from, Kind: im.EntryMessage,
				Body: l.bodies[l.rng.IntN(len(l.bodies))],
			},
			Hash: l.rng.Uint64(),
		}
		if resend > 0 && l.rng.IntN(16) == 0 {
			if len(l.past) < 10_000 {
				l.past = append(l.past, batch[i])
			} else {
				l.past[l.rng.IntN(len(l.past))] = batch[i]
			}
		}
	}
}

func counterValue(c prometheus.Counter) float64 {
	var m dto.Metric
	if c.Write(&m) != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}

// BenchmarkAppend reports µs per message, the same for the floor (as many bytes
// in as many appends to a plain file, each with fdatasync, in the same run), and
// their ratio. Run it on a directory of a real disk: TMPDIR=… go test -bench …
func BenchmarkAppend(b *testing.B) {
	for _, resend := range []float64{0, 0.05} {
		for _, size := range []int{32, 256, 1024} {
			b.Run(fmt.Sprintf("batch=%d/resend=%v%%", size, resend*100), func(b *testing.B) {
				benchmarkAppend(b, size, resend, false)
			})
		}
	}
}

// BenchmarkAppendFollowed is BenchmarkAppend when somebody reads by position, whose
// reading is not counted.
func BenchmarkAppendFollowed(b *testing.B) {
	for _, size := range []int{32, 256, 1024} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchmarkAppend(b, size, 0, true) })
	}
}

// BenchmarkFollow reports µs per entry for one who keeps up, and for one who begins
// at the beginning after the start.
func BenchmarkFollow(b *testing.B) {
	dir, l := b.TempDir(), newLoad()
	o := Options{Now: func() time.Time { return time.UnixMilli(l.tick >> 6) }}
	ctx := context.Background()
	for _, name := range []string{"tail", "windows"} {
		b.Run(name, func(b *testing.B) {
			j, err := Open(filepath.Join(dir, name, fmt.Sprint(b.N)), o)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = j.Close() }()
			at := im.Place{}
			read := func() (n int) {
				b.StartTimer()
				defer b.StopTimer()
				for {
					f, err := j.After(ctx, at, 500)
					if err != nil {
						b.Fatal(err)
					}
					n, at = n+len(f.Entries), f.UpTo
					if f.UpTo == f.Now {
						return n
					}
				}
			}
			b.StopTimer()
			read()
			batch, out, n := make([]im.Append, 256), make([]im.Appended, 256), 0
			for stored := 0; stored < b.N; stored += len(batch) {
				l.fill(batch, 0)
				if err := j.Append(ctx, batch, out); err != nil {
					b.Fatal(err)
				}
				if name == "tail" {
					n += read()
				}
			}
			if name == "windows" {
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
				if j, err = Open(filepath.Join(dir, name, fmt.Sprint(b.N)), o); err != nil {
					b.Fatal(err)
				}
				at, n = im.Place{}, 0
				n += read()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(n), "µs/entry")
		})
	}
}

func benchmarkAppend(b *testing.B, size int, resend float64, followed bool) {
	dir := b.TempDir()
	l := newLoad()
	j, err := Open(filepath.Join(dir, "journal"), Options{Now: func() time.Time { return time.UnixMilli(l.tick >> 6) }})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	ctx := context.Background()
	batch, out := make([]im.Append, size), make([]im.Appended, size)
	for range *preload / size {
		l.fill(batch, resend)
		if err := j.Append(ctx, batch, out); err != nil {
			b.Fatal(err)
		}
	}
	if followed {
		if _, err := j.After(ctx, im.Place{}, 1); err != nil {
			b.Fatal(err)
		}
	}
	before := counterValue(j.metrics.bytes)
	b.ReportAllocs()
	messages, batches := 0, 0
	var took, cpu time.Duration
	b.ResetTimer()
	for messages < b.N {
		b.StopTimer()
		l.fill(batch, resend)
		b.StartTimer()
		start, used := time.Now(), cpuTime(b)
		if err := j.Append(ctx, batch, out); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
		cpu += cpuTime(b) - used
		messages += size
		batches++
	}
	b.StopTimer()
	bytes := int(counterValue(j.metrics.bytes)-before) / batches
	floor := benchmarkFloor(b, filepath.Join(dir, "floor"), batches, bytes)
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(messages) }
	b.ReportMetric(per(took), "µs/msg")
	b.ReportMetric(per(cpu), "cpu-µs/msg")
	b.ReportMetric(per(floor), "floor-µs/msg")
	b.ReportMetric(float64(took)/float64(floor), "ratio")
	b.ReportMetric(float64(bytes)/float64(size), "B/msg")
}

// cpuTime is what the process has used, with the store's background work.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkFloor(b *testing.B, path string, appends, bytes int) time.Duration {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(path)
	defer f.Close()
	buf := make([]byte, bytes)
	start := time.Now()
	for range appends {
		if _, err := f.Write(buf); err != nil {
			b.Fatal(err)
		}
		if err := f.SyncData(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
