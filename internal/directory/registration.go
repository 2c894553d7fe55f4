package directory

import (
	"context"
	"database/sql"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// PutRegistrationLink keeps a link, as long as fewer than most hold at its time:
// too_large otherwise.
func (d *DB) PutRegistrationLink(ctx context.Context, l im.RegistrationLink, most int) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if _, err := tx.Exec("DELETE FROM registration_links WHERE expires_at <= $1", msOf(l.Created.AddDate(0, 0, -30))); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM registration_links WHERE expires_at > $1 AND (max_uses = 0 OR uses < max_uses)", msOf(l.Created)).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return im.Errorf(im.CodeTooLarge, "there are %d registration links; revoke some", n)
		}
		_, err := tx.Exec("INSERT INTO registration_links (id, hash, note, max_uses, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
			l.ID, l.Hash, l.Note, l.MaxUses, msOf(l.Created), msOf(l.Expires))
		return err
	})
}

// RegistrationLinks returns the links that hold, the newest first.
func (d *DB) RegistrationLinks(ctx context.Context, now time.Time) ([]im.RegistrationLink, error) {
	return list(ctx, d, func(r *sql.Rows) (im.RegistrationLink, error) {
		var l im.RegistrationLink
		var created, expires int64
		err := r.Scan(&l.ID, &l.Hash, &l.Note, &l.Uses, &l.MaxUses, &created, &expires)
		l.Created, l.Expires = timeOf(created), timeOf(expires)
		return l, err
	}, `
		SELECT id, hash, note, uses, max_uses, created_at, expires_at FROM registration_links
		WHERE expires_at > $1 AND (max_uses = 0 OR uses < max_uses) ORDER BY created_at DESC, id`, msOf(now))
}

// RevokeRegistrationLink ends a link; not_found: there is none that holds.
func (d *DB) RevokeRegistrationLink(ctx context.Context, id string, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("DELETE FROM registration_links WHERE id = $1 AND expires_at > $2 AND (max_uses = 0 OR uses < max_uses)", id, msOf(now))
		if err == nil && n == 0 {
			return im.Errorf(im.CodeNotFound, "there is no such registration link")
		}
		return err
	})
}

// RegistrationLinkHolds tells whether somebody may register by the link with this hash
// now, before the work of hashing.
func (d *DB) RegistrationLinkHolds(ctx context.Context, hash []byte, now time.Time) (holds bool, err error) {
	err = d.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM registration_links WHERE hash = $1 AND expires_at > $2 AND (max_uses = 0 OR uses < max_uses))`,
		hash, msOf(now)).Scan(&holds)
	return holds, d.failed("read a registration link", err)
}

// useRegistrationLink counts a use of the link by which a session's user registers. The
// row's lock makes who comes at once wait, and find it used up.
func useRegistrationLink(tx *writeTx, hash []byte, now time.Time) error {
	if hash == nil {
		return nil
	}
	n, err := tx.Exec("UPDATE registration_links SET uses = uses + 1 WHERE hash = $1 AND expires_at > $2 AND (max_uses = 0 OR uses < max_uses)",
		hash, msOf(now))
	if err == nil && n == 0 {
		return im.Errorf(im.CodePermissionDenied, "the invitation was used up, or revoked, at this moment")
	}
	return err
}
