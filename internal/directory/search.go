package directory

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/skein-im/skein/internal/im"
)

// findable is whom $1 may find (im.UserSearch): everybody, if $1 is empty.
const findable = ` AND (CAST($1 AS TEXT) = '' OR u.id = $1
	OR u.find_policy < 2 AND NOT EXISTS (SELECT 1 FROM contacts c WHERE c.user_id = u.id AND c.peer_id = $1 AND c.blocked)
	OR u.find_policy = 2 AND EXISTS (SELECT 1 FROM contacts c WHERE c.user_id = u.id AND c.peer_id = $1 AND c.state = 1 AND NOT c.blocked))`

// SearchUsers returns users by their names: see im.UserSearch. They come in the order
// of their usernames, or with Names of their folded display names and ids.
func (d *DB) SearchUsers(ctx context.Context, q im.UserSearch) ([]im.Found, error) {
	scan := func(r *sql.Rows) (f im.Found, err error) {
		f.User, err = scanUser(r, &f.Name)
		return f, err
	}
	prefix := folded(q.Prefix)
	end := prefix + string(utf8.MaxRune) // behind all that begin with it, by their bytes
	switch {
	case q.Username != "":
		return list(ctx, d, scan, "SELECT "+userColumns+", username FROM users u WHERE username = $2"+findable, q.Viewer, q.Username)
	case q.Names:
		return list(ctx, d, scan, "SELECT "+userColumns+", search_name FROM users u WHERE search_name >= $2 AND search_name < $3"+
			" AND (search_name, id) > ($4, $5) AND (username IS NULL OR username < $2 OR username >= $3)"+findable+
			" ORDER BY search_name, id LIMIT $6", q.Viewer, prefix, end, q.After, q.AfterID, q.Limit)
	}
	return list(ctx, d, scan, "SELECT "+userColumns+", username FROM users u WHERE username >= $2 AND username < $3 AND username > $4"+findable+
		" ORDER BY username LIMIT $5", q.Viewer, prefix, end, q.After, q.Limit)
}

// foldedRunes is how much of a folded name is kept.
const foldedRunes = 64

// folded is a name as it is searched: of one width (NFKC), without case and without
// space around it.
func folded(name string) string {
	s := strings.TrimSpace(cases.Fold().String(norm.NFKC.String(name)))
	n := 0
	for i := range s {
		if n++; n > foldedRunes { // one character may become eighteen
			return s[:i]
		}
	}
	return s
}

// FoldNames folds the display names of at most limit users whom a program of before
// made, and returns of how many.
func (d *DB) FoldNames(ctx context.Context, limit int) (n int, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		rows, err := tx.Query("SELECT id, display_name FROM users WHERE search_name IS NULL LIMIT $1", limit)
		if err != nil {
			return err
		}
		all, err := scanAll(rows, func(r *sql.Rows) (u im.User, err error) {
			err = r.Scan(&u.ID, &u.DisplayName)
			return u, err
		})
		if err != nil {
			return err
		}
		n = len(all)
		for _, u := range all {
			if _, err := tx.Exec("UPDATE users SET search_name = $2 WHERE id = $1 AND display_name = $3", u.ID, folded(u.DisplayName), u.DisplayName); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
