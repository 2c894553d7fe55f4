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
	old        bool
}

// Apply notes messages.
func (x *Index) Apply(ctx context.Context, docs []search.Doc) error {
	return x.change(ctx, func(c *change) error {
		rows, err := c.place(docs)
		if err != nil {
			return err
		}
		// FTS5 gathers what is written in the order of ids, and begins a new segment
		// where that goes back.
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.id, b.id) })
		drop, err := c.tx.PrepareContext(ctx, "DELETE FROM words WHERE rowid = ?")
		if err != nil {
			return err
		}
		defer drop.Close()
		put, err := c.tx.PrepareContext(ctx, "INSERT INTO words (rowid, tokens) VALUES (?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		var text strings.Builder
		for _, r := range rows {
			if r.old {
				if _, err := drop.ExecContext(ctx, r.id); err != nil {
					return err
				}
			}
			if len(r.Terms) == 0 {
				continue
			}
			text.Reset()
			of := prefix(r.number)
			for _, t := range r.Terms {
				text.WriteString(of)
				text.WriteString(t)
				text.WriteByte(' ')
			}
			if _, err := put.ExecContext(ctx, r.id, text.String()); err != nil {
				return err
			}
		}
		return nil
	})
}

// place gives the messages their ids, and drops those that are not found any more.
func (c *change) place(docs []search.Doc) ([]row, error) {
	forgotten, err := c.forgotten()
	if err != nil {
		return nil, err
	}
	add, err := c.tx.PrepareContext(c.ctx, "INSERT INTO docs (conversation, seq, pos, stored) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id")
	if err != nil {
		return nil, err
	}
	defer add.Close()
	var rows []row
	at := map[search.Place]int{} // of a message that comes twice the last one counts
	for i := range docs {
		d := &docs[i]
		n, err := c.number(d.Conversation)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(forgotten[n], func(s im.Span) bool { return s.After < d.Seq && d.Seq <= s.Until }) {
			continue
		}
		r := row{Doc: d, number: n}
		key := search.Place{Conversation: d.Conversation, Seq: d.Seq}
		if was, ok := at[key]; ok {
			r.id, r.old = rows[was].id, rows[was].old
			if rows[was] = r; len(d.Terms) == 0 {
				if _, err := c.tx.ExecContext(c.ctx, "DELETE FROM docs WHERE id = ?", r.id); err != nil {
					return nil, err
				}
				c.docs--
				delete(at, key)
			}
			continue
		}
		if err := c.idOf(&r, add); err != nil {
			return nil, err
		}
		if r.id != 0 {
			rows = append(rows, r)
			if len(d.Terms) > 0 {
				at[key] = len(rows) - 1
			}
		}
	}
	return rows, nil
}

// idOf looks up the id of a message, or gives it one; 0: there is nothing to write.
func (c *change) idOf(r *row, add *sql.Stmt) (err error) {
	if len(r.Terms) == 0 {
		err = c.tx.QueryRowContext(c.ctx, "DELETE FROM docs WHERE conversation = ? AND seq = ? RETURNING id", r.number, int64(r.Seq)).Scan(&r.id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		r.old = true
		c.docs--
		return err
	}
	err = add.QueryRowContext(c.ctx, r.number, int64(r.Seq), int64(r.Pos), r.Stored.UnixMilli()).Scan(&r.id)
	if errors.Is(err, sql.ErrNoRows) {
		r.old = true
		return c.tx.QueryRowContext(c.ctx, "SELECT id FROM docs WHERE conversation = ? AND seq = ?", r.number, int64(r.Seq)).Scan(&r.id)
	}
	c.docs++
	return err
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
