package postgres

import (
	"context"
	"errors"
	"fmt"
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
	first, end, err := bounds(ctx, db, q)
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

// bounds are the ids that come into question: first ≤ id < end.
func bounds(ctx context.Context, db asker, q *search.Find) (first, end int64, err error) {
	end = math.MaxInt64
	if q.Below != (search.Place{}) {
		err = db.QueryRow(ctx, "SELECT docs.id FROM conversations c JOIN docs ON docs.conversation = c.id AND docs.seq = $1 WHERE c.name = $2", int64(q.Below.Seq), string(q.Below.Conversation)).Scan(&end)
		if errors.Is(err, pgx.ErrNoRows) {
			end, err = firstID(ctx, db, "pos", int64(q.Below.Pos)+1)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if !q.From.IsZero() {
		if first, err = firstID(ctx, db, "stored", q.From.Add(-clocks).UnixMilli()); err != nil {
			return 0, 0, err
		}
	}
	if !q.To.IsZero() {
		before, err := firstID(ctx, db, "stored", q.To.Add(clocks).UnixMilli())
		if err != nil {
			return 0, 0, err
		}
		end = min(end, before)
	}
	return first, end, nil
}

// firstID is the first id whose column, which grows with the ids, has a value or a greater
// one; one behind the last if none has.
func firstID(ctx context.Context, db asker, column string, value int64) (int64, error) {
	var low, high int64
	if err := db.QueryRow(ctx, "SELECT coalesce(max(id), 0) + 1 FROM docs").Scan(&high); err != nil {
		return 0, err
	}
	query := fmt.Sprintf("SELECT id, %s FROM docs WHERE id >= $1 ORDER BY id LIMIT 1", column)
	for low < high {
		mid := low + (high-low)/2
		var id, has int64
		err := db.QueryRow(ctx, query, mid).Scan(&id, &has)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			high = mid
		case err != nil:
			return 0, err
		case has >= value:
			high = mid
		default:
			low = id + 1
		}
	}
	return low, nil
}
