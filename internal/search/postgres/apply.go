package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
)

// prefix is what begins the tokens of a conversation: its number, after a letter that says
// how long it is, so that none is the beginning of another.
func prefix(number int64) string {
	digits := strconv.FormatInt(number, 36)
	return string(rune('a'+len(digits))) + digits
}

// written are messages, by column.
type written struct {
	conversations, seqs, poses, stored []int64
	tokens                             []string // separated by spaces
}

func (w *written) add(number int64, d *search.Doc) {
	w.conversations, w.seqs = append(w.conversations, number), append(w.seqs, int64(d.Seq))
	w.poses, w.stored = append(w.poses, int64(d.Pos)), append(w.stored, d.Stored.UnixMilli())
	of := prefix(number)
	var b strings.Builder
	for i, t := range d.Terms {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(of)
		b.WriteString(t)
	}
	w.tokens = append(w.tokens, b.String())
}

// Apply notes messages.
func (x *Index) Apply(ctx context.Context, docs []search.Doc) error {
	if len(docs) == 0 {
		return nil
	}
	return x.change(ctx, func(tx pgx.Tx) (int64, error) {
		numbers, err := numbered(ctx, tx, docs)
		if err != nil {
			return 0, err
		}
		forgotten, err := forgottenOf(ctx, tx, numbers)
		if err != nil {
			return 0, err
		}
		last := map[search.Place]int{} // of a message that comes twice the last one counts
		for i := range docs {
			last[search.Place{Conversation: docs[i].Conversation, Seq: docs[i].Seq}] = i
		}
		var put, drop written
		for i := range docs {
			d := &docs[i]
			n := numbers[d.Conversation]
			switch {
			case last[search.Place{Conversation: d.Conversation, Seq: d.Seq}] != i:
			case len(d.Terms) == 0:
				drop.add(n, d)
			case !slices.ContainsFunc(forgotten[n], func(s im.Span) bool { return s.After < d.Seq && d.Seq <= s.Until }):
				put.add(n, d)
			}
		}
		return store(ctx, tx, &put, &drop)
	})
}

// store writes and drops messages, and tells how many more there are by it.
func store(ctx context.Context, tx pgx.Tx, put, drop *written) (more int64, err error) {
	if len(drop.seqs) > 0 {
		done, err := tx.Exec(ctx, "DELETE FROM docs USING unnest($1::bigint[], $2::bigint[]) AS gone (conversation, seq) WHERE docs.conversation = gone.conversation AND docs.seq = gone.seq", drop.conversations, drop.seqs)
		if err != nil {
			return 0, err
		}
		more -= done.RowsAffected()
	}
	if len(put.seqs) == 0 {
		return more, nil
	}
	var added int64
	err = tx.QueryRow(ctx, `WITH put AS (
		INSERT INTO docs (id, conversation, seq, pos, stored, tokens)
		SELECT nextval('ids'), c, s, p, t, array_to_tsvector(string_to_array(w, ' '))
		FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) WITH ORDINALITY AS n (c, s, p, t, w, nth) ORDER BY nth) AS ordered
		ON CONFLICT (conversation, seq) DO UPDATE SET tokens = excluded.tokens
		RETURNING xmax = 0 AS added
	) SELECT count(*) FILTER (WHERE added) FROM put`, put.conversations, put.seqs, put.poses, put.stored, put.tokens).Scan(&added)
	return more + added, err
}

// numbered returns the numbers of the conversations of messages, giving them some.
func numbered(ctx context.Context, tx pgx.Tx, docs []search.Doc) (map[im.ConversationID]int64, error) {
	var names []string
	for i := range docs {
		if i == 0 || docs[i].Conversation != docs[i-1].Conversation {
			names = append(names, string(docs[i].Conversation))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	numbers, err := numbersOf(ctx, tx, names)
	if err != nil || len(numbers) == len(names) {
		return numbers, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO conversations (name) SELECT name FROM unnest($1::text[]) AS n (name) WHERE NOT EXISTS (SELECT FROM conversations c WHERE c.name = n.name)", names); err != nil {
		return nil, err
	}
	return numbersOf(ctx, tx, names)
}

// asker is a pool or a transaction.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// numbersOf returns the numbers of those conversations that have any.
func numbersOf(ctx context.Context, db asker, names []string) (map[im.ConversationID]int64, error) {
	rows, err := db.Query(ctx, "SELECT name, id FROM conversations WHERE name = ANY ($1::text[])", names)
	if err != nil {
		return nil, err
	}
	numbers := make(map[im.ConversationID]int64, len(names))
	var name string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		numbers[im.ConversationID(name)] = n
		return nil
	})
	return numbers, err
}

// forgottenOf are the spans that were forgotten of conversations, by their numbers.
func forgottenOf(ctx context.Context, tx pgx.Tx, numbers map[im.ConversationID]int64) (map[int64][]im.Span, error) {
	var asked []int64
	for _, n := range numbers {
		asked = append(asked, n)
	}
	rows, err := tx.Query(ctx, "SELECT conversation, after, until FROM forgotten WHERE conversation = ANY ($1::bigint[])", asked)
	if err != nil {
		return nil, err
	}
	all := map[int64][]im.Span{}
	var n, after, until int64
	_, err = pgx.ForEachRow(rows, []any{&n, &after, &until}, func() error {
		all[n] = append(all[n], im.Span{After: uint64(after), Until: uint64(until)})
		return nil
	})
	return all, err
}

// Forget drops the messages of a span.
func (x *Index) Forget(ctx context.Context, span im.Span) error {
	return x.change(ctx, func(tx pgx.Tx) (int64, error) {
		numbers, err := numbered(ctx, tx, []search.Doc{{Conversation: span.Conversation}})
		if err != nil {
			return 0, err
		}
		n, after, until := numbers[span.Conversation], int64(span.After), int64(span.Until)
		// One that touches another grows with it.
		_, err = tx.Exec(ctx, `INSERT INTO forgotten (conversation, after, until)
			SELECT $1, coalesce((SELECT min(after) FROM forgotten WHERE conversation = $1 AND after <= $2 AND until >= $2), $2), $3::bigint
			ON CONFLICT (conversation, after) DO UPDATE SET until = greatest(forgotten.until, excluded.until)`, n, after, until)
		if err != nil {
			return 0, err
		}
		gone, err := tx.Exec(ctx, "DELETE FROM docs WHERE conversation = $1 AND seq > $2 AND seq <= $3", n, after, until)
		return -gone.RowsAffected(), err
	})
}
