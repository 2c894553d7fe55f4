package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const nameColumns = "media_id, conversation, sender, message_id, hash, check_at"

func scanName(r *sql.Rows) (n im.MediaName, err error) {
	var id []byte
	var hash, check int64
	if err := r.Scan(&n.Media, &n.Conversation, &n.Sender, &id, &hash, &check); err != nil {
		return n, err
	}
	if len(id) != len(n.ID) {
		return n, fmt.Errorf("directory: a message of %s that names media has an id of %d bytes", n.Sender, len(id))
	}
	n.ID, n.Hash, n.CheckAt = im.MessageID(id), uint64(hash), timeOf(check)
	return n, nil
}

// NameMedia notes that a message names uploads, before it is stored: from then on they
// stay. Each must be complete, and its owner's (n.Sender), or anybody's with shared.
// not_found names the place of the first that is not (im.Error.Field: "[1]").
// n.Media counts for nothing.
func (d *DB) NameMedia(ctx context.Context, ids []string, n im.MediaName, shared bool) (named []im.Upload, err error) {
	order := make([]int, len(ids)) // of locking
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	err = d.tx(ctx, func(tx *writeTx) error {
		named = make([]im.Upload, len(ids))
		missing := len(ids)
		for _, i := range order {
			found, err := tx.Exec("UPDATE media SET expires_at = 0 WHERE id = $1 AND state = $2 AND (owner = $3 OR $4)", ids[i], uploadReady, n.Sender, shared)
			if err != nil {
				return err
			}
			if found == 0 {
				missing = min(missing, i)
				continue
			}
			if named[i], err = scanUpload(tx.QueryRow("SELECT "+uploadColumns+" FROM media m WHERE m.id = $1", ids[i])); err != nil {
				return err
			}
			_, err = tx.Exec(`INSERT INTO media_names (`+nameColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (conversation, sender, message_id, media_id) DO UPDATE SET hash = excluded.hash, check_at = excluded.check_at`,
				ids[i], n.Conversation, n.Sender, n.ID[:], int64(n.Hash), msOf(n.CheckAt))
			if err != nil {
				return err
			}
		}
		if missing < len(ids) {
			e := im.Errorf(im.CodeNotFound, "no such upload of yours, or it is not complete")
			e.Field = fmt.Sprintf("[%d]", missing)
			return e
		}
		return nil
	})
	return named, err
}

// DoubtMedia has the journal asked again, at a time, what messages name: they may be taken
// back. Of each the conversation, the sender and the id count.
func (d *DB) DoubtMedia(ctx context.Context, ns []im.MediaName, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for i := range ns {
			_, err := tx.Exec("UPDATE media_names SET check_at = $4 WHERE conversation = $1 AND sender = $2 AND message_id = $3", ns[i].Conversation, ns[i].Sender, ns[i].ID[:], msOf(at))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DueNames returns at most limit of those of which the journal is to be asked.
func (d *DB) DueNames(ctx context.Context, now time.Time, limit int) ([]im.MediaName, error) {
	return list(ctx, d, scanName, "SELECT "+nameColumns+" FROM media_names WHERE check_at <= $1 ORDER BY check_at LIMIT $2", msOf(now), limit)
}

// SettleName notes what the journal says. The message names the upload: it is asked again
// at a time. Or it does not and never will: the upload is thrown away at that time, unless
// another message names it. What was noted or doubted since it was read (CheckAt) stays.
func (d *DB) SettleName(ctx context.Context, n im.MediaName, names bool, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		const which = " WHERE media_id = $1 AND conversation = $2 AND sender = $3 AND message_id = $4 AND check_at = $5"
		args := []any{n.Media, n.Conversation, n.Sender, n.ID[:], msOf(n.CheckAt)}
		if names {
			_, err := tx.Exec("UPDATE media_names SET check_at = $6"+which, append(args, msOf(at))...)
			return err
		}
		// The upload's row is the lock under which it is named.
		if _, err := tx.Exec("UPDATE media SET state = state WHERE id = $1", n.Media); err != nil {
			return err
		}
		gone, err := tx.Exec("DELETE FROM media_names"+which, args...)
		if err != nil || gone == 0 {
			return err
		}
		_, err = tx.Exec("UPDATE media SET expires_at = $2 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM media_names WHERE media_id = $1)", n.Media, msOf(at))
		return err
	})
}

// NamesFor returns at most limit messages, the latest by their ids, that name an upload
// in conversations that a user is in, or was.
func (d *DB) NamesFor(ctx context.Context, media string, u im.UserID, limit int) ([]im.MediaName, error) {
	return list(ctx, d, scanName, `SELECT n.media_id, n.conversation, n.sender, n.message_id, n.hash, n.check_at FROM media_names n
		WHERE n.media_id = $1 AND EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = $2 AND m.conversation = n.conversation)
		ORDER BY n.message_id DESC LIMIT $3`, media, u, limit)
}

// DiscardBlobs notes that nothing has these blobs, before they are made or when they are
// not needed: they are removed at a time, unless something has them by then.
func (d *DB) DiscardBlobs(ctx context.Context, blobs []string, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for _, b := range blobs {
			if err := discard(tx, b, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// DoomBlobs returns at most limit blobs that are to be removed now. Nothing has them, and
// nothing will.
func (d *DB) DoomBlobs(ctx context.Context, now time.Time, limit int) (blobs []string, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		rows, err := tx.Query("SELECT blob FROM media_trash WHERE at <= $1 ORDER BY at LIMIT $2", msOf(now), limit)
		if err != nil {
			return err
		}
		found, err := scanAll(rows, func(r *sql.Rows) (b string, err error) { return b, r.Scan(&b) })
		if err != nil {
			return err
		}
		blobs = nil
		for _, b := range found {
			n, err := tx.Exec("UPDATE media_trash SET doomed = TRUE WHERE blob = $1", b)
			if err != nil {
				return err
			}
			if n == 1 { // otherwise something has it since
				blobs = append(blobs, b)
			}
		}
		return nil
	})
	return blobs, err
}

// ForgetBlobs notes that doomed blobs were removed.
func (d *DB) ForgetBlobs(ctx context.Context, blobs []string) error {
	return d.tx(ctx, func(tx *writeTx) (err error) {
		for _, b := range blobs {
			_, one := tx.Exec("DELETE FROM media_trash WHERE blob = $1 AND doomed = TRUE", b)
			err = errors.Join(err, one)
		}
		return err
	})
}
