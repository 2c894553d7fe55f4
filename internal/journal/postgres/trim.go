package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/skein-im/skein/internal/im"
)

// trimStep is how many entries one step of a trim empties: appends to the conversation
// wait meanwhile.
const trimStep = 1000

// trimAttempts is how often a step is run that the database undid for what others did.
const trimAttempts = 3

var _ im.Trims = (*Journal)(nil)

// Trim empties the entries of a span. A step is one call of a function, and so one
// transaction.
func (j *Journal) Trim(ctx context.Context, s im.Span) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(s.Conversation) == 0 || len(s.Conversation) > maxName {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	j.renewPositions()
	until := min(s.Until, math.MaxInt64)
	for after := s.After; after < until; after += trimStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := after + min(trimStep, until-after)
		last, err := j.trim(ctx, s.Conversation, after, to)
		for attempt := 1; meaning(err) == runAgain && attempt < trimAttempts; attempt++ {
			last, err = j.trim(ctx, s.Conversation, after, to)
		}
		if err != nil {
			return j.damage(s.Conversation, err)
		}
		if last <= to {
			break
		}
	}
	return nil
}

// trim does one step, and returns the conversation's last seq.
func (j *Journal) trim(ctx context.Context, c im.ConversationID, after, until uint64) (last uint64, err error) {
	conn, err := j.acquire(ctx, j.writers)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	answer, done := context.WithTimeout(context.Background(), answerTimeout)
	defer done()
	if err := ensure(answer, conn.Conn().PgConn(), stmtTrim); err != nil {
		return 0, reading(err)
	}
	// Like an append, it is not cancelled on its way.
	rows := conn.Conn().PgConn().ExecPrepared(answer, stmtTrim, [][]byte{slotParam(c), []byte(c), int8Param(after), int8Param(until)}, binaryFormat, binaryFormat)
	answered := false
	for rows.NextRow() {
		answered, last = true, int8Of(rows.Values()[0])
	}
	if _, err := rows.Close(); err != nil {
		if err = j.outcome(err, answered); timedOutOnLock(err) {
			j.metrics.lockWaits.Inc()
		}
		return 0, err
	}
	if !answered {
		return 0, fmt.Errorf("%w: the database gave no answer", im.ErrOutcomeUnknown)
	}
	return last, nil
}
