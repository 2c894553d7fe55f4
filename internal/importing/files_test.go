package importing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFetch: files are fetched from Slack alone, with the token, which goes nowhere else.
func TestFetch(t *testing.T) {
	var asked []string
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/ok":
			fmt.Fprint(w, "content")
		case "/cdn":
			http.Redirect(w, r, "https://a.slack-edge.com/ok", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "https://evil.example/ok", http.StatusFound)
		case "/login":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "log in")
		case "/long":
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 2000))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	client := srv.Client()
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig.InsecureSkipVerify = true // whoever is asked, this one answers
	transport.DialContext = dialTo(srv.Listener.Addr().String())
	f := &Fetcher{Token: "xoxp-secret", Spool: t.TempDir(), Client: client}
	for address, want := range map[string]string{
		"https://files.slack.com/ok": "content", "https://files.slack.com/cdn": "content", "https://files.slack.com/out": "!leads elsewhere", "https://files.slack.com/login": "!log in",
		"https://files.slack.com/long": "!larger", "https://files.slack.com/none": "!404", "http://files.slack.com/ok": "!none of Slack's", "https://evil.example/ok": "!none of Slack's",
		"https://slack.com.evil.example/ok": "!none of Slack's", "https://files.slack.com@evil.example/ok": "!none of Slack's", "https://files.slack.com:8443/ok": "!none of Slack's", "file:///etc/passwd": "!none of Slack's",
	} {
		r, n, err := f.get(t.Context(), address, 1000)
		if wrong, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %v, want %q", address, err, wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got, err := io.ReadAll(r); string(got) != want || n != int64(len(want)) || err != nil {
			t.Errorf("%s: %q, %v", address, got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, a := range asked {
		if strings.HasPrefix(a, "evil") || strings.Contains(a, "slack-edge") && strings.Contains(a, "xoxp") || strings.HasPrefix(a, "files.slack.com") && !strings.Contains(a, "Bearer xoxp-secret") {
			t.Errorf("asked: %s", a)
		}
	}
	if left := must(os.ReadDir(f.Spool))(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	own := &Fetcher{Token: "t", Spool: t.TempDir()}
	if _, _, err := own.get(t.Context(), "https://localhost.slack.com.localhost/x", 10); err == nil {
		t.Error("an address that is not Slack's was asked")
	}
}

// slackAnswers is a client for which a handler is all of Slack's hosts.
func slackAnswers(t testing.TB, h http.HandlerFunc) *http.Client {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	client := srv.Client()
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig.InsecureSkipVerify = true
	transport.DialContext = dialTo(srv.Listener.Addr().String())
	return client
}

// faults answers each path with what can go wrong, and counts in tries.
func faults(tries map[string]int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tries[r.URL.Path]++
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/long":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/once":
			if tries[r.URL.Path] == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			fmt.Fprint(w, "content")
		case "/down":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/token":
			w.WriteHeader(http.StatusUnauthorized)
		case "/moved.html":
			http.Redirect(w, r, "https://x.slack.com/?redir=moved", http.StatusFound)
		case "/page.html", "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "content")
		case "/odd":
			w.Header().Set("Location", "https://files.slack.com/%zz?t=xoxe-secret")
			w.WriteHeader(http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "content")
		case "/none":
			panic(http.ErrAbortHandler)
		}
	}
}

