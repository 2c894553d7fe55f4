package nats

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/bustest"
)

// TestRouteIsToldWhenThePeerAnswers: a route alone is nothing; Lost comes when the
// peer has answered a question that this very route carried, and once.
func TestRouteIsToldWhenThePeerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := bustest.NewRecorder()
		inbox := bus.NewInbox(told, 0, 0)
		defer inbox.Close()
		r := newRoutes("A", inbox, slog.New(slog.DiscardHandler))
		var mu sync.Mutex // up and asked
		var up map[string]route
		var asked []string
		stand := func(r map[string]route) {
			mu.Lock()
			defer mu.Unlock()
			up = r
		}
		current := func() map[string]route {
			mu.Lock()
			defer mu.Unlock()
			return up
		}
		tell := func(subject string, data []byte) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, subject+" "+string(data))
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			r.watch(current, tell, stop)
		}()
		synctest.Wait() // the first look
		// step lets one look happen and checks what was asked and told.
		step := func(what string, wantAsked, wantTold []string) {
			t.Helper()
			told.Reset()
			time.Sleep(look)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(asked, wantAsked) || !slices.Equal(told.Losses(), wantTold) {
				t.Errorf("%s: asked %q and told %q, want %q and %q", what, asked, told.Losses(), wantAsked, wantTold)
			}
			asked = nil
		}
		answer := func(s string) {
			r.message(answerSubject+"A", []byte(s), tell)
			synctest.Wait()
		}
		step("nothing there", nil, nil)
		stand(map[string]route{"B": {7, "b-1"}})
		step("a route", []string{"$skein.ask.B A 7"}, nil)
		step("no answer yet", []string{"$skein.ask.B A 7"}, nil)
		answer("C 7")
		answer("B 6")
		step("answers of others", []string{"$skein.ask.B A 7"}, nil)
		answer("B 7")
		answer("B 7")
		if !slices.Equal(told.Losses(), []string{"route to b-1"}) {
			t.Errorf("told %q", told.Losses())
		}
		step("known", nil, nil)
		stand(map[string]route{"B": {8, "b-1"}})
		step("another route between two looks", []string{"$skein.ask.B A 8"}, []string{"route to b-1 lost"})
		answer("B 7")
		step("an old answer", []string{"$skein.ask.B A 8"}, nil)
		answer("B 8")
		stand(nil)
		step("gone", nil, []string{"route to b-1 lost"})
		answer("B 8")
		step("an answer from the grave", nil, nil)

		r.message(askSubject+"A", []byte("B 99"), tell)
		if !slices.Equal(asked, []string{"$skein.answer.B A 99"}) {
			t.Errorf("answered %q", asked)
		}
		close(stop)
		<-ended
	})
}
