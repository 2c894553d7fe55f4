package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/sdkconformance"
	"github.com/skein-im/skein/sdk/conformance"
)

// A client that does something wrong does not pass. Each of these is the right driver
// with one fault: of the client, as the runner sees it, or of the driver itself.
func TestWrongDrivers(t *testing.T) {
	for _, c := range []struct {
		fault, scenario string
		outcome         sdkconformance.Outcome
		reason          string
	}{
		{"tells messages twice", "duplicates_once", sdkconformance.Failed, `event 2 is .*"seq":2.*seq is 2, want 3`},
		{"tells messages twice", "gap_pulled", sdkconformance.Failed, `event 2 is .*"seq":3.*seq is 3, want 4`},
		{"tells the last message twice", "push_then_ack", sdkconformance.Failed, `the application was told more`},
		{"keeps nothing", "resume_position", sdkconformance.Failed, `the Hello's sync: .*want`},
		{"keeps nothing", "restart_keeps_outbox", sdkconformance.Failed, `waited .*want 2 of`},
		{"keeps nothing", "thread_kept", sdkconformance.Failed, `the Hello's sync: .*want`},
		{"miscounts", "read_and_unread", sdkconformance.Failed, `unread is 5, want 4`},
		{"reads nothing", "read_and_unread", sdkconformance.Failed, `read is 1, want 3`},
		{"reconnects always", "kick_replaced", sdkconformance.Failed, `is "connecting", want "stopped"|the client connects`},
		{"has a token of its own", "connect_cold", sdkconformance.Failed, `token is "stolen", want "token-1"`},
		{"never waits", "retry_after_of_the_end", sdkconformance.Failed, `the client connects after .*at the earliest`},
		{"does not reply", "connect_cold", sdkconformance.Failed, `waited .* for the driver's reply to start`},
		{"writes what is no JSON", "connect_cold", sdkconformance.Failed, `no JSON object: "hello"`},
		{"ends", "connect_cold", sdkconformance.Failed, `the driver ended`},
		{"has no key of the application's", "call_key_of_the_application", sdkconformance.Failed, `idempotencyKey is .*, want "tea-`},
		{"knows no history", "history_backward", sdkconformance.Unsupported, `does not support it: history`},
	} {
		t.Run(c.fault+" "+c.scenario, func(t *testing.T) {
			t.Parallel()
			all, err := sdkconformance.Load(conformance.Scenarios(), regexp.MustCompile("^"+c.scenario+"$"))
			if err != nil || len(all) != 1 {
				t.Fatalf("%d scenarios, %v", len(all), err)
			}
			o := options(t, c.fault)
			o.Patience = 3 * time.Second // what is to come comes at once, the rest never
			r := sdkconformance.Play(t.Context(), all[0], o)
			if r.Outcome != c.outcome || !regexp.MustCompile(c.reason).MatchString(r.Reason) {
				t.Errorf("%s: %s, want %s: %s", r.Outcome, r.Reason, c.outcome, c.reason)
			}
		})
	}
}

// wrong serves with a fault.
func wrong(fault string, in io.Reader, out io.Writer) error {
	commands, w := io.Pipe()
	f := &faulty{name: fault, out: out, in: w}
	go func() {
		defer w.Close()
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := f.command(lines.Bytes()); line != nil {
				_, _ = w.Write(append(line, '\n')) // until serve ends
			}
		}
	}()
	return serve(commands, f)
}

type faulty struct {
	name string
	mu   sync.Mutex // around out, for faults that write by themselves
	out  io.Writer
	in   io.Writer // to the driver, for faults that do something by themselves
}

func (f *faulty) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintln(f.out, text)
}

// command is a line for the driver, nil: it does not get it.
func (f *faulty) command(line []byte) []byte {
	var c map[string]any
	if json.Unmarshal(line, &c) != nil {
		return line
	}
	set := func(key string, value any) []byte {
		c[key] = value
		b, _ := json.Marshal(c) // it was JSON
		return b
	}
	do := c["do"]
	switch {
	case f.name == "keeps nothing" && do == "start":
		dir, err := os.MkdirTemp(c["store"].(string), "")
		if err != nil {
			return nil
		}
		return set("store", dir)
	case f.name == "has a token of its own" && do == "start":
		return set("token", "stolen")
	case f.name == "reads nothing" && do == "read", f.name == "knows no history" && do == "history":
		reply := map[string]any{"id": c["id"]}
		if do == "history" {
			reply["error"] = map[string]any{"code": "unsupported"}
		}
		b, _ := json.Marshal(reply) // plain values
		f.say(string(b))
		return nil
	case f.name == "has no key of the application's" && do == "call":
		return set("key", "")
	case f.name == "does not reply":
		return nil
	case f.name == "writes what is no JSON":
		f.say("hello")
	case f.name == "ends":
		return []byte("}")
	}
	return line
}

// Write takes a line of the driver's.
func (f *faulty) Write(line []byte) (int, error) {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	text := strings.TrimSpace(string(line))
	if d.Decode(&m) != nil {
		return len(line), nil
	}
	switch event := m["event"]; {
	case f.name == "tells messages twice" && event == "message", f.name == "tells the last message twice" && event == "sent":
		f.say(text)
	case f.name == "reconnects always" && m["state"] == "stopped" && event == "state", f.name == "never waits" && m["state"] == "disconnected" && event == "state":
		go fmt.Fprintln(f.in, `{"id":1000000,"do":"reconnect"}`)
	case f.name == "miscounts" && m["unread"] != nil:
		text = regexp.MustCompile(`"unread":(\d+)`).ReplaceAllStringFunc(text, func(s string) string {
			var n int
			_, _ = fmt.Sscanf(s, `"unread":%d`, &n) // it matched
			return fmt.Sprintf(`"unread":%d`, n+1)
		})
	}
	f.say(text)
	return len(line), nil
}
