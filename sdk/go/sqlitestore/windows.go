package sqlitestore

import (
	"context"
	"encoding/binary"
	"errors"

	skein "github.com/skein-im/skein/sdk/go"
)

// The earlier times of membership are a row of varints, three for each.

func encodeWindows(ws []skein.Window) []byte {
	b := []byte{}
	for _, w := range ws {
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, w.First), w.Until), w.Hidden)
	}
	return b
}

func decodeWindows(b []byte) (ws []skein.Window, err error) {
	for len(b) > 0 {
		var w skein.Window
		for _, p := range []*uint64{&w.First, &w.Until, &w.Hidden} {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errors.New("stored times of membership are damaged")
			}
			*p, b = v, b[n:]
		}
		ws = append(ws, w)
	}
	return ws, nil
}

// upgrade brings a file of schema 1 to schema 2, within a transaction. Schema 1
// did not know of earlier times of membership: the server tells them with the
// conversation list, so the client reads that again.
func (s *Store) upgrade(ctx context.Context) error {
	_, err := s.conn.ExecContext(ctx, `
		ALTER TABLE conversation ADD COLUMN earlier BLOB NOT NULL DEFAULT x'';
		UPDATE meta SET listing = 1, list_next = '' WHERE position != '';
		PRAGMA user_version = 2`)
	return err
}
