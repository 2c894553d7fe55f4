package e2e

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
	journal "github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

// stored gives a device a store in a file.
func stored(t *testing.T, d device) device {
	t.Helper()
	s := must(sqlitestore.Open(filepath.Join(t.TempDir(), "store.db")))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d.store = s
	return d
}

// synced says hello with a position and returns what the server answers.
func (r *raw) synced(token, device string, s *wire.Sync) *wire.SyncDelta {
	r.t.Helper()
	r.say(wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: token, Device: &wire.Device{Id: device, Class: wire.DeviceClass_DEVICE_CLASS_DESKTOP, Name: device}, Sync: s,
	}))
	var delta *wire.SyncDelta
	r.until("the answer to a sync", func(f *wire.ServerFrame) bool {
		delta = f.GetSyncDelta()
		return delta != nil
	})
	return delta
}

// sends sends a message with an id of the test's and returns the ack.
func (r *raw) sends(conversation string, id im.MessageID, text string) (ack *wire.SendAck, code string) {
	r.t.Helper()
	r.say(wire.NewClientFrame(&wire.Send{
		Conversation: conversation, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
	}))
	r.until("the ack of "+text, func(f *wire.ServerFrame) bool {
		if e := f.GetSendError(); e != nil {
			code = e.GetError().GetCode()
		}
		ack = f.GetSendAck()
		return ack != nil || code != ""
	})
	return ack, code
}

func standing(t *testing.T, p *person, conversation string) string {
	t.Helper()
	s := must(p.Conversation(conversation).Summary(t.Context()))(t)
	return fmt.Sprintf("%q unread %d read %d peer %d/%d to %d member %v", s.Title, s.Unread, s.Read, s.PeerReceived, s.PeerRead, s.High, s.Member)
}

