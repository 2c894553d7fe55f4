package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/token"
)

// clocks is how far the order of messages and their times may differ: several nodes with
// a clock each may store them.
const clocks = 10 * time.Minute

// Find proposes messages.
func (x *Index) Find(ctx context.Context, q search.Find) ([]search.Hit, error) {
	_, read, err := x.open(ctx)
	if err != nil {
		return nil, err
	}
	hits, err := find(ctx, read, &q)
	if err != nil {
		return nil, classify(err)
	}
	return hits, nil
}

func find(ctx context.Context, db *sql.DB, q *search.Find) ([]search.Hit, error) {
	names, err := numbered(ctx, db, q.Conversations)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	first, end, err := bounds(ctx, db, names, q)
	if err != nil || first >= end {
		return nil, err
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !q.From.IsZero() {
		from = q.From.UnixMilli()
	}
	if !q.To.IsZero() {
		to = q.To.UnixMilli()
	}
	rows, err := db.QueryContext(ctx, `SELECT docs.id, docs.conversation, docs.seq, docs.pos FROM words CROSS JOIN docs ON docs.id = words.rowid
		WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ? AND docs.stored >= ? AND docs.stored < ? ORDER BY words.rowid DESC LIMIT ?`,
		expression(names, q), first, end, from, to, q.Limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var hits []search.Hit
	for rows.Next() {
		var n, seq, pos int64
		var h search.Hit
		if err := rows.Scan(&h.Order, &n, &seq, &pos); err != nil {
			return nil, err
		}
		h.Conversation, h.Seq, h.Pos = names[n], uint64(seq), uint64(pos)
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// numbered returns the numbers of those conversations that have any, with their names.
func numbered(ctx context.Context, db *sql.DB, cs []im.ConversationID) (map[int64]im.ConversationID, error) {
	args := make([]any, len(cs))
	for i, c := range cs {
		args[i] = string(c)
	}
	if len(args) == 0 {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, "SELECT id, name FROM conversations WHERE name IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[int64]im.ConversationID{}
	for rows.Next() {
		var n int64
		var name string
		if err := rows.Scan(&n, &name); err != nil {
			return nil, err
		}
		names[n] = im.ConversationID(name)
	}
	return names, rows.Err()
}

// expression is what FTS5 is asked for: of one of the conversations, all terms and one of
// any.
func expression(names map[int64]im.ConversationID, q *search.Find) string {
	var b strings.Builder
	for n := range names {
		if b.Len() > 0 {
			b.WriteString(" OR ")
		}
		b.WriteByte('(')
		of, and := prefix(n), ""
		for _, t := range q.Terms {
			b.WriteString(and + phrase(of, t))
			and = " AND "
		}
		for i, t := range q.Any {
			if i == 0 {
				b.WriteString(and + "(")
			} else {
				b.WriteString(" OR ")
			}
			b.WriteString(phrase(of, token.Term{Text: t}))
			if i == len(q.Any)-1 {
				b.WriteByte(')')
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

// phrase is a token as FTS5 takes it.
func phrase(of string, t token.Term) string {
	s := `"` + of + strings.ReplaceAll(t.Text, `"`, ``) + `"`
	if t.Prefix {
		s += " *"
	}
	return s
}

// bounds are the ids that come into question: first ≤ id < end. Times bound them where one
// conversation is asked about: in it they do not go back, but for clocks. Between several
// they go back by years, where those were imported one after the other.
func bounds(ctx context.Context, db *sql.DB, names map[int64]im.ConversationID, q *search.Find) (first, end int64, err error) {
	end = math.MaxInt64
	if q.Below != (search.Place{}) {
		err = db.QueryRowContext(ctx, "SELECT docs.id FROM conversations JOIN docs ON docs.conversation = conversations.id AND docs.seq = ? WHERE name = ?", int64(q.Below.Seq), string(q.Below.Conversation)).Scan(&end)
		if errors.Is(err, sql.ErrNoRows) {
			end, err = firstID(ctx, db, int64(q.Below.Pos)+1)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if len(names) != 1 {
		return 0, end, nil
	}
	for number := range names {
		if !q.From.IsZero() {
			if first, err = since(ctx, db, number, q.From.Add(-clocks)); err != nil {
				return 0, 0, err
			}
		}
		if !q.To.IsZero() {
			before, err := since(ctx, db, number, q.To.Add(clocks))
			if err != nil {
				return 0, 0, err
			}
			end = min(end, before)
		}
	}
	return first, end, nil
}

// since is the id of the first message of a conversation that was stored at a time or later;
// one behind all if none was.
func since(ctx context.Context, db *sql.DB, number int64, at time.Time) (int64, error) {
	id, end := int64(math.MaxInt64), int64(0)
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) + 1 FROM docs WHERE conversation = ?", number).Scan(&end); err != nil {
		return 0, err
	}
	_, err := search.Halves(end, func(from int64) (seq int64, enough, there bool, err error) {
		var found, stored int64
		err = db.QueryRowContext(ctx, "SELECT id, seq, stored FROM docs WHERE conversation = ? AND seq >= ? ORDER BY seq LIMIT 1", number, from).Scan(&found, &seq, &stored)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, false, false, nil
		}
		if enough = stored >= at.UnixMilli(); enough && err == nil {
			id = found
		}
		return seq, enough, true, err
	})
	return id, err
}

// firstID is the first id whose position, which grows with the ids, is a value or a greater
// one; one behind the last if none is.
func firstID(ctx context.Context, db *sql.DB, pos int64) (int64, error) {
	var end int64
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) + 1 FROM docs").Scan(&end); err != nil {
		return 0, err
	}
	return search.Halves(end, func(from int64) (id int64, enough, there bool, err error) {
		var has int64
		err = db.QueryRowContext(ctx, "SELECT id, pos FROM docs WHERE id >= ? ORDER BY id LIMIT 1", from).Scan(&id, &has)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, false, false, nil
		}
		return id, has >= pos, true, err
	})
}
