// Package doctor looks for what is wrong with what a server stands on: its
// store, its machine, the other nodes. It needs no running server, and a running
// one does not notice it.
//
// It knows the settings, and how a database is looked at; an embedded store it
// reads as a start does before it opens anything for writing.
//
// Goroutines: none. Locks: none.
//
// Invariants:
//   - nothing is changed but a file of its own in the data directory, removed at
//     once, and records in the database's log that mean nothing;
//   - whatever cannot be found out is a finding, not the end;
//   - no finding shows a secret.
package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/config"
)

// Level is how bad something is.
type Level string

// The levels. Bad is what loses messages, keeps a server from starting, or soon
// will; Warn is what may hurt.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Finding is one thing that was looked at.
type Finding struct {
	Level Level `json:"level"`
	// What was looked at, what was found, and what to do about it, if anything.
	What   string `json:"what"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// Report is all that was found.
type Report struct {
	// Store is what was looked at, Durability what acknowledged messages survive
	// there: D0 a process's crash, D1 power loss, D2 loss of the machine; empty when
	// that could not be found out.
	Store      string    `json:"store"`
	Durability string    `json:"durability,omitempty"`
	Findings   []Finding `json:"findings"`
}

// Options say what to look at. The zero value of all but Config is good.
type Options struct {
	Config config.Config
	// AdminKey is the admin key's file, Migrated the one that is there when the
	// embedded store was copied away; both within the data directory.
	AdminKey, Migrated string
	// CheckKey tells what is wrong with what is in the admin key's file, path; nil: it is not
	// looked at.
	CheckKey func(path string, raw []byte) error
	// Check is what a server asks of its settings before it starts. Default Config.Check.
	Check func(*config.Config) error
	// Certificates tells of those that the settings name. Default: nothing.
	Certificates func(*config.Config, time.Time) []Finding
	// Media makes what tells whether a blob is kept, fs.ErrNotExist if not; nil where none is
	// looked for. Default: nothing is looked for.
	Media func(*config.Config) func(blob string) error
	// Timeout bounds one attempt to reach something. Default 3 s.
	Timeout time.Duration
	// Now is for measuring. Default time.Now.
	Now func() time.Time
}

// examiner gathers findings.
type examiner struct {
	o Options
	c *config.Config
	r Report
}

// Examine looks at everything the configuration names.
func Examine(ctx context.Context, o Options) Report {
	if o.Check == nil {
		o.Check = (*config.Config).Check
	}
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &examiner{o: o, c: &o.Config}
	e.configuration()
	if o.Certificates != nil {
		e.r.Findings = append(e.r.Findings, o.Certificates(e.c, o.Now())...)
	}
	e.directory()
	switch {
	case !o.Config.Is(config.RoleLogic):
		e.r.Store = "none (this node keeps nothing)"
	case o.Config.Store == "":
		e.embedded()
		e.stores(ctx)
	default:
		e.database(ctx)
	}
	e.machine()
	e.cluster(ctx)
	return e.r
}

func (e *examiner) add(level Level, what, found, advice string) {
	e.r.Findings = append(e.r.Findings, Finding{level, what, found, advice})
}

// judge adds a finding whose advice is for those that are not good.
func (e *examiner) judge(level Level, what, found, advice string) {
	if level == OK {
		advice = ""
	}
	e.add(level, what, found, advice)
}

func (e *examiner) configuration() {
	if err := e.o.Check(e.c); err != nil {
		e.add(Bad, "settings", strings.ReplaceAll(err.Error(), "\n", "; "), "a server refuses to start with them: see `skein config doc`")
		return
	}
	e.add(OK, "settings", "nothing wrong", "")
}

// Count is how many findings have a level.
func (r *Report) Count(l Level) (n int) {
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// Print writes a page, the worst first.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Store: %s\n", r.Store)
	if r.Durability != "" {
		fmt.Fprintf(&b, "Acknowledged messages survive: %s\n", r.Durability)
	}
	b.WriteByte('\n')
	rank := []Level{Bad, Warn, OK}
	sorted := slices.Clone(r.Findings)
	slices.SortStableFunc(sorted, func(x, y Finding) int { return slices.Index(rank, x.Level) - slices.Index(rank, y.Level) })
	for _, f := range sorted {
		fmt.Fprintf(&b, "%-5s %-26s %s\n", f.Level, f.What, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&b, "%32s → %s\n", "", f.Advice)
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warnings, %d bad\n", r.Count(OK), r.Count(Warn), r.Count(Bad))
	_, err := io.WriteString(w, b.String())
	return err
}

// size is a number of bytes for people.
func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f := float64(n)
	for f >= 1024 && len(units) > 1 {
		f /= 1024
		units = units[1:]
	}
	return fmt.Sprintf("%.4g %s", f, units[0])
}

func (e *examiner) dial(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err
}
