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

// Pictures of stickers and emoji are kept by a row of media_names that no message has:
// nobody asks the journal about it.
const (
	stickerHolder = "stickers"
	neverChecked  = int64(1) << 52
)

var noMessage = make([]byte, len(im.MessageID{}))

// StickerRevision tells whether anything of the stickers changed: it is another one then.
func (d *DB) StickerRevision(ctx context.Context) (uint64, error) {
	var r int64
	err := d.queryRow(ctx, "SELECT revision FROM sticker_revision WHERE id = 1").Scan(&r)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(r), d.failed("read", err)
}

// Stickers returns all of them. The revision is that of a moment before: what changed since
// changed it, too.
func (d *DB) Stickers(ctx context.Context) (all im.Stickers, err error) {
	if all.Revision, err = d.StickerRevision(ctx); err != nil || all.Revision == 0 {
		return all, err
	}
	all.Packs, err = list(ctx, d, func(r *sql.Rows) (p im.StickerPack, err error) { return p, r.Scan(&p.Name, &p.Title, &p.Order) },
		"SELECT name, title, place FROM sticker_packs ORDER BY place, name")
	if err != nil {
		return all, err
	}
	at := make(map[string]int, len(all.Packs))
	for i := range all.Packs {
		at[all.Packs[i].Name] = i
	}
	type inPack struct {
		pack string
		im.Sticker
	}
	stickers, err := list(ctx, d, func(r *sql.Rows) (s inPack, err error) {
		var emoji string
		err = r.Scan(&s.pack, &s.Name, &s.Alt, &emoji, &s.Picture.ID, &s.Picture.MIME, &s.Picture.Size, &s.Picture.Width, &s.Picture.Height, &s.Picture.Blurhash, &s.Picture.Thumbnail)
		s.Emoji = strings.Fields(emoji)
		return s, err
	}, `SELECT s.pack, s.name, s.alt, s.emoji, m.id, m.mime, m.size, m.width, m.height, m.blurhash, m.thumbnail
		FROM stickers s JOIN media m ON m.id = s.media_id ORDER BY s.pack, s.place`)
	if err != nil {
		return all, err
	}
	for _, s := range stickers {
		if i, ok := at[s.pack]; ok { // the pack may have come meanwhile
			all.Packs[i].Stickers = append(all.Packs[i].Stickers, s.Sticker)
		}
	}
	all.Emoji, err = list(ctx, d, func(r *sql.Rows) (e im.CustomEmoji, err error) {
		return e, r.Scan(&e.Name, &e.Picture.ID, &e.Picture.MIME, &e.Picture.Size, &e.Picture.Width, &e.Picture.Height, &e.Picture.Blurhash, &e.Picture.Thumbnail)
	}, `SELECT e.name, m.id, m.mime, m.size, m.width, m.height, m.blurhash, m.thumbnail
		FROM custom_emoji e JOIN media m ON m.id = e.media_id ORDER BY e.name`)
	return all, err
}

// SetStickerPack puts a pack in the place of the one of its name; without stickers it is
// withdrawn. Pictures that nothing names any more are thrown away at a time. not_found names
// the first sticker whose picture is no complete upload: its field.
func (d *DB) SetStickerPack(ctx context.Context, p im.StickerPack, now, unnamed time.Time) (revision uint64, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if revision, err = d.moveStickers(tx, now); err != nil {
			return err
		}
		had, err := pictures(tx, "SELECT DISTINCT media_id FROM stickers WHERE pack = $1", p.Name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM stickers WHERE pack = $1", p.Name); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM sticker_packs WHERE name = $1", p.Name); err != nil {
			return err
		}
		if err := putPack(tx, &p); err != nil {
			return err
		}
		return letGo(tx, had, unnamed)
	})
	return revision, err
}

