package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/skein-im/skein/internal/bench"
	"github.com/skein-im/skein/internal/conformance"
)

// conform runs the command and reads its report.
func conform(t *testing.T, args ...string) (r *conformance.Report, stderr string, err error) {
	t.Helper()
	out, said, err := lab(t, nil, append([]string{"conformance", "--json"}, args...)...)
	r = &conformance.Report{}
	if jsonErr := json.Unmarshal([]byte(out), r); jsonErr != nil {
		t.Fatalf("%v: %v in %q, %s", args, jsonErr, out, said)
	}
	return r, said, err
}

func failures(r *conformance.Report) string {
	var b strings.Builder
	_ = r.Table(&b) // it never fails
	return b.String()
}

// serve starts the server as people do, and returns it with its admin key's file.
func serve(t *testing.T, set ...string) (url, tcp, keyFile string) {
	t.Helper()
	s, err := bench.StartServer(t.Context(), skein, io.Discard, append([]string{"accounts.dm_policy=contacts", "messaging.stream_store=30s"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	url, tcp, _ = s.Addresses()
	return url, tcp, filepath.Join(s.Data(), "keys", "admin.key")
}

// TestConformanceAll: Skein keeps everything, and nothing is left out.
func TestConformanceAll(t *testing.T) {
	t.Parallel()
	r, said, err := conform(t, "--all", "--skein", skein)
	if err != nil || r.Failed+r.LeftOut > 0 || r.Passed < 900 {
		t.Errorf("%v, %s\n%s", err, failures(r), said)
	}
}

// TestConformanceOfARunningServer: one that is tried as a stranger's is, and then
// again. What needs another configuration is left out, with the reason, and nothing
// else is.
func TestConformanceOfARunningServer(t *testing.T) {
	t.Parallel()
	url, tcp, key := serve(t)
	r, said, err := conform(t, "--server", url, "--tcp", tcp, "--key-file", key)
	if err != nil || r.Passed < 900 {
		t.Errorf("%v, %s\n%s", err, failures(r), said)
	}
	var left []string
	for _, x := range r.Results {
		if x.Status != conformance.LeftOut {
			continue
		}
		name, _, _ := strings.Cut(x.Case, "/")
		left = append(left, name)
		if x.Reason == "" {
			t.Errorf("%s was left out, and nobody says why", x.Case)
		}
	}
	want := []string{"connections", "connections_address", "drain", "kick_all", "kick_one", "order", "rate"}
	if got := slices.Compact(left); !slices.Equal(got, want) {
		t.Errorf("left out: %v, want %v\n%s", got, want, failures(r))
	}
	again, said, err := conform(t, "--server", url, "--tcp", tcp, "--key-file", key, "--run", "^(dedup|group|kick|promise_.*|mistakes_send)/")
	if err != nil || again.Failed+again.LeftOut > 0 || again.Passed < 100 {
		t.Errorf("again: %v, %s\n%s", err, failures(again), said)
	}
}

// TestConformanceWithoutAKey: users are registered; what needs a key, or a stream, is
// left out.
func TestConformanceWithoutAKey(t *testing.T) {
	t.Parallel()
	url, _, _ := serve(t)
	r, said, err := conform(t, "--server", url, "--run", "^(send|contacts|accounts|kick|revoke_admin|call)/(ws-json|tcp-pb)$")
	if err != nil || r.Passed != 5 || r.LeftOut != 7 {
		t.Errorf("%v, %s\n%s", err, failures(r), said)
	}
}

func TestConformanceCommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		"either --server URL or --all": {},
		"want http://host:port":        {"--server", "localhost"},
		"want host:port, tcp":          {"--server", "http://127.0.0.1:1", "--tcp", "udp://x"},
		"nobody knows what colour is":  {"--server", "http://127.0.0.1:1", "--has", "colour=red"},
		"missing closing":              {"--all", "--run", "("},
		"no user can be made there":    {"--server", "http://127.0.0.1:1"},
	} {
		if _, said, err := lab(t, nil, append([]string{"conformance"}, args...)...); err == nil || !strings.Contains(said, want) {
			t.Errorf("%v: %v, %q; want it to say %q", args, err, said, want)
		}
	}
	out, said, err := lab(t, nil, "conformance", "--list")
	if err != nil || !strings.Contains(out, "dedup\n\tSPEC 5.2") || !strings.Contains(out, "needs stop") {
		t.Errorf("%v, %s\n%s", err, out, said)
	}
}

// wrong makes a server wrong: it is told what the server says over a connection, and
// says what goes on to the client.
type wrong func(message string) []string

// TestConformanceFindsWhatIsWrong: a server that is wrong in one way fails where it
// should, with the section of SPEC that it breaks.
func TestConformanceFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	url, _, key := serve(t)
	replace := func(pairs ...string) func() wrong {
		return func() wrong {
			return func(m string) []string { return []string{strings.NewReplacer(pairs...).Replace(m)} }
		}
	}
	lose := func(prefix string) func() wrong {
		return func() wrong {
			return func(m string) []string {
				if strings.HasPrefix(m, prefix) {
					return nil
				}
				return []string{m}
			}
		}
	}
	for _, c := range []struct {
		name  string
		wrong func() wrong // one for each connection
		fails string       // a case
		spec  string       // the section it names
		got   string       // what came
		keeps string       // a case that has nothing to do with it
	}{
		{"nothing is wrong", replace("x", "x"), "", "", "", "send"},
		{"pushes are lost", lose(`{"push"`), "send", "§5.1, §5.5, §6.6", "nothing", "hello"},
		{"acks change places", swapAcks, "promise_pipeline", "§5.1", `{"sendAck"`, "hello"},
		{"a resend gets another seq", renumber, "dedup", "§5.2", `"seq":"9`, "pull"},
		{"what is not there is forbidden", replace(`"code":"not_found"`, `"code":"permission_denied"`, `"codeNumber":4802`, `"codeNumber":4801`), "send_refused", "§2, §5.6, §5.7", "permission_denied", "send"},
		{"codes have other numbers", replace(`"codeNumber":4800`, `"codeNumber":4400`), "mistakes_read/ws-json/pull cut off", "§1.7", "4400", "hello"},
		{"frames have white space", replace(`{"sendAck":`, `{ "sendAck":`), "send", "§5.1, §5.5, §6.6", "white space", "hello"},
		{"a push comes twice", func() wrong {
			return func(m string) []string {
				if strings.HasPrefix(m, `{"push"`) {
					return []string{m, m}
				}
				return []string{m}
			}
		}, "promise_exactly_once", "§6.7", `{"push"`, "pull"},
		{"Sends are not answered", lose(`{"sendAck"`), "send", "§5.1, §5.5, §6.6", "nothing", "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cases []string
			for _, name := range []string{c.fails, c.keeps} {
				if name != "" && !strings.Contains(name, "/") {
					name += "/ws-json$"
				}
				if name != "" {
					cases = append(cases, name)
				}
			}
			r, said, err := conform(t, "--server", proxy(t, url, c.wrong), "--key-file", key, "--timeout", "20s", "--run", "^("+strings.Join(cases, "|")+")")
			if c.fails == "" {
				if err != nil || r.Passed != 1 {
					t.Errorf("%v, %s\n%s", err, failures(r), said)
				}
				return
			}
			if err == nil || r.Failed != 1 || !strings.Contains(said, "1 of ") {
				t.Fatalf("%v, %s\n%s", err, failures(r), said)
			}
			for _, x := range r.Results {
				if x.Status != conformance.Failed {
					continue
				}
				f := x.Failure
				if !strings.HasPrefix(x.Case, c.fails) || f.Spec != c.spec || !strings.Contains(f.Got+f.Why, c.got) || f.Expected == "" {
					t.Errorf("want %s of %s, got %q\n%s", c.fails, c.spec, c.got, failures(r))
				}
			}
		})
	}
}

