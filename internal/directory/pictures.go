package directory

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// The picture of a user or a group that is an upload is kept, as those of stickers are, by a
// row of media_names that no message has; the sender is whom it shows.
const (
	userHolder  = "users"
	groupHolder = "groups"
)

// showPicture keeps the upload that shows a user or a group from now on, and lets the one go
// that did before: it is thrown away, unless something else names it. Only a picture of the
// owner's that is complete is kept; what else `is` says is the deployment's own word.
func showPicture(tx *writeTx, holder, of string, owner im.UserID, was, is string) error {
	if was == is {
		return nil
	}
	if err := hidePicture(tx, holder, of); err != nil || is == "" {
		return err
	}
	n, err := tx.Exec("UPDATE media SET expires_at = 0 WHERE id = $1 AND state = $2 AND owner = $3 AND mime LIKE 'image/%'", is, uploadReady, owner)
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.Exec("INSERT INTO media_names ("+nameColumns+") VALUES ($1, $2, $3, $4, 0, $5) ON CONFLICT (conversation, sender, message_id, media_id) DO NOTHING",
		is, holder, of, noMessage, neverChecked)
	return err
}

// hidePicture lets the upload go that shows a user or a group.
func hidePicture(tx *writeTx, holder, of string) error {
	had, err := pictures(tx, "SELECT media_id FROM media_names WHERE conversation = '"+holder+"' AND sender = $1", of)
	if err != nil {
		return err
	}
	for _, id := range had {
		// The upload's row is the lock under which it is named.
		if _, err := tx.Exec("UPDATE media SET state = state WHERE id = $1", id); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM media_names WHERE conversation = $1 AND sender = $2 AND media_id = $3", holder, of, id); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE media SET expires_at = 1 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM media_names WHERE media_id = $1)", id); err != nil {
			return err
		}
	}
	return nil
}

// ShowsSomebody tells whether an upload is the picture of a user or a group: whoever is
// signed in may fetch it.
func (d *DB) ShowsSomebody(ctx context.Context, upload string) (shows bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM media_names WHERE media_id = $1 AND conversation IN ('"+userHolder+"', '"+groupHolder+"'))", upload).Scan(&shows)
	return shows, d.failed("read", err)
}
