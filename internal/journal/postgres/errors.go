package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/im"
)

// errClosed answers calls after Close.
var errClosed = errors.New("journal: closed")

// SettingError is why a connection is refused: with this setting an
// acknowledged message could be lost, or the database cannot be used.
type SettingError struct{ Name, Have, Want string }

func (e *SettingError) Error() string {
	return fmt.Sprintf("journal: the database has %s = %q, want %s", e.Name, e.Have, e.Want)
}

// What the database's errors are called, as far as they are told apart.
const (
	codeNotAdopted   = "SK001"
	codeUnknownHead  = "SK002"
	codeAmendsNone   = "SK003"
	codeLockTimeout  = "55P03"
	codeDiskFull     = "53100"
	codeUnique       = "23505"
	codeNotNull      = "23502"
	codeDeadlock     = "40P01"
	codeSerializable = "40001"
	codeTooLarge     = "54000"
	codeNoNumber     = "2200H" // there are as many conversations as one database can have
	classData        = "22"
)

// Something to do about a failed call of the function.
type reaction int

const (
	giveUp    reaction = iota
	runAgain           // an id was stored before, or the server undid the batch
	lookAgain          // a head that was known is not there
	adopt              // the server began anew
)

// refusal is an error of the database after which nothing was stored and the
// same may succeed at once. The caller sees it as unavailability.
type refusal struct {
	code  string
	cause error
}

func (e *refusal) Error() string   { return fmt.Sprintf("%v: %v", im.ErrJournalUnavailable, e.cause) }
func (e *refusal) Unwrap() []error { return []error{im.ErrJournalUnavailable, e.cause} }

func meaning(err error) reaction {
	var r *refusal
	if !errors.As(err, &r) {
		return giveUp
	}
	switch r.code {
	case codeUnique, codeDeadlock, codeSerializable:
		return runAgain
	case codeUnknownHead:
		return lookAgain
	case codeNotAdopted:
		return adopt
	}
	return giveUp
}

// outcome says what became of a batch whose call failed. answered tells that the
// function had returned.
func (j *Journal) outcome(err error, answered bool) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if pgconn.SafeToRetry(err) {
			return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
		}
		return fmt.Errorf("%w: %w", im.ErrOutcomeUnknown, err)
	}
	// The server commits after the function's answer, and tells it in another
	// message: when it ends the connection between them, it may have committed. An
	// error instead of that message means that it did not.
	if answered && pg.SeverityUnlocalized != "ERROR" {
		return fmt.Errorf("%w: %w", im.ErrOutcomeUnknown, err)
	}
	switch {
	case pg.Code == codeDiskFull:
		return fmt.Errorf("%w: %w", im.ErrJournalFull, err)
	case pg.Code == codeNoNumber: // nothing is wrong with the batch
	case pg.Code == codeAmendsNone || pg.Code == codeTooLarge || len(pg.Code) == 5 && pg.Code[:2] == classData:
		return fmt.Errorf("%w: %w", im.ErrAppendInvalid, err)
	}
	return &refusal{code: pg.Code, cause: err}
}

// unreachable is the error of a database that could not be reached, or of a ctx
// that was done before.
func unreachable(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
}
