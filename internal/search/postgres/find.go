package postgres

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/token"
)

// clocks is how far the order of messages and their times may differ: several nodes with
// a clock each store them.
const clocks = 10 * time.Minute

// Find proposes messages.
func (x *Index) Find(ctx context.Context, q search.Find) (hits []search.Hit, err error) {
	err = x.use(ctx, func(pool *pgxpool.Pool) error {
		hits, err = find(ctx, pool, &q)
		return err
	})
	return hits, err
}

func find(ctx context.Context, db asker, q *search.Find) ([]search.Hit, error) {
	asked := make([]string, len(q.Conversations))
	for i, c := range q.Conversations {
		asked[i] = string(c)
	}
	numbers, err := numbersOf(ctx, db, asked)
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	names := make(map[int64]im.ConversationID, len(numbers))
	for name, n := range numbers {
		names[n] = name
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
	// What has the tokens is found first, and sorted then: never by going through all that
	// is newer.
	rows, err := db.Query(ctx, `WITH found AS MATERIALIZED (
		SELECT id, conversation, seq, pos FROM docs WHERE tokens @@ $1::text::tsquery AND id >= $2 AND id < $3 AND stored >= $4 AND stored < $5
	) SELECT id, conversation, seq, pos FROM found ORDER BY id DESC LIMIT $6`, expression(names, q), first, end, from, to, q.Limit)
	if err != nil {
		return nil, err
	}
	var hits []search.Hit
	var id, n, seq, pos int64
	_, err = pgx.ForEachRow(rows, []any{&id, &n, &seq, &pos}, func() error {
		hits = append(hits, search.Hit{Conversation: names[n], Seq: uint64(seq), Pos: uint64(pos), Order: id})
		return nil
	})
	return hits, err
}

// expression is what the tokens are asked for: of one of the conversations, all terms and
// one of any.
func expression(names map[int64]im.ConversationID, q *search.Find) string {
	var all []string
	for n := range names {
		of := prefix(n)
		var parts []string
		for _, t := range q.Terms {
			parts = append(parts, phrase(of, t))
		}
		if len(q.Any) > 0 {
			var any []string
			for _, t := range q.Any {
				any = append(any, phrase(of, token.Term{Text: t}))
			}
			parts = append(parts, "("+strings.Join(any, "|")+")")
		}
		all = append(all, "("+strings.Join(parts, "&")+")")
	}
	slices.Sort(all)
	return strings.Join(all, "|")
}

var unquote = strings.NewReplacer("'", "", `\`, "")

// phrase is a token as a tsquery has it.
func phrase(of string, t token.Term) string {
	s := "'" + of + unquote.Replace(t.Text) + "'"
	if t.Prefix {
		s += ":*"
	}
	return s
}

// bounds are the ids that come into question: first ≤ id < end. Times bound them where one
// conversation is asked about: in it they do not go back, but for clocks. Between several
// they go back by years, where those were imported one after the other.
func bounds(ctx context.Context, db asker, names map[int64]im.ConversationID, q *search.Find) (first, end int64, err error) {
	end = math.MaxInt64
	if q.Below != (search.Place{}) {
		err = db.QueryRow(ctx, "SELECT docs.id FROM conversations c JOIN docs ON docs.conversation = c.id AND docs.seq = $1 WHERE c.name = $2", int64(q.Below.Seq), string(q.Below.Conversation)).Scan(&end)
		if errors.Is(err, pgx.ErrNoRows) {
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
func since(ctx context.Context, db asker, number int64, at time.Time) (int64, error) {
	id, end := int64(math.MaxInt64), int64(0)
	if err := db.QueryRow(ctx, "SELECT coalesce(max(seq), 0) + 1 FROM docs WHERE conversation = $1", number).Scan(&end); err != nil {
		return 0, err
	}
	_, err := search.Halves(end, func(from int64) (seq int64, enough, there bool, err error) {
		var found, stored int64
		err = db.QueryRow(ctx, "SELECT id, seq, stored FROM docs WHERE conversation = $1 AND seq >= $2 ORDER BY seq LIMIT 1", number, from).Scan(&found, &seq, &stored)
		if errors.Is(err, pgx.ErrNoRows) {
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
func firstID(ctx context.Context, db asker, pos int64) (int64, error) {
	var end int64
	if err := db.QueryRow(ctx, "SELECT coalesce(max(id), 0) + 1 FROM docs").Scan(&end); err != nil {
		return 0, err
	}
	return search.Halves(end, func(from int64) (id int64, enough, there bool, err error) {
		var has int64
		err = db.QueryRow(ctx, "SELECT id, pos FROM docs WHERE id >= $1 ORDER BY id LIMIT 1", from).Scan(&id, &has)
		if errors.Is(err, pgx.ErrNoRows) {
			return 0, false, false, nil
		}
		return id, has >= pos, true, err
	})
}
