package remote

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A gateway without a database hears from heartbeats that the journal went back:
// once, whatever nodes say that have not noticed yet, and never for a server that
// only began anew.
func TestPastHearsOfAHistoryThatWentBack(t *testing.T) {
	var p past
	era := func(begins ...uint64) (es im.Eras) {
		for i, b := range begins {
			es = append(es, im.Era{ID: uint64(i + 1), Begin: b})
		}
		return es
	}
	other := append(era(0), im.Era{ID: 9, Begin: 50})
	for n, tt := range []struct {
		beat
		back bool
	}{
		{beat{ready: false, timeline: "t", position: 500, eras: era(0)}, false},
		{beat{ready: true}, false},
		{beat{ready: true, timeline: "t", position: 100, eras: era(0)}, false},
		{beat{ready: true, timeline: "t", position: 90, eras: era(0)}, false}, // another node, a little behind
		{beat{ready: true, timeline: "t", position: 100, eras: era(0, 100)}, false},
		{beat{ready: true, timeline: "t", position: 100, eras: era(0)}, false}, // has not noticed yet
		{beat{ready: true, timeline: "t", position: 120, eras: era(0, 100)}, false},
		{beat{ready: true, timeline: "t", position: 150, eras: era(0, 100, 130, 130)}, false}, // two starts at once
		{beat{ready: true, timeline: "t", position: 60, eras: other}, true},
		{beat{ready: true, timeline: "t", position: 150, eras: era(0, 100, 130, 130)}, false},
		{beat{ready: true, timeline: "t", position: 70, eras: other}, false},
		{beat{ready: true, timeline: "u", position: 70, eras: append(other, im.Era{ID: 10, Begin: 70})}, true},
		{beat{ready: true, timeline: "u", position: 70, eras: append(other, im.Era{ID: 10, Begin: 70})}, false},
	} {
		if back := p.heard(&tt.beat); back != tt.back {
			t.Errorf("heartbeat %d %+v: went back %v", n, tt.beat, back)
		}
	}
}
