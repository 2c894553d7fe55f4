package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// The states of an upload.
const (
	uploadOpen  = 1
	uploadReady = 2
)

const uploadColumns = `m.id, m.owner, m.state, m.size, m.received, m.name, m.mime, m.width, m.height, m.duration_ms, m.blurhash, m.waveform, m.hash,
	COALESCE((SELECT b.blob FROM media_blobs b WHERE b.hash = m.hash), ''), m.thumbnail, m.created_at, m.expires_at`

func scanUpload(row interface{ Scan(...any) error }) (u im.Upload, err error) {
	var state, duration, created, expires int64
	err = row.Scan(&u.ID, &u.Owner, &state, &u.Size, &u.Received, &u.Name, &u.MIME, &u.Width, &u.Height, &duration, &u.Blurhash, &u.Waveform, &u.Hash,
		&u.Blob, &u.Thumbnail, &created, &expires)
	if len(u.Waveform) == 0 {
		u.Waveform = nil
	}
	u.Ready, u.Duration, u.Created, u.Expires = state == uploadReady, time.Duration(duration)*time.Millisecond, timeOf(created), timeOf(expires)
	return u, err
}

var errNoUpload = im.Errorf(im.CodeNotFound, "no such upload")

// CreateUpload keeps an upload of which nothing was received, if its owner may have it.
func (d *DB) CreateUpload(ctx context.Context, u im.Upload, q im.MediaQuota) error {
	return d.tx(ctx, func(tx *writeTx) error {
		// The usage's row is the lock under which theirs are counted.
		var used int64
		err := tx.QueryRow(`INSERT INTO media_usage (owner, bytes) VALUES ($1, $2)
			ON CONFLICT (owner) DO UPDATE SET bytes = media_usage.bytes + excluded.bytes RETURNING bytes`, u.Owner, u.Size).Scan(&used)
		if err != nil {
			return err
		}
		if q.Bytes > 0 && used > q.Bytes {
			return im.TooLarge("size", "comes to %d bytes with the user's other uploads; at most %d are allowed", used, q.Bytes)
		}
		var open int
		if err := tx.QueryRow("SELECT COUNT(*) FROM media WHERE owner = $1 AND state = $2", u.Owner, uploadOpen).Scan(&open); err != nil {
			return err
		}
		if open >= q.Open {
			return im.Errorf(im.CodeTooLarge, "%d uploads are not complete; at most %d are allowed", open, q.Open)
		}
		if q.PerHour > 0 {
			var lately int
			var first int64
			err := tx.QueryRow("SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM media WHERE owner = $1 AND created_at > $2",
				u.Owner, msOf(u.Created.Add(-time.Hour))).Scan(&lately, &first)
			if err != nil {
				return err
			}
			if lately >= q.PerHour {
				e := im.Errorf(im.CodeRateLimited, "%d uploads were begun within an hour; at most %d are allowed", lately, q.PerHour)
				e.RetryAfter = max(time.Second, timeOf(first).Add(time.Hour).Sub(u.Created))
				return e
			}
		}
		_, err = tx.Exec(`INSERT INTO media (id, owner, state, size, received, name, mime, width, height, duration_ms, blurhash, waveform, hash, thumbnail, created_at, expires_at)
			VALUES ($1, $2, $3, $4, 0, $5, '', $6, $7, $8, '', $9, '', '', $10, $11)`,
			u.ID, u.Owner, uploadOpen, u.Size, u.Name, int64(u.Width), int64(u.Height), u.Duration.Milliseconds(), orNull(u.Waveform), msOf(u.Created), msOf(u.Expires))
		return err
	})
}

// HasUploads tells whether there is an upload that is complete, whose bytes are kept.
func (d *DB) HasUploads(ctx context.Context) (some bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM media WHERE state = $1)", uploadReady).Scan(&some)
	return some, d.failed("look for uploads", err)
}

// orNull is NULL for no bytes: a copy to another database makes no difference between
// the two.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// Upload returns an upload; not_found: there is none.
func (d *DB) Upload(ctx context.Context, id string) (im.Upload, error) {
	u, err := scanUpload(d.queryRow(ctx, "SELECT "+uploadColumns+" FROM media m WHERE m.id = $1", id))
	if errors.Is(err, sql.ErrNoRows) {
		return u, errNoUpload
	}
	return u, d.failed("read", err)
}

// AddPiece notes that the next part of an upload was received, which is kept as p.Blob
// and was trash until now. conflict: other parts were received meanwhile; not_found: the
// upload is complete, or gone.
func (d *DB) AddPiece(ctx context.Context, id string, p im.MediaPiece) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE media SET received = $3 WHERE id = $1 AND state = $2 AND received = $4 AND size >= $3", id, uploadOpen, p.Start+p.Size, p.Start)
		if err != nil {
			return err
		}
		if n == 0 {
			var received int64
			err := tx.QueryRow("SELECT received FROM media WHERE id = $1 AND state = $2", id, uploadOpen).Scan(&received)
			if errors.Is(err, sql.ErrNoRows) {
				return errNoUpload
			}
			return errors.Join(err, im.Errorf(im.CodeConflict, "the upload has %d bytes", received))
		}
		if err := keep(tx, p.Blob); err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO media_pieces (media_id, start, size, blob) VALUES ($1, $2, $3, $4)", id, p.Start, p.Size, p.Blob)
		return err
	})
}