// farAhead lets the positions of an empty store begin where no new database's
// transaction ids are: what is not carried over shows then.
func farAhead(t *testing.T, dir string) {
	t.Helper()
	db := must(pebble.Open(filepath.Join(dir, "journal", "db"), &pebble.Options{
		FormatMajorVersion: pebble.FormatTableFormatV6, ErrorIfNotExists: true, Logger: quiet{},
	}))(t)
	last, closer, err := db.Get([]byte{0x24})
	if err != nil {
		t.Fatal(err)
	}
	moved := append(binary.BigEndian.AppendUint64(nil, 1e12), last[8:]...)
	err = errors.Join(closer.Close(), db.Set([]byte{0x24}, moved, pebble.Sync), db.Close(), os.Remove(filepath.Join(dir, "journal", "witness")))
	if err != nil {
		t.Fatal(err)
	}
	j := must(journal.Open(filepath.Join(dir, "journal"), journal.Options{AcceptLoss: true, Logger: slog.New(slog.DiscardHandler)}))(t)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateStore: the server of a store moves to PostgreSQL, and its clients
// notice nothing but a pause.
func TestMigrateStore(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.Stop(t)
	farAhead(t, p.dir)
	p.Start(t)
	database := pgtest.Database(t)
	annsPhone, bobsPhone := stored(t, newDevice(t, p, "ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 0)), stored(t, newDevice(t, p, "bob", wire.DeviceClass_DEVICE_CLASS_PHONE, 1))
	ann, bob, cem := connect(t, p, annsPhone), connect(t, p, bobsPhone), join(t, p, "cem", 2)
	befriend(t, ann, bob, cem)
	dm := ann.DM("bob").ID()
	g := must(ann.Groups().Create(t.Context(), "Tea", "bob", "cem"))(t).Conversation
	for i := range 5 {
		ann.says(g, fmt.Sprint("tea ", i))
		ann.says(dm, fmt.Sprint("dm ", i))
	}
	bob.hears("dm 4")
	bob.reaches(g, 6)
	if err := bob.Conversation(dm).MarkRead(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	ann.until("bob's marks", func([]skein.Event) bool {
		s, err := ann.Conversation(dm).Summary(t.Context())
		return err == nil && s.PeerRead == 3 && s.PeerReceived == 5
	})
	token := mint(t, p, "cem", time.Hour).AccessToken
	desk := dialRaw(t, p, 0)
	position := desk.synced(token, "desk", &wire.Sync{})
	oldID := im.NewMessageID(time.Now(), [10]byte{1, 2, 3})
	oldAck, _ := desk.sends(g, oldID, "sent before")
	bob.reaches(g, oldAck.GetSeq())
	bob.leave() // and misses this
	ann.says(dm, "missed 1")
	ann.says(g, "missed 2")
	before := standing(t, ann, dm) + standing(t, ann, g)

	if _, stderr := runs(t, "", 1, "migrate-store", "--data", p.dir, "--to", database); !strings.Contains(stderr, "in use by another process") || !strings.Contains(stderr, "must be stopped") {
		t.Errorf("a running server's store: %q", stderr)
	}
	p.Stop(t)
	waiting := must(ann.Conversation(g).SendAsync(t.Context(), "sent in the pause"))(t)
	migrateNow(t, p.dir, database)
	if _, stderr := runs(t, "", 1, "serve", "--data", p.dir, "--http", "127.0.0.1:0", "--admin", ""); !strings.Contains(stderr, "MIGRATED") || !strings.Contains(stderr, "--store") {
		t.Errorf("a server on the old store: %q", stderr)
	}
	p.args = append(p.args, "--store", database)
	p.Start(t)

	if m := must(waiting.Wait(deadline(t)))(t); m.Seq != 9 {
		t.Errorf("the message of the pause is #%d, want #9", m.Seq)
	}
	delta := dialRaw(t, p, 0).synced(token, "desk", &wire.Sync{Position: position.Position, Timeline: position.Timeline})
	checkDelta(t, delta, g)
	bob = connect(t, p, bobsPhone)
	bob.hears("sent in the pause")
	bob.reaches(dm, 6)
	agree(t, dm, 6, ann, bob)
	agree(t, g, 9, ann, bob, cem)
	if got := bob.heard(dm); !slices.Equal(got, []string{"missed 1"}) {
		t.Errorf("bob gets %q in the dm", got)
	}
	if got := bob.heard(g); !slices.Equal(got, []string{"missed 2", "sent in the pause"}) {
		t.Errorf("bob gets %q in the group", got)
	}
	if s := must(bob.Conversation(dm).Summary(t.Context()))(t); s.Read != 3 || s.Unread != 3 {
		t.Errorf("bob's mark is %d, unread %d; want 3 and 3", s.Read, s.Unread)
	}
	want := strings.NewReplacer("peer 5/3", "peer 6/3", "read 8", "read 9", "to 8", "to 9").Replace(before) // bob received, ann sent
	ann.until("the marks: "+want, func([]skein.Event) bool { return standing(t, ann, dm)+standing(t, ann, g) == want })

	goesOn(t, p, g, token, oldID, oldAck, ann, bob, cem)
	notReset(t, ann, bob, cem)
}

func notReset(t *testing.T, all ...*person) {
	t.Helper()
	for _, p := range all {
		p.mu.Lock()
		if slices.ContainsFunc(p.events, func(e skein.Event) bool { _, reset := e.(*skein.ResetEvent); return reset }) {
			t.Errorf("%s was reset", p.device.user)
		}
		p.mu.Unlock()
	}
}

// migrateNow runs the command, twice: the second finds nothing left to do.
func migrateNow(t *testing.T, dir, database string) {
	t.Helper()
	out, stderr := runs(t, "", 0, "migrate-store", "--data", dir, "--to", database)
	if !strings.Contains(out, "found equal") || !strings.Contains(stderr, "entries: ") {
		t.Errorf("migrate-store says %s\n%s", out, stderr)
	}
	marker := must(os.ReadFile(filepath.Join(dir, "MIGRATED")))(t)
	if !strings.Contains(string(marker), "postgres://") || strings.Contains(string(marker), "@") {
		t.Errorf("the marker says %s", marker)
	}
	if _, stderr := runs(t, "", 1, "doctor", "--data", dir); !strings.Contains(stderr, "bad") {
		t.Errorf("doctor on a store that was copied away: %q", stderr)
	}
	out, _ = runs(t, "", 0, "migrate-store", "--data", dir, "--to", database, "--json")
	var sum struct{ Already bool }
	if err := json.Unmarshal([]byte(out), &sum); err != nil || !sum.Already {
		t.Errorf("again: %v, %s", err, out)
	}
}

// checkDelta: a device that was away gets what it lacks, and no more.
func checkDelta(t *testing.T, delta *wire.SyncDelta, group string) {
	t.Helper()
	if delta.Reset_ {
		t.Error("a device was reset")
	}
	var got []string
	for _, c := range delta.Conversations { // others for their marks alone
		for _, e := range c.Entries {
			got = append(got, fmt.Sprintf("%s#%d", c.Conversation, e.Seq))
		}
	}
	if want := []string{group + "#7", group + "#8", group + "#9"}; !slices.Equal(got, want) {
		t.Errorf("a device of cem's gets %s, want %s", got, want)
	}
}

// goesOn: old ids are known, groups and logins go on.
func goesOn(t *testing.T, w World, g, token string, oldID im.MessageID, oldAck *wire.SendAck, ann, bob, cem *person) {
	t.Helper()
	r := dialRaw(t, w, 0)
	r.hello(token, "desk", wire.DeviceClass_DEVICE_CLASS_DESKTOP)
	ack, code := r.sends(g, oldID, "sent before")
	if ack.GetSeq() != oldAck.GetSeq() || ack.GetStoredAtMs() != oldAck.GetStoredAtMs() || ack.GetCount() != oldAck.GetCount() {
		t.Errorf("sent again: %v %s, want %v", ack, code, oldAck)
	}
	if ack, code := r.sends(g, oldID, "something else"); ack != nil || code != string(wire.CodeIdConflict) {
		t.Errorf("an old id with another text: %v %q", ack, code)
	}
	if _, err := ann.Groups().Remove(t.Context(), g, "cem"); err != nil {
		t.Fatal(err)
	}
	bob.says(g, "without cem")
	ann.hears("without cem")
	ctx := deadline(t)
	if _, err := cem.Conversation(g).Send(ctx, "still here?"); err == nil {
		t.Error("who was removed still writes")
	}
	if _, err := ann.Groups().Add(t.Context(), g, "cem"); err != nil {
		t.Fatal(err)
	}
	cem.says(g, "back")
	bob.hears("back")
}

// TestMigrateKilled: killed in the middle, the command goes on where it was.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	newDevice(t, p, "a", wire.DeviceClass_DEVICE_CLASS_PHONE, 0) // messages without any user are half a store
	p.Stop(t)
	const entries = 60_000
	j := must(journal.Open(filepath.Join(p.dir, "journal"), journal.Options{}))(t)
	now := time.Now()
	for n := 0; n < entries; n += 5000 {
		batch, out := make([]im.Append, 5000), make([]im.Appended, 5000)
		for i := range batch {
			k := n + i
			batch[i] = im.Append{Hash: uint64(k), Entry: im.Entry{
				Conversation: im.ConversationID(fmt.Sprintf("dm:a:u%d", k%1000)), Sender: "a", Kind: im.EntryMessage,
				ID:   im.NewMessageID(now.Add(time.Duration(k)*time.Millisecond), [10]byte{byte(k), byte(k >> 8), byte(k >> 16)}),
				Body: []byte("one of many messages"),
			}}
		}
		if err := j.Append(t.Context(), batch, out); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	database := pgtest.Database(t)
	first := launch(t, nil, "migrate-store", "--data", p.dir, "--to", database)
	copied := func() int64 {
		rows, err := pgtest.Collect[struct{ N int64 }](t.Context(), database, "SELECT entries FROM skein_migration")
		if err != nil || len(rows) == 0 {
			return 0 // not there yet
		}
		return rows[0].N
	}
	for ctx := deadline(t); copied() == 0; {
		select {
		case <-first.done:
			t.Fatalf("it ended too soon:\n%s", &first.err)
		case <-ctx.Done():
			t.Fatal("it copies nothing")
		default:
		}
	}
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.done
	if _, stderr := runs(t, "", 1, "serve", "--data", t.TempDir(), "--store", database, "--http", "127.0.0.1:0", "--admin", ""); !strings.Contains(stderr, "skein migrate-store") {
		t.Errorf("a server on half a copy: %q", stderr)
	}
	out, _ := runs(t, "", 0, "migrate-store", "--data", p.dir, "--to", database, "--json")
	var sum struct {
		Resumed       bool
		EntriesBefore int64 `json:"entries_before"`
		Entries       int64
	}
	if err := json.Unmarshal([]byte(out), &sum); err != nil || !sum.Resumed || sum.EntriesBefore == 0 || sum.EntriesBefore >= entries || sum.Entries != entries {
		t.Errorf("%v: %s", err, out)
	}
	p.args = append(p.args, "--store", database)
	p.Start(t)
	p.Stop(t)
}
