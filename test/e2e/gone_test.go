package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestGone: what was said in a group disappears after a day, for both members, on every
// device and by every door, also where the process that gives it up in the store is killed
// half-way.
func TestGone(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		gone(t, newMoved(t, "", 1), 6000, killedAndBack)
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		gone(t, newMoved(t, pgtest.Database(t), 1), 20, func(*testing.T, *moved, string, func()) {})
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		gone(t, newMoved(t, pgtest.Database(t), 2), 3000, killedForGood)
	})
}

// day is a group in which something was said that is to disappear.
type day struct {
	t              *testing.T
	w              *moved
	group, another string
	// stays is a message from before, first to last are what goes; target, poll and
	// streamed are messages among them.
	stays, first, last     uint64
	target, poll, streamed uint64
	ann, bob, desk         *person
}

// gone lets a day pass, and an hour. killing is told how to let it pass, and sees to it that
// the store gives up what is gone.
func gone(t *testing.T, w *moved, n int, killing func(t *testing.T, w *moved, group string, pass func())) {
	d := newDay(t, w)
	away := connect(t, w, w.device(t, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 3))
	d.said(n)
	for _, p := range []*person{d.ann, d.bob, d.desk, away} {
		p.reaches(d.group, d.last)
		if ms := must(p.Conversation(d.group).History(deadline(t), d.target+1, 1))(t); len(ms) != 1 || ms[0].Text != "gone, edited" {
			t.Errorf("before, %s has %+v", p.device.id, ms)
		}
	}
	waits(t, "what is to be gone to be found", func() bool {
		es := d.found(d.bob)
		return len(es) == 1 && es[0].Seq == d.target
	})
	tablet := away.device
	away.leave()
	if left := d.list(d.bob); left.Unread == 0 || left.UnreadMentions != 1 {
		t.Errorf("before: %d unread, %d mentions", left.Unread, left.UnreadMentions)
	}
	killing(t, w, d.group, func() { w.move(t, 25*time.Hour) })
	if w.clock.Ahead() == 0 {
		w.move(t, 25*time.Hour)
	}
	d.doors("gone", d.last)
	d.devices("gone", d.last, d.ann, d.bob, d.desk)
	w.given(t, d.group, d.first, d.last)
	d.doors("given up", d.last)

	next := d.ann.says(d.group, "the next day")
	if next.Seq != d.last+1 || next.Count == 0 {
		t.Errorf("the next message is %d, the %dth, after %d", next.Seq, next.Count, d.last)
	}
	d.bob.hears("the next day")
	fresh := connect(t, w, w.device(t, "bob", wire.DeviceClass_DEVICE_CLASS_OTHER, 0))
	d.devices("the next day", next.Seq, d.ann, d.bob, d.desk, connect(t, w, tablet), fresh)
	if got := d.list(d.bob); got.Unread != 1 || got.UnreadMentions != 0 {
		t.Errorf("the next day: %d unread, %d mentions", got.Unread, got.UnreadMentions)
	}
	w.move(t, 25*time.Hour) // the next day's message, too: the period goes on
	d.last = next.Seq
	d.doors("two days later", d.last)
	w.given(t, d.group, d.first, d.last)
}

