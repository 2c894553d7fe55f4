package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const reportColumns = "id, conversation, seq, author, reporter, reason, text, said, created_at, state, decided_by, decided_at, note"

func scanReport(row interface{ Scan(...any) error }) (r im.Report, err error) {
	var id []byte
	var created, decided int64
	err = row.Scan(&id, &r.Conversation, &r.Seq, &r.Author, &r.Reporter, &r.Reason, &r.Text, &r.Said, &created, &r.State, &r.DecidedBy, &decided, &r.Note)
	r.Created, r.Decided = timeOf(created), timeOf(decided)
	if err == nil && copy(r.ID[:], id) != len(r.ID) {
		err = fmt.Errorf("directory: a report has an id of %d bytes", len(id))
	}
	return r, err
}

// PutReport keeps a report, once of a reporter and a message (one of the server's own takes the
// place of what it reported of that message before, and is open again); rate_limited: the reporter has
// made most since a time, or the server, who is Reporter "", as many about the author.
func (d *DB) PutReport(ctx context.Context, r im.Report, since time.Time, most int) error {
	return d.tx(ctx, func(tx *writeTx) error {
		counted, of := "reporter = $1", r.Reporter
		if r.Reporter == "" {
			counted, of = "author = $1 AND reporter = ''", r.Author
		}
		if err := lockLiving(tx, of); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM reports WHERE "+counted+" AND created_at > $2", of, msOf(since)).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			e := im.Errorf(im.CodeRateLimited, "%d messages were reported within a day; that is as many as may be", n)
			e.RetryAfter = time.Hour
			return e
		}
		twice := "DO NOTHING"
		if r.Reporter == "" { // what is said by now is to be looked at anew
			twice = "(reporter, conversation, seq) DO UPDATE SET reason = excluded.reason, text = excluded.text, said = excluded.said, created_at = excluded.created_at, state = excluded.state, decided_by = '', decided_at = 0, note = ''"
		}
		_, err := tx.Exec("INSERT INTO reports ("+reportColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', 0, '') ON CONFLICT "+twice,
			r.ID[:], r.Conversation, int64(r.Seq), r.Author, r.Reporter, int64(r.Reason), r.Text, r.Said, msOf(r.Created), int64(im.ReportOpen))
		return err
	})
}

// Report returns a report; not_found: there is none.
func (d *DB) Report(ctx context.Context, id im.MessageID) (im.Report, error) {
	r, err := scanReport(d.queryRow(ctx, "SELECT "+reportColumns+" FROM reports WHERE id = $1", id[:]))
	if errors.Is(err, sql.ErrNoRows) {
		return r, im.Errorf(im.CodeNotFound, "no such report")
	}
	return r, d.failed("read a report", err)
}

// Reports returns reports, the newest first: see im.ReportQuery.
func (d *DB) Reports(ctx context.Context, q im.ReportQuery) ([]im.Report, error) {
	args, where := []any{q.Limit}, []string{"1 = 1"}
	is := func(cond string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(cond, len(args)))
	}
	if q.After != (im.MessageID{}) {
		is("id < $%d", q.After[:])
	}
	if q.State != 0 {
		is("state = $%d", int64(q.State))
	}
	if q.Author != "" {
		is("author = $%d", q.Author)
	}
	return list(ctx, d, func(r *sql.Rows) (im.Report, error) { return scanReport(r) },
		"SELECT "+reportColumns+" FROM reports WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT $1", args...)
}

// DecideReport notes what became of a report; not_found: there is none.
func (d *DB) DecideReport(ctx context.Context, id im.MessageID, state im.ReportState, by im.UserID, note string, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE reports SET state = $2, decided_by = $3, decided_at = $4, note = $5 WHERE id = $1", id[:], int64(state), by, msOf(at), note)
		if err == nil && n == 0 {
			return im.Errorf(im.CodeNotFound, "no such report")
		}
		return err
	})
}
