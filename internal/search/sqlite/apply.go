package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
)

// maxNumbers is how many conversations' numbers are remembered.
const maxNumbers = 1 << 16

// prefix is what begins the tokens of a conversation: its number, after a letter that says
// how long it is, so that none is the beginning of another.
func prefix(number int64) string {
	digits := strconv.FormatInt(number, 36)
	return string(rune('a'+len(digits))) + digits
}

// change is one transaction of changes.
type change struct {
	x    *Index
	ctx  context.Context
	tx   *sql.Tx
	made map[im.ConversationID]int64 // numbers that were looked up or given
	docs int64                       // how many more there are by it
}

// change carries out a change as a whole.
func (x *Index) change(ctx context.Context, do func(c *change) error) error {
	write, _, err := x.open(ctx)
	if err != nil {
		return err
	}
	c := &change{x: x, ctx: ctx, made: map[im.ConversationID]int64{}}
	err = x.tx(ctx, write, func(tx *sql.Tx) error {
		c.tx = tx
		if err := do(c); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE state SET docs = docs + ?", c.docs)
		return err
	})
	if err != nil {
		return classify(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.write != write { // it was emptied meanwhile
		return nil
	}
	if len(x.numbers)+len(c.made) > maxNumbers || x.numbers == nil {
		x.numbers = map[im.ConversationID]int64{}
	}
	maps.Copy(x.numbers, c.made)
	return nil
}

// number returns the number of a conversation, giving it one if need be.
func (c *change) number(name im.ConversationID) (n int64, err error) {
	c.x.mu.Lock()
	n, ok := c.x.numbers[name]
	c.x.mu.Unlock()
	if !ok {
		n, ok = c.made[name]
	}
	if ok {
		return n, nil
	}
	err = c.tx.QueryRowContext(c.ctx, "SELECT id FROM conversations WHERE name = ?", string(name)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = c.tx.QueryRowContext(c.ctx, "INSERT INTO conversations (name) VALUES (?) RETURNING id", string(name)).Scan(&n)
	}
	if err == nil {
		c.made[name] = n
	}
	return n, err
}

// row is a message that is written.
type row struct {
	*search.Doc
	number, id int64
	old        bool // the index has it already
}

// bulk is how many rows one statement writes at most: the greatest part of what a row costs
// is the statement. And FTS5 begins a new segment with each that has more than one row, so
// all of a page should be one.
const bulk = 1000

// Apply notes messages.
func (x *Index) Apply(ctx context.Context, docs []search.Doc) error {
	return x.change(ctx, func(c *change) error {
		rows, err := c.place(docs)
		if err != nil {
			return err
		}
		// FTS5 gathers what is written in the order of ids, and begins a new segment
		// where that goes back.
		slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.id, b.id) })
		for _, r := range rows {
			if r.old {
				if _, err := c.tx.ExecContext(ctx, "DELETE FROM words WHERE rowid = ?", r.id); err != nil {
					return err
				}
			}
		}
		rows = slices.DeleteFunc(rows, func(r *row) bool { return len(r.Terms) == 0 })
		return c.write("INSERT INTO words (rowid, tokens) VALUES ", "(?, ?)", rows, func(args []any, r *row) []any {
			return append(args, r.id, tokens(r))
		})
	})
}

// tokens are those of a message, as the full-text table takes them.
func tokens(r *row) string {
	of, size := prefix(r.number), 0
	for _, t := range r.Terms {
		size += len(of) + len(t) + 1
	}
	var text strings.Builder
	text.Grow(size)
	for _, t := range r.Terms {
		text.WriteString(of)
		text.WriteString(t)
		text.WriteByte(' ')
	}
	return text.String()
}

// write writes rows, many by one statement.
func (c *change) write(insert, values string, rows []*row, args func([]any, *row) []any) error {
	for part := range slices.Chunk(rows, bulk) {
		var with []any
		for _, r := range part {
			with = args(with, r)
		}
		if _, err := c.tx.ExecContext(c.ctx, insert+values+strings.Repeat(", "+values, len(part)-1), with...); err != nil {
			return err
		}
	}
	return nil
}