// swapAcks lets every second ack go before the one before it.
func swapAcks() wrong {
	held := ""
	return func(m string) []string {
		switch {
		case !strings.HasPrefix(m, `{"sendAck"`):
			return []string{m}
		case held == "":
			held = m
			return nil
		}
		first := held
		held = ""
		return []string{m, first}
	}
}

// renumber gives the second ack of a message another seq.
func renumber() wrong {
	seen := map[string]bool{}
	return func(m string) []string {
		_, rest, ok := strings.Cut(m, `{"sendAck":{"id":"`)
		if id, _, _ := strings.Cut(rest, `"`); ok && seen[id] {
			m = strings.Replace(m, `"seq":"`, `"seq":"9`, 1)
		} else if ok {
			seen[id] = true
		}
		return []string{m}
	}
}

// proxy stands before a server and changes what it says over WebSocket.
func proxy(t *testing.T, server string, make func() wrong) string {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	api := httputil.NewSingleHostReverseProxy(to)
	var busy sync.WaitGroup
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			api.ServeHTTP(w, r)
			return
		}
		busy.Add(1)
		defer busy.Done()
		between(w, r, "ws"+strings.TrimPrefix(server, "http")+"/ws", make())
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		busy.Wait()
	})
	return p.URL
}

// between carries a connection to the server and back, until either end closes it.
func between(w http.ResponseWriter, r *http.Request, server string, change wrong) {
	offered := strings.Split(r.Header.Get("Sec-WebSocket-Protocol"), ",")
	client, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: offered})
	if err != nil {
		return
	}
	defer client.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	back, _, err := websocket.Dial(ctx, server, &websocket.DialOptions{Subprotocols: offered})
	if err != nil {
		return
	}
	defer back.CloseNow()
	client.SetReadLimit(-1)
	back.SetReadLimit(-1)
	go func() {
		defer cancel()
		_ = carry(ctx, client, back, func(m string) []string { return []string{m} }) // how it ended is the client's own
	}()
	err = carry(ctx, back, client, change)
	var end websocket.CloseError
	if errors.As(err, &end) {
		_ = client.Close(end.Code, end.Reason) // it may have gone
	}
}

func carry(ctx context.Context, from, to *websocket.Conn, change wrong) error {
	for {
		kind, m, err := from.Read(ctx)
		if err != nil {
			return err
		}
		out := [][]byte{m}
		if kind == websocket.MessageText {
			out = nil
			for _, text := range change(string(m)) {
				out = append(out, []byte(text))
			}
		}
		for _, b := range out {
			if err := to.Write(ctx, kind, bytes.Clone(b)); err != nil {
				return err
			}
		}
	}
}