// TestFetchStops: what may be there later stops the import, after a few tries where that may help,
// and is not left out. No words about it have the address, whose secret lets one fetch the file.
func TestFetchStops(t *testing.T) {
	tries := map[string]int{}
	client := slackAnswers(t, faults(tries))
	for path, want := range map[string]struct {
		stops, leaves string
		tries         int
		waits         []time.Duration
	}{
		"/busy":       {stops: "answers 429", tries: 4, waits: []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}},
		"/long":       {stops: "answers 429", tries: 1},
		"/once":       {tries: 2, waits: []time.Duration{2 * time.Second}},
		"/down":       {stops: "answers 503", tries: 4, waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		"/token":      {stops: "SKEIN_IMPORT_TOKEN", tries: 1},
		"/moved.html": {stops: "SKEIN_IMPORT_TOKEN", tries: 1},
		"/page.html":  {tries: 1},
		"/odd":        {stops: "cannot be read", tries: 4, waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		"/gone":       {leaves: "(410)", tries: 1},
		"/forbidden":  {leaves: "(403)", tries: 1},
		"/broken":     {stops: "the connection broke", tries: 4, waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		"/none":       {stops: "the connection broke", tries: -1, waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
	} {
		var waits []time.Duration
		f := &Fetcher{Token: "xoxp-secret", Spool: t.TempDir(), Client: client, wait: func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			return nil
		}}
		r, _, err := f.get(t.Context(), "https://files.slack.com"+path+"?t=xoxe-secret", 1000)
		var stop *stopError
		var left *leftError
		switch {
		case err == nil:
			r.Close()
			if want.stops+want.leaves != "" {
				t.Errorf("%s: it was fetched", path)
			}
		case want.stops != "" && (!errors.As(err, &stop) || !strings.Contains(err.Error(), want.stops)), want.leaves != "" && (!errors.As(err, &left) || !strings.Contains(err.Error(), want.leaves)), want.stops+want.leaves == "":
			t.Errorf("%s: %T %v, want %+v", path, err, err, want)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s tells the secret: %v", path, err)
		}
		if !slices.Equal(waits, want.waits) || want.tries >= 0 && tries[path] != want.tries {
			t.Errorf("%s: %d tries, waits %v, want %+v", path, tries[path], waits, want)
		}
		if left := must(os.ReadDir(f.Spool))(t); len(left) > 0 {
			t.Errorf("%s left behind: %v", path, left)
		}
	}
}

// TestFetchLater: a run that stops at a file goes on with the next one and has lost none; a file
// that is not given away is left out each time, and is not said to be there.
func TestFetchLater(t *testing.T) {
	s := newStore(t)
	up := false
	asked := map[string]int{}
	client := slackAnswers(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch {
		case r.URL.Path == "/no":
			http.NotFound(w, r)
		case r.URL.Path == "/two" && !up:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, "content of "+r.URL.Path)
		}
	})
	file := func(id string) string {
		return fmt.Sprintf(`{"id":"F%s","name":"%s.bin","url_private_download":"https://files.slack.com/%s?t=xoxe-secret"}`, id, id, id)
	}
	dir := files(t, map[string]string{
		"users.json":    `[{"id":"U1","name":"anna"}]`,
		"channels.json": `[{"id":"C1","name":"general","created":1600000000,"members":["U1"]}]`,
		"general/1.json": `[{"type":"message","user":"U1","ts":"1600000001.000000","text":"a","files":[` + file("one") + `]},
			{"type":"message","user":"U1","ts":"1600000002.000000","text":"b","files":[` + file("no") + `,` + file("two") + `]}]`,
	})
	o := Options{System: "slack", Path: dir, Spool: s.dir, Fetch: &Fetcher{Spool: s.dir, Client: client, wait: func(context.Context, time.Duration) error { return nil }}}
	r, err := Run(t.Context(), o, s.Target)
	if err == nil || !strings.Contains(err.Error(), "the message of general/1.json:2: a file could not be fetched") || strings.Contains(fmt.Sprint(err, r), "xoxe") {
		t.Fatalf("%v, %+v", err, r)
	}
	if r.Written.Messages != 1 || r.Written.Files != 1 {
		t.Errorf("before it stopped: %+v", r.Written)
	}
	up = true
	if r = s.run(t, o); r.Written.Messages != 1 || r.Written.Files != 1 || r.Already.Files != 1 || r.Left("file") != 1 || asked["/one"] != 1 {
		t.Errorf("it goes on: %+v, asked %v", r, asked)
	}
	r = s.run(t, o)
	if r.Written != (Things{}) || r.Already.Messages != 2 || r.Already.Files != 2 || r.LeftOut["file: its message is here without it"] != 1 || asked["/two"] != fetchTries+1 {
		t.Errorf("again: %+v, asked %v", r, asked)
	}
}
