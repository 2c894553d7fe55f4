package directory

import (
	"context"
	"errors"
	"fmt"
)

// Blob is bytes that a directory names, which are kept elsewhere (internal/media/blob).
type Blob struct {
	Name string
	// Hash is the SHA-256 of its content in hex, "" where nobody noted it.
	Hash string
	// Named: a message names an upload that has it. Nobody throws it away.
	Named bool
	// Piece: it is a part of an upload that is not complete, and soon thrown away.
	Piece bool
}

// Blobs calls each for every blob that the directory names, once, in the order of their
// names.
func (r *Reader) Blobs(ctx context.Context, each func(Blob) error) error {
	rows, err := r.db.QueryContext(ctx, `
		SELECT b.blob, b.hash, MAX(CASE WHEN m.expires_at = 0 THEN 1 ELSE 0 END), 0 FROM media m JOIN media_blobs b ON b.hash = m.hash GROUP BY b.blob, b.hash
		UNION ALL SELECT thumbnail, '', CASE WHEN expires_at = 0 THEN 1 ELSE 0 END, 0 FROM media WHERE thumbnail <> ''
		UNION ALL SELECT blob, '', 0, 1 FROM media_pieces
		ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("directory: blobs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var b Blob
		var named, piece int
		if err := rows.Scan(&b.Name, &b.Hash, &named, &piece); err != nil {
			return fmt.Errorf("directory: blobs: %w", err)
		}
		b.Named, b.Piece = named == 1, piece == 1
		if err := each(b); err != nil {
			return err
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("directory: blobs: %w", err)
	}
	return nil
}
