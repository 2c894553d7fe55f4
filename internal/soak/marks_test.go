package soak

import (
	"fmt"
	"testing"
	"time"
)

// A mark that nobody answered for may be lost by a crash soon after, and by none
// later (SPEC §6.3).
func TestAMarkThatACrashMayTake(t *testing.T) {
	for after, want := range map[time.Duration][]Invariant{
		time.Second:     nil,
		3 * time.Second: {MarkLost},
	} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			s := opening()
			s.rec("ann/2", Record{Kind: ReadSet, Conversation: dm, Seq: 2})
			run := s.end()
			for _, h := range run.Histories {
				for i := range h {
					if h[i].Kind == ReadSet {
						run.Crashes = append(run.Crashes, h[i].Mono+int64(after))
					}
				}
			}
			expectBroken(t, Check(run), want)
		})
	}
}
