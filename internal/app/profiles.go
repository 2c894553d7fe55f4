package app

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync"
)

// What is sampled of locks and waits while somebody asks: one contended lock in mutexOneIn,
// and waits of blockNanos on average.
const (
	mutexOneIn = 5
	blockNanos = 10_000
	// sampleSeconds is for how long, unless ?seconds says otherwise; mostSeconds at most.
	sampleSeconds = 10
	mostSeconds   = 120
)

// sampling serves profiles that cost something while they are taken: they are switched on
// for one request, and off when it ends. One at a time, as the switches are the process's.
type sampling struct{ turn sync.Mutex }

func (s *sampling) handler(profile string, set func(on bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n, err := strconv.Atoi(q.Get("seconds"))
		if !q.Has("seconds") {
			n, err = sampleSeconds, nil
		}
		if err != nil || n < 1 || n > mostSeconds {
			http.Error(w, "seconds must be from 1 to "+strconv.Itoa(mostSeconds), http.StatusBadRequest)
			return
		}
		if !s.turn.TryLock() {
			http.Error(w, "another profile of locks or waits is being taken", http.StatusConflict)
			return
		}
		defer s.turn.Unlock()
		set(true)
		defer set(false)
		q.Set("seconds", strconv.Itoa(n))
		r.URL.RawQuery = q.Encode()
		pprof.Handler(profile).ServeHTTP(w, r) // what was sampled in that time
	}
}

func (s *sampling) register(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/mutex", s.handler("mutex", func(on bool) {
		if on {
			runtime.SetMutexProfileFraction(mutexOneIn)
			return
		}
		runtime.SetMutexProfileFraction(0)
	}))
	mux.HandleFunc("/debug/pprof/block", s.handler("block", func(on bool) {
		if on {
			runtime.SetBlockProfileRate(blockNanos)
			return
		}
		runtime.SetBlockProfileRate(0)
	}))
}
