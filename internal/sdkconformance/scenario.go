package sdkconformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Scenario is one file of sdk/conformance/scenarios.
type Scenario struct {
	Schema string `json:"$schema"`
	// Name is the file's name without its ending.
	Name string `json:"-"`
	// About says in words what is held to.
	About string `json:"about"`
	// Spec are the sections of proto/SPEC.md that say so.
	Spec []string `json:"spec"`
	// Conversation is meant where a step names none.
	Conversation string `json:"conversation"`
	// Start are parameters of the driver's start command, beside the usual ones.
	Start map[string]any `json:"start"`
	Steps []Step         `json:"steps"`
}

// Step is one line of a scenario: exactly one of its actions, which are described in
// sdk/conformance/README.md, and what goes with it.
type Step struct {
	// The server's side.
	Connect   *Connect            `json:"connect"`
	Expect    map[string]any      `json:"expect"`
	ExpectAll []map[string]any    `json:"expect_all"`
	Send      []map[string]any    `json:"send"`
	Raw       map[string]any      `json:"raw"`
	Cut       bool                `json:"cut"`
	Close     int                 `json:"close"`
	Closed    bool                `json:"closed"`
	Mute      bool                `json:"mute"`
	Marks     map[string]any      `json:"marks"`
	Quiet     int                 `json:"quiet_ms"`
	Serve     map[string][]Answer `json:"serve_sends"`
	Stored    []string            `json:"stored"`
	Seen      map[string]any      `json:"seen"`
	// The application's side.
	Do      map[string]map[string]any `json:"do"`
	Reply   string                    `json:"reply"`
	Restart string                    `json:"restart"`
	Events  []map[string]any          `json:"events"`
	Passing map[string]any            `json:"passing"`
	View    map[string]any            `json:"view"`
	Outbox  *[]any                    `json:"outbox"`
	List    []any                     `json:"list"`
	Status  map[string]any            `json:"status"`

	// What goes with one of these.
	As       string         `json:"as"`            // do: the name of the reply's id
	Later    string         `json:"later"`         // do: the reply is awaited by a step "reply" of this name
	Fails    string         `json:"fails"`         // do, reply: with this code
	Gives    map[string]any `json:"gives"`         // reply: like this
	Start    map[string]any `json:"start"`         // restart: other parameters
	Within   int            `json:"within_ms"`     // connect, expect: no later after the last cut
	Earliest int            `json:"not_before_ms"` // connect, expect: no sooner after the last cut or send
	Note     string         `json:"note"`
}

// Connect is a connection that the client makes, and how it is greeted.
type Connect struct {
	// Hello and Sync are what it says; a Sync may come in the Hello or after the Welcome.
	Hello map[string]any `json:"hello"`
	Sync  map[string]any `json:"sync"`
	// Welcome and Delta are the answers, completed; absent ones are not given.
	Welcome map[string]any `json:"welcome"`
	Delta   map[string]any `json:"delta"`
}

// Answer is what becomes of a Send that is served.
type Answer struct {
	// Code refuses it, with RetryAfter.
	Code       string `json:"code"`
	RetryAfter int    `json:"retry_after_ms"`
	// Stored: it is stored although Code says otherwise. Push: its entry is pushed to the sender.
	Stored bool `json:"stored"`
	Push   bool `json:"push"`
	// Silent: nothing is answered. Cut: the connection is cut after this.
	Silent bool `json:"silent"`
	Cut    bool `json:"cut"`
}

// Load reads the scenarios of a directory whose names match.
func Load(from fs.FS, match *regexp.Regexp) ([]*Scenario, error) {
	names, err := fs.Glob(from, "*.json")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".json")
		if match != nil && !match.MatchString(name) {
			continue
		}
		data, err := fs.ReadFile(from, file)
		if err != nil {
			return nil, err
		}
		s, err := Parse(name, data)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Parse reads a scenario and refuses what it does not know: a misspelled word must not
// make a step that holds to nothing.
func Parse(name string, data []byte) (*Scenario, error) {
	s := &Scenario{Name: name}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	if s.Conversation == "" {
		s.Conversation = "dm:alice:bob"
	}
	if s.About == "" || len(s.Spec) == 0 || len(s.Steps) == 0 {
		return nil, fmt.Errorf("scenario %s: about, spec and steps are needed", name)
	}
	for i := range s.Steps {
		if n := len(s.Steps[i].actions()); n != 1 {
			return nil, fmt.Errorf("scenario %s: step %d has %d actions, want 1", name, i+1, n)
		}
		if err := s.Steps[i].check(); err != nil {
			return nil, fmt.Errorf("scenario %s: step %d: %w", name, i+1, err)
		}
	}
	return s, nil
}

// actions are the names of what a step does.
func (st *Step) actions() []string {
	var out []string
	for _, a := range []struct {
		is   bool
		name string
	}{
		{st.Connect != nil, "connect"}, {st.Expect != nil, "expect"}, {st.ExpectAll != nil, "expect_all"}, {st.Send != nil, "send"},
		{st.Raw != nil, "raw"}, {st.Cut, "cut"}, {st.Close != 0, "close"}, {st.Closed, "closed"}, {st.Mute, "mute"}, {st.Marks != nil, "marks"},
		{st.Quiet != 0, "quiet_ms"}, {st.Serve != nil, "serve_sends"}, {st.Stored != nil, "stored"}, {st.Seen != nil, "seen"},
		{st.Do != nil, "do"}, {st.Reply != "", "reply"}, {st.Restart != "", "restart"}, {st.Events != nil, "events"},
		{st.Passing != nil, "passing"}, {st.View != nil, "view"}, {st.Outbox != nil, "outbox"}, {st.List != nil, "list"}, {st.Status != nil, "status"},
	} {
		if a.is {
			out = append(out, a.name)
		}
	}
	return out
}

func (st *Step) check() error {
	one := func(n int) error {
		if n != 1 {
			return fmt.Errorf("%d names in one, want 1", n)
		}
		return nil
	}
	switch {
	case st.Expect != nil:
		return one(len(st.Expect))
	case st.Seen != nil:
		return one(len(st.Seen))
	case st.Do != nil:
		return one(len(st.Do))
	case st.Restart != "" && st.Restart != "kill" && st.Restart != "stop":
		return errors.New(`restart is "kill" or "stop"`)
	}
	for _, f := range append(st.ExpectAll, st.Send...) {
		if err := one(len(f)); err != nil {
			return err
		}
	}
	return nil
}