func putPack(tx *writeTx, p *im.StickerPack) error {
	if len(p.Stickers) == 0 {
		return nil
	}
	var packs int
	if err := tx.QueryRow("SELECT COUNT(*) FROM sticker_packs").Scan(&packs); err != nil {
		return err
	}
	if packs >= im.MaxStickerPacks {
		return im.TooLarge("name", "would be one more pack; at most %d are allowed", im.MaxStickerPacks)
	}
	if _, err := tx.Exec("INSERT INTO sticker_packs (name, title, place) VALUES ($1, $2, $3)", p.Name, p.Title, int64(p.Order)); err != nil {
		return err
	}
	for i := range p.Stickers {
		s := &p.Stickers[i]
		if err := holdPicture(tx, s.Picture.ID); err != nil {
			return im.In(fmt.Sprintf("stickers[%d]", i), err)
		}
		_, err := tx.Exec("INSERT INTO stickers (pack, name, place, media_id, alt, emoji) VALUES ($1, $2, $3, $4, $5, $6)",
			p.Name, s.Name, int64(i), s.Picture.ID, s.Alt, strings.Join(s.Emoji, " "))
		if err != nil {
			return err
		}
	}
	return nil
}

// SetCustomEmoji gives an emoji a picture; "" withdraws it. The rest is as for SetStickerPack.
func (d *DB) SetCustomEmoji(ctx context.Context, name, picture string, now, unnamed time.Time) (revision uint64, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if revision, err = d.moveStickers(tx, now); err != nil {
			return err
		}
		had, err := pictures(tx, "SELECT media_id FROM custom_emoji WHERE name = $1", name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM custom_emoji WHERE name = $1", name); err != nil {
			return err
		}
		if picture != "" {
			var emoji int
			if err := tx.QueryRow("SELECT COUNT(*) FROM custom_emoji").Scan(&emoji); err != nil {
				return err
			}
			if emoji >= im.MaxCustomEmoji {
				return im.TooLarge("name", "would be one more emoji; at most %d are allowed", im.MaxCustomEmoji)
			}
			if err := holdPicture(tx, picture); err != nil {
				return err
			}
			if _, err := tx.Exec("INSERT INTO custom_emoji (name, media_id) VALUES ($1, $2)", name, picture); err != nil {
				return err
			}
		}
		return letGo(tx, had, unnamed)
	})
	return revision, err
}

// moveStickers moves the revision, and is the lock under which stickers change. It is a
// time, as far as the clock goes forward: a directory that was put back does not come to the
// same revisions again.
func (d *DB) moveStickers(tx *writeTx, now time.Time) (uint64, error) {
	var r int64
	err := tx.QueryRow(`INSERT INTO sticker_revision (id, revision) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET revision = CASE WHEN excluded.revision > sticker_revision.revision THEN excluded.revision ELSE sticker_revision.revision + 1 END
		RETURNING revision`, msOf(now)).Scan(&r)
	return uint64(r), err
}

func pictures(tx *writeTx, query, of string) ([]string, error) {
	rows, err := tx.Query(query, of)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, func(r *sql.Rows) (id string, err error) { return id, r.Scan(&id) })
}

// holdPicture keeps the picture of a sticker or an emoji.
func holdPicture(tx *writeTx, id string) error {
	n, err := tx.Exec("UPDATE media SET expires_at = 0 WHERE id = $1 AND state = $2", id, uploadReady)
	if err != nil {
		return err
	}
	if n == 0 {
		e := im.Errorf(im.CodeNotFound, "no such upload, or it is not complete")
		e.Field = "media"
		return e
	}
	_, err = tx.Exec("INSERT INTO media_names ("+nameColumns+") VALUES ($1, $2, $3, $4, 0, $5) ON CONFLICT (conversation, sender, message_id, media_id) DO NOTHING",
		id, stickerHolder, "", noMessage, neverChecked)
	return err
}

// letGo lets pictures go that no sticker and no emoji has any more. The upload's row is the
// lock under which it is named.
func letGo(tx *writeTx, ids []string, unnamed time.Time) error {
	slices.Sort(ids)
	for _, id := range ids {
		if _, err := tx.Exec("UPDATE media SET state = state WHERE id = $1", id); err != nil {
			return err
		}
		gone, err := tx.Exec(`DELETE FROM media_names WHERE conversation = $1 AND sender = '' AND media_id = $2
			AND NOT EXISTS (SELECT 1 FROM stickers WHERE media_id = $2) AND NOT EXISTS (SELECT 1 FROM custom_emoji WHERE media_id = $2)`, stickerHolder, id)
		if err != nil {
			return err
		}
		if gone == 0 {
			continue
		}
		if _, err := tx.Exec("UPDATE media SET expires_at = $2 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM media_names WHERE media_id = $1)", id, msOf(unnamed)); err != nil {
			return err
		}
	}
	return nil
}