// keep takes a blob out of the trash, because something has it now.
func keep(tx *writeTx, blob string) error {
	n, err := tx.Exec("DELETE FROM media_trash WHERE blob = $1 AND doomed = FALSE", blob)
	if err == nil && n == 0 {
		err = im.Errorf(im.CodeUnavailable, "the bytes took too long, and were thrown away; send them again")
	}
	return err
}

// Pieces returns what was received of an upload, in its order.
func (d *DB) Pieces(ctx context.Context, id string) ([]im.MediaPiece, error) {
	return list(ctx, d, func(r *sql.Rows) (p im.MediaPiece, err error) { return p, r.Scan(&p.Start, &p.Size, &p.Blob) },
		"SELECT start, size, blob FROM media_pieces WHERE media_id = $1 ORDER BY start", id)
}

// FinishUpload makes an upload ready: u has what is kept of it, as Blob and Thumbnail,
// which were trash until now. Where another upload has the same content, that is the
// blob of both, and u's stays trash. conflict: it is ready, or gone.
func (d *DB) FinishUpload(ctx context.Context, u im.Upload, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		var was int64
		err := tx.QueryRow(`UPDATE media SET state = $2 WHERE id = $1 AND state = $3 AND received = size RETURNING size`, u.ID, uploadReady, uploadOpen).Scan(&was)
		if errors.Is(err, sql.ErrNoRows) {
			return im.Errorf(im.CodeConflict, "the upload is complete, or gone")
		} else if err != nil {
			return err
		}
		uses := int64(0)
		err = tx.QueryRow(`INSERT INTO media_blobs (hash, blob, uses) VALUES ($1, $2, 1)
			ON CONFLICT (hash) DO UPDATE SET uses = media_blobs.uses + 1 RETURNING uses`, u.Hash, u.Blob).Scan(&uses)
		if err == nil && uses == 1 {
			err = keep(tx, u.Blob)
		}
		if err == nil && u.Thumbnail != "" {
			err = keep(tx, u.Thumbnail)
		}
		if err != nil {
			return err
		}
		if err := discardPieces(tx, u.ID, now); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE media_usage SET bytes = bytes + $2 WHERE owner = $1", u.Owner, u.Size-was); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE media SET size = $2, mime = $3, width = $4, height = $5, blurhash = $6, hash = $7, thumbnail = $8, expires_at = $9, duration_ms = $10, waveform = $11 WHERE id = $1`,
			u.ID, u.Size, u.MIME, int64(u.Width), int64(u.Height), u.Blurhash, u.Hash, u.Thumbnail, msOf(u.Expires), u.Duration.Milliseconds(), orNull(u.Waveform))
		return err
	})
}

func discardPieces(tx *writeTx, id string, now time.Time) error {
	_, err := tx.Exec("INSERT INTO media_trash (blob, at, doomed) SELECT blob, CAST($2 AS BIGINT), FALSE FROM media_pieces WHERE media_id = $1", id, msOf(now))
	if err == nil {
		_, err = tx.Exec("DELETE FROM media_pieces WHERE media_id = $1", id)
	}
	return err
}

// DropUpload throws an upload away that nothing names: the owner's, or, with owner "",
// one whose time is over. not_found: it is not there, is not theirs, or has time left.
// permission_denied: something names it, or may.
func (d *DB) DropUpload(ctx context.Context, id string, owner im.UserID, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		// The row is the lock under which it is named, too.
		n, err := tx.Exec("UPDATE media SET state = state WHERE id = $1 AND (owner = $2 OR $2 = '' AND expires_at > 0 AND expires_at <= $3)", id, owner, msOf(now))
		if err != nil || n == 0 {
			return errors.Join(err, errNoUpload)
		}
		var named bool
		if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM media_names WHERE media_id = $1)", id).Scan(&named); err != nil {
			return err
		}
		if named {
			return im.Errorf(im.CodePermissionDenied, "a message names the upload")
		}
		u, err := scanUpload(tx.QueryRow("SELECT "+uploadColumns+" FROM media m WHERE m.id = $1", id))
		if err != nil {
			return err
		}
		if err := discardPieces(tx, id, now); err != nil {
			return err
		}
		if err := discard(tx, u.Thumbnail, now); err != nil {
			return err
		}
		if u.Hash != "" {
			uses := int64(0)
			if err := tx.QueryRow("UPDATE media_blobs SET uses = uses - 1 WHERE hash = $1 RETURNING uses", u.Hash).Scan(&uses); err != nil {
				return fmt.Errorf("the content of upload %s: %w", id, err)
			}
			if uses == 0 {
				if _, err := tx.Exec("DELETE FROM media_blobs WHERE hash = $1", u.Hash); err != nil {
					return err
				}
				if err := discard(tx, u.Blob, now); err != nil {
					return err
				}
			}
		}
		if _, err := tx.Exec("UPDATE media_usage SET bytes = bytes - $2 WHERE owner = $1", u.Owner, u.Size); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM media WHERE id = $1", id)
		return err
	})
}

// DueUploads returns the ids of at most limit uploads whose time is over.
func (d *DB) DueUploads(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return list(ctx, d, func(r *sql.Rows) (id string, err error) { return id, r.Scan(&id) },
		"SELECT id FROM media WHERE expires_at > 0 AND expires_at <= $1 ORDER BY expires_at LIMIT $2", msOf(now), limit)
}

func discard(tx *writeTx, blob string, at time.Time) error {
	if blob == "" {
		return nil
	}
	_, err := tx.Exec("INSERT INTO media_trash (blob, at, doomed) VALUES ($1, $2, FALSE) ON CONFLICT (blob) DO NOTHING", blob, msOf(at))
	return err
}