// newDay connects ann and bob, at two devices.
func newDay(t *testing.T, w *moved) *day {
	t.Helper()
	return &day{
		t: t, w: w, ann: connect(t, w, w.device(t, "ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 0)),
		bob:  connect(t, w, w.device(t, "bob", wire.DeviceClass_DEVICE_CLASS_PHONE, 1)),
		desk: connect(t, w, w.device(t, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2)),
	}
}

// device is another device of a user's, for a hundred days.
func (m *moved) device(t *testing.T, user string, class wire.DeviceClass, which int) device {
	t.Helper()
	dev := newDevice(t, m, user, class, which)
	dev.token = mint(t, m, user, 100*24*time.Hour).AccessToken
	return dev
}

// ask is a call of a user's, asked again when the process that it was with is gone.
func (d *day) ask(p *person, method string, req, resp proto.Message) error {
	for ctx := deadline(d.t); ; time.Sleep(50 * time.Millisecond) {
		err := skein.Post(ctx, d.w.HTTP(), "skein.v1.MessageService/"+method, p.device.token, req, resp)
		if ctx.Err() != nil || !isCode(err, wire.CodeUnknown) && !isCode(err, wire.CodeUnavailable) {
			return err
		}
	}
}

func (d *day) must(p *person, method string, req, resp proto.Message) {
	d.t.Helper()
	if err := d.ask(p, method, req, resp); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

// said makes the group, and says n messages and more.
func (d *day) said(n int) {
	t, ctx := d.t, deadline(d.t)
	d.group = must(d.ann.Groups().Create(ctx, "Tea", "bob"))(t).Conversation
	d.another = must(d.ann.Groups().Create(ctx, "Other", "bob"))(t).Conversation
	tea := d.ann.Conversation(d.group)
	d.bob.reaches(d.group, 1)
	d.stays = d.ann.says(d.group, "stays").Seq
	d.bob.reaches(d.group, d.stays)
	check := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	check(d.bob.Conversation(d.group).MarkRead(ctx, d.stays), tea.SetLifetime(ctx, 24*time.Hour))
	d.first = d.stays + 2
	d.target = d.ann.says(d.group, "gone", skein.Mention("bob")).Seq
	check(tea.Edit(ctx, d.target, "gone, edited", skein.Mention("bob")), tea.Pin(ctx, d.target), tea.Edit(ctx, d.stays, "stays, edited"))
	d.bob.reaches(d.group, d.target)
	check(d.bob.Conversation(d.group).React(ctx, d.target, "👍"), d.bob.Conversation(d.group).React(ctx, d.stays, "👍"))
	d.poll = must(tea.SendPoll(ctx, skein.Poll{Question: "gone?", Options: []string{"yes", "no"}}))(t).Seq
	d.bob.reaches(d.group, d.poll)
	check(d.bob.Conversation(d.group).Vote(ctx, d.poll, "1"))
	s := must(tea.Stream(ctx, "gone"))(t)
	check(s.Append(ctx, " in parts"), s.End(ctx))
	d.streamed = s.Seq()
	for i := range n {
		if i%500 == 499 { // so many at a time, each with its own deadline
			d.ann.says(d.group, fmt.Sprint("gone ", i))
			continue
		}
		must(tea.SendAsync(deadline(t), fmt.Sprint("gone ", i)))(t)
	}
	d.last = d.ann.says(d.group, "the last that is gone").Seq
}

// list is what a user is told of the group who asks for the list.
func (d *day) list(p *person) *wire.ConversationState {
	d.t.Helper()
	var resp wire.ListConversationsResponse
	d.must(p, "ListConversations", &wire.ListConversationsRequest{}, &resp)
	for _, s := range resp.Delta.Conversations {
		if s.Conversation == d.group {
			return s
		}
	}
	d.t.Fatal("the group is not in the list")
	return nil
}

// doors asks for what is gone in every way there is.
func (d *day) doors(when string, head uint64) {
	t := d.t
	t.Helper()
	var at int64
	for _, p := range []*person{d.ann, d.bob} {
		st := d.list(p)
		told := fmt.Sprint(st.FirstSeq, st.Unread, st.UnreadMentions, st.Seq, len(st.Earlier), len(st.Lifetimes))
		if want := fmt.Sprint(head+1, 0, 0, head, 1, 1); told != want || st.Earlier[0].UntilSeq != d.first-1 {
			t.Errorf("%s: %s is told first, unread, mentions, head, windows, periods %s, want %s, and %v", when, p.User(), told, want, st.Earlier)
		}
		d.only(when+", the list", st.Entries)
		for _, req := range []*wire.ListEntriesRequest{{Limit: 200}, {Backward: true, Limit: 200}, {From: d.first, Limit: 200}, {From: head, Backward: true, Limit: 200}} {
			req.Conversation = d.group
			var page wire.ListEntriesResponse
			d.must(p, "ListEntries", req, &page)
			d.only(fmt.Sprint(when, ", entries ", req), page.Entries)
			for _, e := range page.Entries {
				if e.Seq == d.stays {
					at = e.StoredAtMs
					if e.GetContent().GetText() != "stays, edited" || len(e.Reactions) != 1 || e.Edits != 1 {
						t.Errorf("%s: what stays is %v", when, e)
					}
				}
			}
		}
		var dated wire.ListEntriesResponse
		d.must(p, "ListEntries", &wire.ListEntriesRequest{Conversation: d.group, AtMs: at + 1, Limit: 200}, &dated)
		d.only(when+", by the date", dated.Entries)
		var mentions wire.ListMentionsResponse
		d.must(p, "ListMentions", &wire.ListMentionsRequest{}, &mentions)
		d.only(when+", mentions", mentions.Entries)
		var pins wire.ListPinsResponse
		d.must(p, "ListPins", &wire.ListPinsRequest{Conversation: d.group}, &pins)
		d.only(when+", pins", pins.Entries)
		d.only(when+", found", d.found(p))
		d.named(when, p)
	}
}

// found is what a user finds who searches for what is to be gone.
func (d *day) found(p *person) (es []*wire.Entry) {
	d.t.Helper()
	var resp wire.SearchMessagesResponse
	d.must(p, "SearchMessages", &wire.SearchMessagesRequest{Query: "gone edited", Conversation: d.group}, &resp)
	for _, f := range resp.Found {
		es = append(es, f.Entry)
	}
	return es
}

// only finds what is gone among entries.
func (d *day) only(what string, es []*wire.Entry) {
	d.t.Helper()
	for _, e := range es {
		if e.Conversation == d.group && d.first <= e.Seq && e.Seq <= d.last {
			d.t.Errorf("%s: %v", what, e)
			return
		}
	}
}

// named names what is gone in whatever takes a message: it is not found.
func (d *day) named(when string, p *person) {
	d.t.Helper()
	id := func() []byte {
		id := wire.NewIDSource(d.w.clock.Now, nil).Next()
		return id[:]
	}
	c, text := d.group, &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "again"}}
	for _, x := range []struct {
		method    string
		req, resp proto.Message
	}{
		{"ListEdits", &wire.ListEditsRequest{Conversation: c, Seq: d.target}, &wire.ListEditsResponse{}},
		{"ListReactions", &wire.ListReactionsRequest{Conversation: c, Seq: d.target}, &wire.ListReactionsResponse{}},
		{"ListReaders", &wire.ListReadersRequest{Conversation: c, Seq: d.target}, &wire.ListReadersResponse{}},
		{"ListVotes", &wire.ListVotesRequest{Conversation: c, Seq: d.poll}, &wire.ListVotesResponse{}},
		{"EditMessage", &wire.EditMessageRequest{Conversation: c, Seq: d.target, Id: id(), Content: text}, &wire.EditMessageResponse{}},
		{"RecallMessage", &wire.RecallMessageRequest{Conversation: c, Seq: d.target}, &wire.RecallMessageResponse{}},
		{"ReactToMessage", &wire.ReactToMessageRequest{Conversation: c, Seq: d.target, Id: id(), Reaction: "🎉"}, &wire.ReactToMessageResponse{}},
		{"VoteInPoll", &wire.VoteInPollRequest{Conversation: c, Seq: d.poll, Id: id(), Options: []string{"2"}}, &wire.VoteInPollResponse{}},
		{"PinMessage", &wire.PinMessageRequest{Conversation: c, Seq: d.poll, Id: id()}, &wire.PinMessageResponse{}},
		{"StreamMessage", &wire.StreamMessageRequest{Conversation: c, Seq: d.streamed, Id: id(), Text: "more", Offset: 13}, &wire.StreamMessageResponse{}},
		{"ForwardMessages", &wire.ForwardMessagesRequest{Conversation: d.another, Messages: []*wire.ForwardSource{{Conversation: c, Seq: d.target}}}, &wire.ForwardMessagesResponse{}},
		{"SetMyState", &wire.SetMyStateRequest{Conversation: c, Delete: []uint64{d.target}}, &wire.SetMyStateResponse{}},
	} {
		if x.method == "PinMessage" && p != d.ann {
			continue // admins alone may
		}
		if err := d.ask(p, x.method, x.req, x.resp); !isCode(err, wire.CodeNotFound) {
			d.t.Errorf("%s: %s by %s: %v, %v", when, x.method, p.User(), err, x.resp)
		}
	}
}

// devices waits until devices show what is left, and nothing else.
func (d *day) devices(when string, head uint64, all ...*person) {
	d.t.Helper()
	want := []string{"stays, edited"}
	if head > d.last {
		want = append(want, "the next day")
	}
	for _, p := range all {
		var got []string
		p.until(when+", what is left", func([]skein.Event) bool {
			s, err := p.Conversation(d.group).Summary(d.t.Context())
			got = slices.DeleteFunc(said(d.t, p, d.group), func(text string) bool { return text == "" })
			return err == nil && s.High >= head && slices.Equal(got, want)
		})
		unread := uint64(0)
		if head > d.last && p.User() == "bob" {
			unread = 1
		}
		p.until(fmt.Sprint(when, ", ", unread, " unread"), func([]skein.Event) bool {
			s, err := p.Conversation(d.group).Summary(d.t.Context())
			return err == nil && s.Unread == unread && s.UnreadMentions == 0
		})
	}
}

// killedAndBack kills the one process while it gives up what is gone, and starts it again.
func killedAndBack(t *testing.T, w *moved, group string, pass func()) {
	pass()
	// It looks every second, and gives up a part of so many in one look.
	time.Sleep(1050 * time.Millisecond)
	w.nodes[0].kill(t)
	empty, all := embeddedBodies(t, w, group)
	t.Logf("killed when %d of %d entries were given up", empty, all)
	w.nodes[0].start(t)
}

// killedForGood kills the one of two processes that gives up what is gone, half-way: at a
// row that is kept locked. The other goes on with it.
func killedForGood(t *testing.T, w *moved, group string, pass func()) {
	ctx := deadline(t)
	c := must(pgx.Connect(ctx, w.database))(t)
	defer c.Close(context.WithoutCancel(ctx))
	tx := must(c.Begin(ctx))(t)
	const middle = 1700
	if _, err := tx.Exec(ctx, "SELECT 1 FROM journal_entries e JOIN journal_heads h USING (slot, no) WHERE h.conversation = $1 AND e.seq = $2 FOR UPDATE OF e", group, middle); err != nil {
		t.Fatal(err)
	}
	pass()
	waits(t, "the half of it", func() bool { return w.emptied(t, group, 1, 1000) > 900 })
	if n := w.emptied(t, group, middle, 1<<40); n > 0 {
		t.Fatalf("%d entries behind the locked one were given up", n)
	}
	holder := must(pgtest.Collect[struct{ Holder string }](ctx, w.database, "SELECT holder FROM followers WHERE name = 'timers'"))(t)
	for i, n := range w.nodes {
		if strings.HasPrefix(holder[0].Holder, fmt.Sprintf("node%d/", i)) {
			n.kill(t)
		}
	}
	if len(w.live()) != 1 {
		t.Fatalf("%q holds the lease, and %d nodes live", holder, len(w.live()))
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
}

func waits(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// emptied counts the entries of a stretch that the database has given up.
func (m *moved) emptied(t *testing.T, group string, first, last uint64) int64 {
	t.Helper()
	n := must(pgtest.Collect[struct{ N int64 }](t.Context(), m.database,
		"SELECT count(*) FROM journal_entries e JOIN journal_heads h USING (slot, no) WHERE h.conversation = $1 AND e.seq BETWEEN $2 AND $3 AND length(e.body) = 0", group, int64(first), int64(last)))(t)
	return n[0].N
}

// embeddedBodies counts the entries of a conversation, and those that the store has given
// up, in a copy of what a process left that does not run.
func embeddedBodies(t *testing.T, m *moved, group string) (empty, all int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(m.dir, "node0", "journal"))); err != nil {
		t.Fatal(err)
	}
	j := must(pebble.Open(dir, pebble.Options{MinFree: -1}))(t)
	defer j.Close()
	for from := uint64(1); ; {
		es := must(j.Read(t.Context(), im.ConversationID(group), from, false, 1000))(t)
		if len(es) == 0 {
			return empty, all
		}
		for i := range es {
			if len(es[i].Body) == 0 {
				empty++
			}
		}
		all += len(es)
		from = es[len(es)-1].Seq + 1
	}
}

// given waits until the store has given up what is gone.
func (m *moved) given(t *testing.T, group string, first, last uint64) {
	t.Helper()
	want := int(last - first + 1)
	waits(t, "the store to give up what is gone", func() bool {
		t.Helper()
		if m.database != "" {
			return m.emptied(t, group, first, last) == int64(want)
		}
		m.nodes[0].terminate()
		empty, _ := embeddedBodies(t, m, group)
		m.nodes[0].start(t)
		time.Sleep(time.Second) // it looks then
		return empty == want
	})
}
