package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
)

// errClosed answers calls after Close.
var errClosed = errors.New("journal: closed")

// SettingError is why a connection is refused: with this setting an
// acknowledged message could be lost, or the database cannot be used.
type SettingError struct{ Name, Have, Want string }

func (e *SettingError) Error() string {
	return fmt.Sprintf("journal: the database has %s = %q, want %s", e.Name, e.Have, e.Want)
}

// What our own functions answer when they do nothing.
const (
	codeNotAdopted  = "SK001"
	codeUnknownHead = "SK002"
	codeAmendsNone  = "SK003"
)

// classData is the class of codes that blame the data.
const classData = "22"

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
	case pg.UniqueViolation, pg.DeadlockDetected, pg.SerializationFailure:
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
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		if pgconn.SafeToRetry(err) {
			return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
		}
		return fmt.Errorf("%w: %w", im.ErrOutcomeUnknown, err)
	}
	// The server commits after the function's answer, and tells it in another
	// message: when it ends the connection between them, it may have committed. An
	// error instead of that message means that it did not.
	if answered && answer.SeverityUnlocalized != "ERROR" {
		return fmt.Errorf("%w: %w", im.ErrOutcomeUnknown, err)
	}
	switch {
	case answer.Code == pg.DiskFull:
		return fmt.Errorf("%w: %w", im.ErrJournalFull, err)
	case answer.Code == pg.SequenceFull: // nothing is wrong with the batch
	case answer.Code == codeAmendsNone || answer.Code == pg.TooLarge || len(answer.Code) == 5 && answer.Code[:2] == classData:
		return fmt.Errorf("%w: %w", im.ErrAppendInvalid, err)
	case pg.Damaged(answer.Code):
		return fmt.Errorf("%w: %w", im.ErrJournalDamaged, err)
	}
	return &refusal{code: answer.Code, cause: err}
}

// unreachable is the error of a database that could not be reached, or of a ctx
// that was done before.
func unreachable(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
}
