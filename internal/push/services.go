package push

import (
	"errors"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
)

const (
	// mostSilent is how many wait at a time for a push service that did not answer lately;
	// silentTime is how long that is known. Without it one that cannot be reached from here
	// keeps all places of parallel, and the devices of the others are woken minutes late.
	mostSilent = 8
	silentTime = 10 * time.Second
)

// errSilent: enough others find out whether the push service answers again.
var errSilent = errors.New("push: the push service did not answer lately, and others wait for it")

// services knows how many wait for which push service.
type services struct {
	mu    sync.Mutex
	known cache.Cache[string, *asked]
}

// asked is a push service.
type asked struct {
	waiting int
	silent  time.Time // until when it is taken for silent
}

// enter notes that a push service is about to be asked. nil: it is not to be.
func (s *services) enter(host string, now time.Time) *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.known.Get(host)
	if !ok {
		a = &asked{}
		s.known.Put(host, a)
	}
	if a.waiting >= mostSilent && a.silent.After(now) {
		return nil
	}
	a.waiting++
	return a
}

// leave notes how that ended. Any answer shows that it is there.
func (s *services) leave(a *asked, now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.waiting--
	var answer *answerError
	if err == nil || errors.As(err, &answer) {
		a.silent = time.Time{}
		return
	}
	a.silent = now.Add(silentTime)
}
