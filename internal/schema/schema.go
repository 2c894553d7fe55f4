// Package schema is the rule by which programs of neighbouring versions use one
// store: side by side while nodes are exchanged, or one after the other when an
// exchange is taken back.
//
// A store says two numbers of itself: Version, how far its schema has come, and
// Least, the least version that a program must know to use it. Steps lead from
// version to version, and there are two kinds. One that expands adds what
// programs of before do not see, or need not keep: it leaves Least as it is, they
// go on, and may be started again. One that contracts takes away, or changes,
// what they rely on: Least becomes its version, and they are refused.
//
// A start takes the steps up to the last one that expands. A contracting step at
// the end waits for an operator (`skein migrate --contract`), who decides by it
// that there is no way back; a program works with and without it. A later version
// that expands further takes it on its way. Where several processes use the store,
// no contracting step is taken while one of them knows less than it needs.
package schema

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Range is what a store says of itself.
type Range struct {
	Version int `json:"version"`
	Least   int `json:"least"`
}

// Kind is what a step does to programs of before.
type Kind int

// The kinds of steps.
const (
	Expand Kind = iota
	Contract
)

// Steps are a program's, from the first version on: the program knows as many
// versions as there are steps.
type Steps []Kind

// Known is the newest version that the program knows.
func (s Steps) Known() int { return len(s) }

// Start is the version that a start takes a store to.
func (s Steps) Start() int {
	n := len(s)
	for n > 0 && s[n-1] == Contract {
		n--
	}
	return n
}

// Waiting is how many contracting steps wait for an operator in a store.
func (s Steps) Waiting(r Range) int { return max(s.Known()-max(r.Version, s.Start()), 0) }

// Check refuses a store to a program that knows too little. store names it, as in
// "journal: the database".
func (s Steps) Check(store string, r Range) error { return Check(store, r, s.Known()) }

// Check is Steps.Check for a program that knows the versions up to known.
func Check(store string, r Range, known int) error {
	if known < r.Least {
		return &NewerError{Store: store, Have: r, Known: known}
	}
	return nil
}

// Beyond tells operators that a newer program extended the store, "" if that is
// not so.
func (s Steps) Beyond(store string, r Range) string {
	if r.Version <= s.Known() {
		return ""
	}
	return fmt.Sprintf("%s was extended by a newer version of skein (schema %d, this version knows %d): this one goes on; bring it to the newer version soon", store, r.Version, s.Known())
}

// NewerError is why a program is refused a store: a newer one changed it.
type NewerError struct {
	Store string
	Have  Range
	Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer version of skein, in a way that this version does not understand (schema %d, which needs a version that knows %d; this one knows %d): "+
		"run the newer version, or restore a backup made before the upgrade", e.Store, e.Have.Version, e.Have.Least, e.Known)
}

// InUseError is why a contracting step is not taken: a program that knows less
// than it needs uses the store.
type InUseError struct {
	Store string
	Step  int // the version it leads to
	Known int // what that program knows
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by a process that knows schema %d only: it would be shut out by schema %d. Replace the old version on every node first; nothing was changed", e.Store, e.Known, e.Step)
}

// For so long, and so often, Outlast takes a step again.
const (
	ended      = 3 * time.Second
	endedEvery = 50 * time.Millisecond
)

// Outlast takes a step, and again for a moment where somebody uses the store: the
// connections of a program that has just ended last a little longer than the program.
func Outlast(ctx context.Context, take func() error) error {
	for end := time.Now().Add(ended); ; {
		err := take()
		var inUse *InUseError
		if !errors.As(err, &inUse) || !time.Now().Before(end) {
			return err
		}
		t := time.NewTimer(endedEvery)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}
