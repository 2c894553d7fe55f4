package postgres

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// benchMessage is a message of 150 bytes in one of some direct chats.
func benchMessage(n, conversation int) im.Append {
	u := im.UserID(fmt.Sprintf("u%012x", conversation*7919))
	var random [10]byte
	random[6], random[7], random[8], random[9] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return im.Append{Entry: im.Entry{
		Conversation: im.DM(u, im.UserID(fmt.Sprintf("u%012x", conversation*104729+1))), Sender: u, Kind: im.EntryMessage,
		ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n)/50), random), Body: benchBody,
	}, Hash: uint64(n)}
}

// benchBody is what entrycodec makes of a text of 150 bytes.
var benchBody = append([]byte{0x3a, 0x9f, 0x01, 0x0a, 0x04, 't', 'e', 'x', 't', 0x12, 0x96, 0x01}, make([]byte, 150)...)

// BenchmarkRequest is what this process does for a batch besides waiting.
func BenchmarkRequest(b *testing.B) {
	const size = 1024
	rng := rand.New(rand.NewPCG(1, 2))
	batch := make([]im.Append, size)
	for i := range batch {
		batch[i] = benchMessage(i, rng.IntN(10_000))
	}
	var rs requests
	b.ReportAllocs()
	for b.Loop() {
		r := rs.get()
		r.plan(batch)
		r.encode(batch)
		rs.put(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/message")
}

// cpu is the processor time that the backend of the only writing connection took, as
// far as the server runs on this machine.
func cpu(b *testing.B, j *Journal) time.Duration {
	c, err := j.writers.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Release()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Conn().PgConn().PID()))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkAppend stores messages of 150 bytes in 10,000 direct chats, on top of what
// it stored before, and tells what each costs in time, in the server's processor
// time, and on disk; and what amendments cost among them.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{32, 256, 1024} {
		for _, amended := range []int{0, 100} {
			b.Run(fmt.Sprintf("batch=%d/amend=%d%%", size, amended), func(b *testing.B) {
				url := pgtest.Database(b)
				j := open(b, url)
				defer j.Close()
				rng := rand.New(rand.NewPCG(1, 2))
				n := 0
				heads := make([]uint64, 10_000)
				states := map[[2]uint64]uint64{}
				run := func(size, percent int) {
					batch, out := make([]im.Append, size), make([]im.Appended, size)
					for i := range batch {
						c := rng.IntN(len(heads))
						batch[i] = benchMessage(n, c)
						n++
						heads[c]++
						if rng.IntN(100) < percent && heads[c] > 1 {
							benchAmend(&batch[i], uint64(c), heads[c], heads[c]-1, states)
						}
					}
					if err := j.Append(b.Context(), batch, out); err != nil {
						b.Fatal(err)
					}
					for i := range out {
						if out[i].Status != im.Stored {
							b.Fatalf("%+v", out[i])
						}
					}
				}
				for range 100 {
					run(1024, 0)
				}
				before, begun, busy := n, time.Now(), cpu(b, j)
				for b.Loop() {
					run(size, amended)
				}
				count := float64(n - before)
				b.ReportMetric(float64(time.Since(begun).Microseconds())/count, "µs/message")
				b.ReportMetric(float64((cpu(b, j)-busy).Microseconds())/count, "server-µs/message")
				if amended == 0 {
					rows, err := pgtest.Collect[struct{ Bytes int64 }](b.Context(), url, "SELECT pg_total_relation_size('journal_entries')")
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(rows[0].Bytes)/float64(n), "B/message")
				}
			})
		}
	}
}

// BenchmarkPage reads the newest page of a conversation: of messages only, with one
// amendment of each, and of what two thousand amendments of two messages come to.
func BenchmarkPage(b *testing.B) {
	j := open(b, pgtest.Database(b))
	defer j.Close()
	states, n := map[[2]uint64]uint64{}, 0
	fill := func(c int, target func(seq uint64) uint64, count int) {
		for seq := uint64(1); seq <= uint64(count); {
			var batch []im.Append
			for ; len(batch) < 100; seq++ {
				n++
				batch = append(batch, benchMessage(n, c))
				if to := target(seq); to > 0 {
					benchAmend(&batch[len(batch)-1], uint64(c), seq, to, states)
				}
			}
			store(b, j, batch...)
		}
	}
	fill(1, func(uint64) uint64 { return 0 }, 2000)
	fill(2, func(seq uint64) uint64 { return (seq - 1) * ((seq + 1) % 2) }, 2000)
	fill(3, func(seq uint64) uint64 { return (seq%2 + 1) * min(seq/3, 1) }, 2000)
	for i, name := range []string{"messages", "amended", "amendments"} {
		b.Run(name, func(b *testing.B) {
			c := benchMessage(0, i+1).Entry.Conversation
			for b.Loop() {
				if p, err := j.Page(b.Context(), im.PageQuery{Conversation: c, From: 1, Until: 1 << 40, Backward: true, Limit: 50}); err != nil || len(p.Entries) == 0 {
					b.Fatal(p, err)
				}
			}
		})
	}
	b.Run("Read", func(b *testing.B) {
		c := benchMessage(0, 1).Entry.Conversation
		for b.Loop() {
			if es, err := j.Read(b.Context(), c, 0, true, 50); err != nil || len(es) != 50 {
				b.Fatal(len(es), err)
			}
		}
	})
}

// benchAmend makes an item a change of an entry before it.
func benchAmend(a *im.Append, c, seq, to uint64, states map[[2]uint64]uint64) {
	target := [2]uint64{c, to}
	a.Entry.Target, a.Entry.Kind = to, im.EntryEvent
	a.Amend = im.Amend{Change: true, If: states[target], Body: benchBody}
	states[target] = seq
}