// place gives the messages their ids. Those that are not found any more are dropped; they
// come back if the index has words of them, to be taken out.
func (c *change) place(docs []search.Doc) ([]*row, error) {
	forgotten, err := c.forgotten()
	if err != nil {
		return nil, err
	}
	var rows []*row
	at := map[search.Place]*row{} // of a message that comes twice the last one counts
	for i := range docs {
		d := &docs[i]
		n, err := c.number(d.Conversation)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(forgotten[n], func(s im.Span) bool { return s.After < d.Seq && d.Seq <= s.Until }) {
			continue
		}
		key := search.Place{Conversation: d.Conversation, Seq: d.Seq}
		if was := at[key]; was != nil {
			was.Doc = d
			continue
		}
		r := &row{Doc: d, number: n}
		at[key] = r
		rows = append(rows, r)
	}
	if err := c.known(rows); err != nil {
		return nil, err
	}
	next, err := c.next()
	if err != nil {
		return nil, err
	}
	var added []*row
	for _, r := range rows {
		if len(r.Terms) > 0 && !r.old {
			r.id = next
			next++
			added = append(added, r)
		}
	}
	c.docs += int64(len(added))
	err = c.write("INSERT INTO docs (id, conversation, seq, pos, stored) VALUES ", "(?, ?, ?, ?, ?)", added, func(args []any, r *row) []any {
		return append(args, r.id, r.number, int64(r.Seq), int64(r.Pos), r.Stored.UnixMilli())
	})
	return slices.DeleteFunc(rows, func(r *row) bool { return r.id == 0 }), err
}

// known finds the messages that the index has, and drops those of them that are not found
// any more.
func (c *change) known(rows []*row) error {
	type key struct{ number, seq int64 }
	at := map[key]*row{}
	for part := range slices.Chunk(rows, bulk) {
		var args []any
		for _, r := range part {
			k := key{r.number, int64(r.Seq)}
			at[k] = r
			args = append(args, k.number, k.seq)
		}
		found, err := c.tx.QueryContext(c.ctx, "WITH asked (c, s) AS (VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(part)-1)+") SELECT id, c, s FROM asked CROSS JOIN docs ON conversation = c AND seq = s", args...)
		if err != nil {
			return err
		}
		for found.Next() {
			var k key
			var id int64
			if err := found.Scan(&id, &k.number, &k.seq); err != nil {
				return errors.Join(err, found.Close())
			}
			at[k].id, at[k].old = id, true
		}
		if err := errors.Join(found.Err(), found.Close()); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if r.old && len(r.Terms) == 0 {
			if _, err := c.tx.ExecContext(c.ctx, "DELETE FROM docs WHERE id = ?", r.id); err != nil {
				return err
			}
			c.docs--
		}
	}
	return nil
}

// next is the id of the next message: behind those of all that there are.
func (c *change) next() (id int64, err error) {
	err = c.tx.QueryRowContext(c.ctx, "SELECT coalesce(max(id), 0) + 1 FROM docs").Scan(&id)
	return id, err
}

// forgotten are the spans that were forgotten, by the numbers of their conversations.
func (c *change) forgotten() (map[int64][]im.Span, error) {
	rows, err := c.tx.QueryContext(c.ctx, "SELECT conversation, after, until FROM forgotten")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all map[int64][]im.Span
	for rows.Next() {
		var n, after, until int64
		if err := rows.Scan(&n, &after, &until); err != nil {
			return nil, err
		}
		if all == nil {
			all = map[int64][]im.Span{}
		}
		all[n] = append(all[n], im.Span{After: uint64(after), Until: uint64(until)})
	}
	return all, rows.Err()
}

// Forget drops the messages of a span.
func (x *Index) Forget(ctx context.Context, span im.Span) error {
	return x.change(ctx, func(c *change) error {
		n, err := c.number(span.Conversation)
		if err != nil {
			return err
		}
		after, until := int64(span.After), int64(span.Until)
		// One that touches another grows with it.
		err = c.tx.QueryRowContext(ctx, "SELECT after, max(until, ?) FROM forgotten WHERE conversation = ? AND after <= ? AND until >= ? ORDER BY after LIMIT 1", until, n, after, after).Scan(&after, &until)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := c.tx.ExecContext(ctx, "INSERT INTO forgotten VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET until = max(until, excluded.until)", n, after, until); err != nil {
			return err
		}
		if _, err := c.tx.ExecContext(ctx, "DELETE FROM words WHERE rowid IN (SELECT id FROM docs WHERE conversation = ? AND seq > ? AND seq <= ?)", n, int64(span.After), int64(span.Until)); err != nil {
			return err
		}
		gone, err := c.tx.ExecContext(ctx, "DELETE FROM docs WHERE conversation = ? AND seq > ? AND seq <= ?", n, int64(span.After), int64(span.Until))
		if err != nil {
			return err
		}
		rows, err := gone.RowsAffected()
		c.docs -= rows
		return err
	})
}
