package pebble

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/journaltest"
	"github.com/skein-im/skein/internal/journal/split"
)

// byOdd puts names that differ in their last letter into different shards.
func byOdd(slot uint16) im.Shard { return 1 + 4*im.Shard(slot%2) }

// shardStore is two stores behind one journal. A copy that is put back is one of
// those that putBack names.
func shardStore(t testing.TB, putBack ...int) journaltest.Store {
	stores := []journaltest.Store{crashStore(t), crashStore(t)}
	each := func(which []int, do func(journaltest.Store) func(testing.TB)) func(testing.TB) {
		return func(t testing.TB) {
			t.Helper()
			for _, i := range which {
				do(stores[i])(t)
			}
		}
	}
	return journaltest.Store{
		Open: func(t testing.TB) im.Journal {
			t.Helper()
			var shards []split.Shard
			for i, s := range stores {
				shards = append(shards, split.Shard{Number: 1 + 4*im.Shard(i), Engine: s.Open(t).(*Journal)})
			}
			j, err := split.New(shards, byOdd)
			if err != nil {
				t.Fatal(err)
			}
			return j
		},
		Crash:        each([]int{0, 1}, func(s journaltest.Store) func(testing.TB) { return s.Crash }),
		Save:         each(putBack, func(s journaltest.Store) func(testing.TB) { return s.Save }),
		PutBack:      each(putBack, func(s journaltest.Store) func(testing.TB) { return s.PutBack }),
		SavesRunning: true,
	}
}

// TestConformanceOfShards: two stores behind one journal are as good as one.
func TestConformanceOfShards(t *testing.T) {
	journaltest.Run(t, journaltest.Harness{Shards: true, New: func(t testing.TB) journaltest.Store { return shardStore(t, 0, 1) }})
}

// TestHistoryOfOneShard: one of the two is put back, and the other goes on.
func TestHistoryOfOneShard(t *testing.T) {
	journaltest.RunHistory(t, journaltest.Harness{Shards: true, New: func(t testing.TB) journaltest.Store {
		return shardStore(t, int(im.SlotOf("grp:h")%2)) // where the suite stores
	}})
}
