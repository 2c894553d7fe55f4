package sqlitestore

import (
	"context"
	"database/sql"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// upgrade brings a file of an earlier schema to this one, within a transaction.
// Schema 1 did not know of earlier times of membership, 1 and 2 not of what was
// recalled: the server tells both with the conversation list, so the client reads
// that again. Up to 3 amendments were kept as entries, and the newest entry was the
// last one of the window. Up to 4 nothing was known of what users set for themselves,
// up to 5 nothing of unread mentions, and up to 6 nothing of what disappears, which the
// list tells, too. Up to 7 a question to the server was not kept: such a client goes on
// as it did. Up to 8 no threads were kept: none is until it is read.
func (s *Store) upgrade(ctx context.Context, from int) error {
	var text string
	if from < 2 {
		text += "ALTER TABLE conversation ADD COLUMN earlier BLOB NOT NULL DEFAULT x'';"
	}
	if from < 3 {
		text += `
			ALTER TABLE conversation ADD COLUMN recalled BLOB NOT NULL DEFAULT x'';`
	}
	if from < 4 {
		text += "ALTER TABLE conversation ADD COLUMN newest BLOB;"
	}
	if from < 5 {
		text += "ALTER TABLE conversation ADD COLUMN mine BLOB;"
	}
	if from < 6 {
		text += "ALTER TABLE conversation ADD COLUMN mentions BLOB NOT NULL DEFAULT x'';"
	}
	if from < 7 {
		text += `
			ALTER TABLE conversation ADD COLUMN lifetimes BLOB NOT NULL DEFAULT x'';
			UPDATE meta SET listing = 1, list_next = '' WHERE position != '';`
	}
	if from < 8 {
		text += "ALTER TABLE conversation ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0;"
	}
	text += threadTable + "PRAGMA user_version = 9"
	if _, err := s.conn.ExecContext(ctx, text); err != nil || from >= 4 {
		return err
	}
	w := &writer{s: s, ctx: ctx}
	if err := w.dropAmendments(); err != nil {
		return err
	}
	return w.nameNewest()
}

// dropAmendments deletes the amendments of all windows: what they made of their
// targets is stored there.
func (w *writer) dropAmendments() error {
	var drop []skein.EntryRef
	err := w.s.query(w.ctx, func(rows *sql.Rows) error {
		var body []byte
		var at skein.EntryRef
		if err := rows.Scan(&at.Conversation, &at.Seq, &body); err != nil {
			return err
		}
		e, err := decodeEntry(body)
		if err == nil && e.GetTarget() != 0 {
			drop = append(drop, at)
		}
		return err
	}, "SELECT conversation, seq, body FROM entry")
	if err != nil {
		return err
	}
	for _, at := range drop {
		w.exec("DELETE FROM entry WHERE conversation = ? AND seq = ?", at.Conversation, int64(at.Seq))
	}
	return w.err
}

// nameNewest names the last entry of each window as the newest; if it was an
// amendment, the last one is the one before it that is none.
func (w *writer) nameNewest() error {
	newest := map[string]*wire.Entry{}
	err := w.s.query(w.ctx, func(rows *sql.Rows) error {
		var id string
		var last []byte
		err := rows.Scan(&id, &last)
		if err == nil {
			newest[id], err = decodeEntry(last)
		}
		return err
	}, "SELECT id, last FROM conversation WHERE last IS NOT NULL")
	if err != nil {
		return err
	}
	for id, e := range newest {
		n := &wire.Newest{Conversation: e.Conversation, Seq: e.Seq, Id: e.Id, StoredAtMs: e.StoredAtMs, Pos: e.Pos}
		w.exec("UPDATE conversation SET newest = ? WHERE id = ?", w.newest(n), id)
		if e.Target != 0 {
			w.exec(`UPDATE conversation SET last = (SELECT body FROM entry
				WHERE conversation = ? AND seq < ? ORDER BY seq DESC LIMIT 1) WHERE id = ?`, id, int64(e.Seq), id)
		}
	}
	return w.err
}
