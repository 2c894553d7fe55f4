package app

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Locks and waits are sampled while somebody asks for that, and not before or after.
func TestProfilesOnDemand(t *testing.T) {
	mux := http.NewServeMux()
	new(sampling).register(mux)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	var mu sync.Mutex
	for range 4 {
		busy.Go(func() { // they wait for each other
			for {
				select {
				case <-stop:
					return
				default:
					mu.Lock()
					runtime.Gosched()
					mu.Unlock()
				}
			}
		})
	}
	for _, profile := range []string{"mutex", "block"} {
		code, body := get("/debug/pprof/" + profile + "?seconds=1")
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %d, %v", profile, code, err)
		}
		raw, err := io.ReadAll(z)
		if code != http.StatusOK || err != nil || !strings.Contains(string(raw), "TestProfilesOnDemand") {
			t.Errorf("%s: %d, %v, %d bytes without who waits", profile, code, err, len(raw))
		}
	}
	close(stop)
	busy.Wait()
	if n := runtime.SetMutexProfileFraction(-1); n != 0 {
		t.Errorf("locks are still sampled, one in %d", n)
	}
	for _, wrong := range []string{"0", "x", "1000", ""} {
		if code, _ := get("/debug/pprof/mutex?seconds=" + wrong); code != http.StatusBadRequest {
			t.Errorf("seconds=%s: %d", wrong, code)
		}
	}
}
