package directory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const actColumns = "id, at, kind, action, actor, role, target, address, device, session, code, detail, times"

func scanAct(r *sql.Rows) (a im.Act, err error) {
	var id []byte
	var at int64
	err = r.Scan(&id, &at, &a.Kind, &a.Action, &a.By, &a.Role, &a.Target, &a.Address, &a.Device, &a.Session, &a.Code, &a.Detail, &a.Times)
	a.At = timeOf(at)
	if err == nil && copy(a.ID[:], id) != len(a.ID) {
		err = fmt.Errorf("directory: a line of the audit log has an id of %d bytes", len(id))
	}
	return a, err
}

// PutActs writes lines of the audit log; one that is there stays as it is.
func (d *DB) PutActs(ctx context.Context, acts []im.Act) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for i := range acts {
			if err := putAct(tx, &acts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func putAct(tx *writeTx, a *im.Act) error {
	if a == nil {
		return nil
	}
	_, err := tx.Exec("INSERT INTO audit_log ("+actColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING",
		a.ID[:], msOf(a.At), int64(a.Kind), a.Action, a.By, int64(a.Role), a.Target, a.Address, a.Device, a.Session, a.Code, a.Detail, max(a.Times, 1))
	return err
}

// FinishAct notes what came of an act, and to whom or what it was done, if that was not
// known before.
func (d *DB) FinishAct(ctx context.Context, id im.MessageID, code im.Code, target string) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE audit_log SET code = $2, target = CASE WHEN target = '' THEN $3 ELSE target END WHERE id = $1", id[:], code, target)
		return err
	})
}

// EndAct notes what came of an act, and says anew what it was about: of one that knew only at
// its end what it did.
func (d *DB) EndAct(ctx context.Context, id im.MessageID, code im.Code, detail string) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE audit_log SET code = $2, detail = $3 WHERE id = $1", id[:], code, detail)
		return err
	})
}

// Acts returns lines of the audit log: see im.ActQuery.
func (d *DB) Acts(ctx context.Context, q im.ActQuery) ([]im.Act, error) {
	args, where := []any{q.Limit}, []string{"1 = 1"}
	is := func(cond string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(cond, len(args)))
	}
	order, behind := "DESC", "id < $%d"
	if q.OldestFirst {
		order, behind = "ASC", "id > $%d"
	}
	if q.After != (im.MessageID{}) {
		is(behind, q.After[:])
	}
	if !q.From.IsZero() {
		from := im.NewMessageID(q.From, [10]byte{})
		is("id >= $%d", from[:])
	}
	if !q.Until.IsZero() {
		until := im.NewMessageID(q.Until, [10]byte{})
		is("id < $%d", until[:])
	}
	if q.Kind != 0 {
		is("kind = $%d", int64(q.Kind))
	}
	if q.By != nil {
		is("actor = $%d", *q.By)
	}
	if q.Target != "" {
		is("target = $%d", q.Target)
	}
	if q.Action != "" {
		is("action = $%d", q.Action)
	}
	if q.Failed {
		where = append(where, "code <> ''")
	}
	return list(ctx, d, scanAct, "SELECT "+actColumns+" FROM audit_log WHERE "+strings.Join(where, " AND ")+" ORDER BY id "+order+" LIMIT $1", args...)
}

// PurgeActs removes at most limit lines of a kind from before a time, and returns how many.
func (d *DB) PurgeActs(ctx context.Context, kind im.ActKind, before time.Time, limit int) (n int, err error) {
	first := im.NewMessageID(before, [10]byte{})
	err = d.tx(ctx, func(tx *writeTx) error {
		n, err = tx.Exec("DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE kind = $1 AND id < $2 ORDER BY id LIMIT $3)", int64(kind), first[:], limit)
		return err
	})
	return n, err
}
