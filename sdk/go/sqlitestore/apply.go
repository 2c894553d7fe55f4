package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Apply implements skein.Store: one transaction.
func (s *Store) Apply(ctx context.Context, b *skein.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // all or nothing, and known which
	err := s.inTx(ctx, func() error {
		w := &writer{s: s, ctx: ctx}
		w.window(b)
		w.records(b)
		w.feed(b)
		return w.err
	})
	if err != nil {
		return fmt.Errorf("sqlitestore: apply: %w", err)
	}
	return nil
}

// writer runs statements until the first error.
type writer struct {
	s   *Store
	ctx context.Context
	err error
}

func (w *writer) exec(text string, args ...any) {
	if w.err != nil {
		return
	}
	var st *sql.Stmt
	if st, w.err = w.s.stmt(w.ctx, text); w.err == nil {
		_, w.err = st.ExecContext(w.ctx, args...)
	}
}

func (w *writer) marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil && w.err == nil {
		w.err = err
	}
	return b
}

func (w *writer) entry(e *wire.Entry) any {
	if e == nil {
		return nil
	}
	return w.marshal(e)
}

func (w *writer) newest(n *wire.Newest) any {
	if n == nil {
		return nil
	}
	return w.marshal(n)
}

func (w *writer) mine(m *wire.MyState) any {
	if m == nil {
		return nil
	}
	return w.marshal(m)
}

func (w *writer) window(b *skein.Batch) {
	if b.Reset {
		w.exec("DELETE FROM entry")
		w.exec("DELETE FROM conversation")
		w.exec("DELETE FROM thread")
	}
	for _, t := range b.ForgetThreads {
		w.exec("DELETE FROM thread WHERE conversation = ? AND root = ?", t.Conversation, int64(t.Seq))
	}
	for _, t := range b.Threads {
		w.exec("INSERT OR REPLACE INTO thread VALUES (?, ?, ?, ?, ?)", t.Conversation, int64(t.Root), t.Stale, int64(t.Used),
			w.marshal(&wire.ListThreadResponse{Thread: t.Thread, Entries: t.Replies, Next: t.Before}))
	}
	for _, f := range b.Forget {
		w.exec("DELETE FROM entry WHERE conversation = ? AND seq < ?", f.Conversation, int64(f.Seq))
	}
	for _, e := range b.Entries {
		w.exec("INSERT INTO entry VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
			e.Conversation, int64(e.Seq), w.marshal(e))
	}
}

func (w *writer) records(b *skein.Batch) {
	for _, c := range b.Conversations {
		w.exec(`INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Title, int64(c.First), int64(c.Until), int64(c.Low), int64(c.High), int64(c.Head), int64(c.HeadCount),
			c.LastAtMs, int64(c.Read), int64(c.ReadCount), int64(c.Received), c.MarkedAtMs,
			int64(c.PeerReceived), int64(c.PeerRead), w.entry(c.Last), encodeWindows(c.Earlier), encodeSeqs(c.Recalled, c.RecalledMore),
			w.newest(c.Newest), w.mine(c.Mine), encodeSeqs(c.Mentions, c.MentionsMore),
			encodeLifetimes(c.Lifetimes), c.Unsure)
	}
	if m := b.Meta; m != nil {
		w.exec("INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
			m.User, m.Timeline, m.Device, m.Position, m.Listing, m.ListNext, m.SettledAtMs)
	}
	for _, n := range b.OutboxDelete {
		w.exec("DELETE FROM outbox WHERE n = ?", int64(n))
	}
	for _, o := range b.OutboxPut {
		w.exec("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)",
			int64(o.N), o.State, w.marshal(o.Send), o.MadeAtMs, int64(o.Seq), o.Code, o.Reason)
	}
}

func (w *writer) feed(b *skein.Batch) {
	var last uint64
	for _, f := range b.Feed {
		w.exec("INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?, ?)", int64(f.N), f.Kind, f.Conversation,
			int64(f.From), int64(f.Seq), w.entry(f.Entry), w.failed(f.Failed))
		last = f.N
	}
	if last > 0 {
		w.exec("UPDATE counter SET n = ? WHERE name = 'feed'", int64(last))
	}
	for _, e := range b.Changed {
		body := w.marshal(e)
		w.exec("UPDATE entry SET body = ? WHERE conversation = ? AND seq = ?", body, e.Conversation, int64(e.Seq))
		w.exec("UPDATE feed SET entry = ? WHERE conversation = ? AND seq = ? AND entry IS NOT NULL", body, e.Conversation, int64(e.Seq))
	}
	if b.FeedHandled > 0 {
		w.exec("DELETE FROM feed WHERE n <= ?", int64(b.FeedHandled))
	}
}

func (w *writer) failed(o *skein.OutboxRecord) any {
	if o == nil || w.err != nil {
		return nil
	}
	send, err := protojson.Marshal(o.Send)
	if err != nil {
		w.err = err
		return nil
	}
	b, err := json.Marshal(failed{N: o.N, Send: string(send), MadeAtMs: o.MadeAtMs, Code: o.Code, Reason: o.Reason})
	if err != nil {
		w.err = err
		return nil
	}
	return string(b)
}

func unmarshalJSON(s string, v any) error {
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("stored event: %w", err)
	}
	return nil
}
