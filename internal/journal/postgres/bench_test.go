package postgres

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// BenchmarkRequest is what this process does for a batch besides waiting.
func BenchmarkRequest(b *testing.B) {
	const size = 1024
	rng := rand.New(rand.NewPCG(1, 2))
	batch := make([]im.Append, size)
	for i := range batch {
		c := rng.IntN(10_000)
		u := im.UserID(fmt.Sprintf("u%012x", c*7919))
		batch[i] = im.Append{Entry: im.Entry{
			Conversation: im.DM(u, im.UserID(fmt.Sprintf("u%012x", c*104729))), Sender: u, Kind: im.EntryMessage,
			ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(i)), [10]byte{byte(i), byte(i >> 8)}), Body: make([]byte, 160),
		}}
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
