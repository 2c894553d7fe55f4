package logs

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// written is where the timers of a logger may write as well.
type written struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *written) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.buf.String(), what)
}

// A thousand lines of one kind are some twenty and their number; others, and other
// addresses, are not held up by them.
func TestRepeatedLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		log := New(&out, Options{})
		for range 1000 {
			log.Warn("sign-in failed", "address", "192.0.2.1")
		}
		if n := out.count("sign-in failed"); n != Burst {
			t.Errorf("%d lines at once, want %d", n, Burst)
		}
		log.Warn("sign-in failed", "address", "192.0.2.2")
		log.With("address", "192.0.2.3").Error("sign-in failed")
		log.Warn("another")
		if a, b, c := out.count("192.0.2.2"), out.count("192.0.2.3"), out.count("another"); a != 1 || b != 1 || c != 1 {
			t.Errorf("others: %d, %d, %d", a, b, c)
		}
		time.Sleep(Every)
		log.Warn("sign-in failed", "address", "192.0.2.1")
		log.Warn("sign-in failed", "address", "192.0.2.1")
		if n := out.count(`"192.0.2.1"`); n != Burst+1 {
			t.Errorf("%d lines after a while, want %d", n, Burst+1)
		}
		time.Sleep(tellAfter)
		synctest.Wait()
		if n := out.count(`"of":"sign-in failed","address":"192.0.2.1","lines":981`); n != 1 {
			t.Errorf("what was left out is not told:\n%s", &out.buf)
		}
		time.Sleep(2 * tellAfter)
		if n := out.count(LeftOut); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// However many addresses there are, the lines of one message are bounded.
func TestLinesOfManyAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		log := New(&out, Options{Text: true})
		for i := range 3 * maxKinds {
			log.Warn("sign-in failed", "address", fmt.Sprint("host", i))
		}
		if n := out.count("\n"); n != AllBurst {
			t.Errorf("%d lines, want %d", n, AllBurst)
		}
		log.Warn("another", "address", "host1")
		if out.count("another") != 1 {
			t.Error("another message is held up")
		}
		time.Sleep(2 * tellAfter)
	})
}

// What is no warning is not bounded, and the level changes while the logger is in use.
// How long something took is told in words that people read, also in JSON.
func TestDurations(t *testing.T) {
	for _, text := range []bool{false, true} {
		var out written
		New(&out, Options{Text: text}).With("took", 1500*time.Millisecond).Info("a snapshot was made", slog.Group("of", "after", 2*time.Second))
		for _, want := range []string{"1.5s", "2s"} {
			if out.count(want) != 1 {
				t.Errorf("text %t: no %s in %s", text, want, out.buf.String())
			}
		}
	}
}

func TestLevel(t *testing.T) {
	var out written
	var level slog.LevelVar
	log := New(&out, Options{Level: &level, Text: true})
	for range 1000 {
		log.Info("ready")
		log.Debug("detail")
	}
	if n := out.count("\n"); n != 1000 {
		t.Errorf("%d lines", n)
	}
	level.Set(slog.LevelDebug)
	log.WithGroup("g").Debug("detail", "k", 1)
	if out.count("g.k=1") != 1 {
		t.Error("the level did not change")
	}
}
