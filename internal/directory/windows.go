package directory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// The times that a user was a member of a group before the last one are text in
// the row of the last one, `first-until` joined by commas: there are none, mostly,
// and they are read with the row.

func formatWindows(ws []im.Window) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d-%d", w.First, w.Until)
	}
	return b.String()
}

func parseWindows(s string) (ws []im.Window, err error) {
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, until, _ := strings.Cut(part, "-")
		var w im.Window
		if w.First, err = strconv.ParseUint(first, 10, 64); err == nil {
			w.Until, err = strconv.ParseUint(until, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("directory: times of membership %q: %w", s, err)
		}
		ws = append(ws, w)
	}
	return ws, nil
}

// closedWindows adds a time that is over to those before it. Times that touch
// are one; of more than im.MaxWindows, with the one that begins, the oldest goes.
func closedWindows(before []im.Window, w im.Window) []im.Window {
	if n := len(before); n > 0 && before[n-1].Until+1 >= w.First {
		before[n-1].Until = w.Until
		return before
	}
	before = append(before, w)
	return before[max(0, len(before)-(im.MaxWindows-1)):]
}

// keepWindows keeps what those of users who were members before could read, for
// they are about to get a new row.
func keepWindows(tx *writeTx, c im.ConversationID, users []im.UserID) error {
	args := []any{c}
	for _, u := range users {
		args = append(args, u)
	}
	return editWindows(tx, "conversation = $1 AND until_seq <> 0 AND user_id IN ("+placeholders(2, len(users))+")", args, func(r *windowsRow) {
		r.earlier = closedWindows(r.earlier, im.Window{First: r.first, Until: r.until})
	})
}

// loseWindows cuts the times of membership that were over to the entries before seq.
func loseWindows(tx *writeTx, c im.ConversationID, seq uint64) error {
	return editWindows(tx, "conversation = $1 AND earlier <> ''", []any{c}, func(r *windowsRow) {
		r.earlier = slices.DeleteFunc(r.earlier, func(w im.Window) bool { return w.First >= seq })
		for i := range r.earlier {
			r.earlier[i].Until = min(r.earlier[i].Until, seq-1)
		}
		if n := len(r.earlier); n > 0 && r.until != 0 && r.first >= seq {
			// Nothing is left of the last time: the one before it is the last now.
			r.first, r.until, r.earlier = r.earlier[n-1].First, r.earlier[n-1].Until, r.earlier[:n-1]
		}
	})
}

type windowsRow struct {
	user         im.UserID
	first, until uint64
	earlier      []im.Window
}

// editWindows changes the times of membership of the rows that a condition finds.
func editWindows(tx *writeTx, where string, args []any, edit func(*windowsRow)) error {
	rows, err := tx.Query("SELECT user_id, first_seq, until_seq, earlier FROM memberships WHERE "+where, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var all []windowsRow
	for rows.Next() {
		var r windowsRow
		var earlier string
		if err := rows.Scan(&r.user, &r.first, &r.until, &earlier); err != nil {
			return err
		}
		if r.earlier, err = parseWindows(earlier); err != nil {
			return err
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for i := range all {
		r := &all[i]
		edit(r)
		if _, err := tx.Exec("UPDATE memberships SET first_seq = $1, until_seq = $2, earlier = $3 WHERE user_id = $4 AND conversation = $5",
			int64(r.first), int64(r.until), formatWindows(r.earlier), r.user, args[0]); err != nil {
			return err
		}
	}
	return nil
}
