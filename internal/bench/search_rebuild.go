package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skein-im/skein/wire"
)

// SearchRebuild is an index that was taken away and is made anew while messages are sent
// and searches are made.
type SearchRebuild struct {
	Rate float64 `json:"rate"`
	// Seconds until the index has all that was stored when it was taken away.
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"messages_per_s"`
	// Acks at the rate, with an index that is there and meanwhile.
	Before   Latency `json:"before_ms"`
	During   Latency `json:"during_ms"`
	P50Ratio float64 `json:"p50_ratio"`
	P99Ratio float64 `json:"p99_ratio"`
	// Searches that were made meanwhile, those that were answered, and those of them whose
	// answer said that something may be missing.
	Asked      int `json:"asked"`
	Answered   int `json:"answered"`
	Incomplete int `json:"incomplete"`
}

// indexFiles are those of the embedded index.
var indexFiles = []string{"-wal", "-shm", ""}

// takeAway takes the embedded index away while the server runs, and waits until that is
// noticed.
func (s *searches) takeAway(ctx context.Context) error {
	s.o.progress("the index is taken away, and made anew")
	path := filepath.Join(s.s.data, "search.db")
	for _, suffix := range indexFiles {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		have, err := s.s.gauge("skein_search_documents")
		if err != nil {
			return err
		}
		if have >= 0 && have < float64(s.x.Messages) {
			return nil
		}
		if err := s.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the index that was taken away is not missed")
}

// rebuild measures how fast an index is made anew, and its size.
func (s *searches) rebuild(ctx context.Context) error {
	if err := s.takeAway(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := s.indexed(ctx, s.x.Messages); err != nil {
		return err
	}
	s.x.RebuildSeconds = time.Since(began).Seconds()
	s.x.RebuildPerSecond = float64(s.x.Messages) / s.x.RebuildSeconds
	for _, suffix := range indexFiles {
		if st, err := os.Stat(filepath.Join(s.s.data, "search.db"+suffix)); err == nil && suffix != "-shm" {
			s.x.IndexBytes += st.Size()
		}
	}
	s.x.BytesPerMessage = float64(s.x.IndexBytes) / float64(s.x.Messages)
	return nil
}

// rebuildBeside has it made anew under messages of o.Rate, and asks it meanwhile.
// rebuildBound is how long an index may take that is made anew beside messages.
const rebuildBound = 20 * time.Minute

func (s *searches) rebuildBeside(ctx context.Context, users []userPlan) error {
	x := &SearchRebuild{Rate: s.o.Rate}
	s.x.Beside = x
	before, after, err := s.phase(ctx, "messages, and the index follows", s.o.Rate, s.o.Warmup, s.o.Duration)
	if err != nil {
		return err
	}
	x.Before = between(before, after)
	if err := s.takeAway(ctx); err != nil {
		return err
	}
	began := time.Now()
	for {
		have, err := s.s.gauge("skein_search_documents")
		if err != nil {
			return err
		}
		if have >= float64(s.x.Messages) {
			break
		}
		if time.Since(began) > rebuildBound {
			return fmt.Errorf("an index that was taken away has %.0f of %d messages after %v beside %g messages a second", have, s.x.Messages, rebuildBound, s.o.Rate)
		}
		x.Asked++
		var resp wire.SearchMessagesResponse
		if _, err := s.s.timed(ctx, users[x.Asked%len(users)].Token, "MessageService/SearchMessages", &wire.SearchMessagesRequest{Query: "the", Limit: 20}, &resp); err == nil {
			x.Answered++
			if !resp.Complete {
				x.Incomplete++
			}
		}
		if err := s.wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	x.Seconds = time.Since(began).Seconds()
	x.PerSecond = float64(s.x.Messages) / x.Seconds
	meanwhile, err := s.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	x.During = between(after, meanwhile)
	if x.Before.P50 > 0 { // JSON has no other numbers
		x.P50Ratio, x.P99Ratio = x.During.P50/x.Before.P50, x.During.P99/x.Before.P99
	}
	if err := s.offer(ctx, 0.001, time.Second); err != nil {
		return err
	}
	s.o.progress("the index catches up")
	n, err := s.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	return s.indexed(ctx, n.Acked)
}
