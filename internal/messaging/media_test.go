package messaging

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// fakeMedia knows the uploads of some, and writes down what it is told, with how far the
// journal was.
type fakeMedia struct {
	mu     sync.Mutex
	of     map[string]im.UserID
	named  []im.MediaName
	shared []bool
	doubts []im.MessageID
	stored func() int
	at     []int // how many entries were stored when it was told
	fail   error
	// doubting is called with what is doubted.
	doubting func(im.MediaName)
}

func (f *fakeMedia) Name(_ context.Context, n im.MediaName, ids []string, shared bool) (all []im.Upload, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	for i, id := range ids {
		if owner, ok := f.of[id]; !ok || owner != n.Sender && !shared {
			e := im.Errorf(im.CodeNotFound, "no such upload")
			e.Field = "media[" + string(rune('0'+i)) + "]"
			return nil, e
		}
		all = append(all, im.Upload{ID: id, Size: 7, MediaFacts: im.MediaFacts{MIME: "image/png", Width: 3}, Thumbnail: "t"})
	}
	f.named, f.shared, f.at = append(f.named, n), append(f.shared, shared), append(f.at, f.stored())
	return all, nil
}

func (f *fakeMedia) Doubt(_ context.Context, ns []im.MediaName) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	for _, n := range ns {
		if f.doubting != nil {
			f.doubting(n)
		}
		f.doubts, f.at = append(f.doubts, n.ID), append(f.at, f.stored())
	}
	return nil
}

func showing(m im.Message, ids ...string) im.Message {
	m.Body, m.Hash = entrycodec.Message(m.Conversation, &wire.Send{Content: &wire.Content{Type: "image", Body: &wire.Content_Text{Text: "{}"}}, Media: ids})
	return m
}

func mediaWorld(t *testing.T, opts ...func(*Options)) (*world, *fakeMedia) {
	f := &fakeMedia{of: map[string]im.UserID{"mine": "alice", "too": "alice", "theirs": "bob"}}
	w := newWorld(t, append(opts, func(o *Options) { o.Media = f })...)
	f.stored = func() int {
		head, err := w.head(context.Background(), ab)
		if err != nil {
			return -1
		}
		return int(head.Seq)
	}
	return w, f
}

// A message that names uploads is noted before it is stored, and says then what is known
// of them; one that is taken back is doubted before that is stored.
func TestMediaAreNotedFirst(t *testing.T) {
	w, f := mediaWorld(t)
	w.mustSend("alice", ab, "hello")
	m := showing(im.Message{Conversation: ab, ID: w.id(), Kind: im.EntryMessage}, "mine", "too")
	ack, err := w.send("alice", m)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.named) != 1 || f.at[0] != 1 || f.shared[0] || f.named[0].ID != m.ID || f.named[0].Hash != m.Hash || f.named[0].Sender != "alice" {
		t.Fatalf("noted: %+v at %v", f.named, f.at)
	}
	e, err := w.Message(t.Context(), im.Actor{User: "bob"}, ab, ack.Seq)
	if err != nil {
		t.Fatal(err)
	}
	var told wire.Entry
	if err := entrycodec.Decode(e.Body, &told); err != nil {
		t.Fatal(err)
	}
	if len(told.Media) != 2 || told.Media[0].Id != "mine" || told.Media[1].GetWidth() != 3 || !told.Media[0].GetThumbnail() || told.GetContent().GetType() != "image" {
		t.Errorf("%v", &told)
	}
	ids, err := w.MediaOf(t.Context(), "bob", ab, ack.Seq)
	if err != nil || !slices.Equal(ids, []string{"mine", "too"}) {
		t.Error(ids, err)
	}
	_, err = w.MediaOf(t.Context(), "stranger", ab, ack.Seq)
	wantCode(t, err, im.CodeNotFound)
	name := f.named[0]
	name.Media = "too"
	if names, seq, err := w.NamesMedia(t.Context(), name); err != nil || !names || seq != ack.Seq {
		t.Error(names, seq, err)
	}
	again, err := w.send("alice", m)
	if err != nil || again.Seq != ack.Seq {
		t.Errorf("a resend: %+v, %v", again, err)
	}

	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.id()}, ack.Seq)); err != nil {
		t.Fatal(err)
	}
	if len(f.doubts) != 1 || f.doubts[0] != m.ID || f.at[len(f.at)-1] != int(ack.Seq) {
		t.Errorf("doubted: %v at %v", f.doubts, f.at)
	}
	if names, _, err := w.NamesMedia(t.Context(), name); err != nil || names {
		t.Error("taken back:", names, err)
	}
	_, err = w.MediaOf(t.Context(), "bob", ab, ack.Seq)
	wantCode(t, err, im.CodeNotFound)
}

// Nothing is stored of a message that names what it must not, or where nobody can note it;
// the field is named, and a message behind it goes on.
func TestMediaRefused(t *testing.T) {
	w, f := mediaWorld(t)
	for _, ids := range [][]string{{"mine", "theirs"}, {"mine", "nothing"}} {
		_, err := w.send("alice", showing(im.Message{Conversation: ab, ID: w.id(), Kind: im.EntryMessage}, ids...))
		wantCode(t, err, im.CodeNotFound)
		if field := im.Public(err).Field; field != "media[1]" {
			t.Errorf("field %q", field)
		}
	}
	seen := w.mustSend("alice", ab, "behind them")
	if seen.Seq != 1 {
		t.Errorf("seq %d", seen.Seq)
	}
	shown, err := w.send("alice", showing(im.Message{Conversation: ab, ID: w.id(), Kind: im.EntryMessage}, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	f.fail = errors.Join(im.Errorf(im.CodeUnavailable, "the directory is away"))
	_, err = w.send("bob", showing(im.Message{Conversation: ab, ID: w.id(), Kind: im.EntryMessage}, "theirs"))
	wantCode(t, err, im.CodeUnavailable)
	_, err = w.send("alice", recalling(im.Message{Conversation: ab, ID: w.id()}, shown.Seq))
	wantCode(t, err, im.CodeUnavailable)
	if ids, err := w.MediaOf(t.Context(), "bob", ab, shown.Seq); err != nil || len(ids) != 1 {
		t.Error("what could not be doubted is there:", ids, err)
	}
	none := newWorld(t)
	_, err = none.send("alice", showing(im.Message{Conversation: ab, ID: none.id(), Kind: im.EntryMessage}, "mine"))
	wantCode(t, err, im.CodeUnimplemented)
}

// Of messages that disappear the uploads are doubted while the store has what they say,
// and before it gives it up; each that names some, and no other. Then they name none,
// while a copy that stays names them yet. Where nobody can note it nothing is given up.
func TestGoneMediaAreDoubted(t *testing.T) {
	g := im.Group("g")
	p := &fakePeriods{all: map[im.ConversationID][]im.Period{g: {{After: 0, Until: 5, Lifetime: time.Minute}, {After: 5}}}, now: noon}
	f := &fakeMedia{of: map[string]im.UserID{"mine": "alice"}, stored: func() int { return 0 }}
	w := newWorld(t, func(o *Options) { o.Media, o.Periods, o.Now = f, p, p.clock })
	w.journal.now = p.clock
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	say := func(ids ...string) im.MediaName {
		t.Helper()
		m := showing(im.Message{Conversation: g, ID: w.id(), Kind: im.EntryMessage}, ids...)
		if _, err := w.send("alice", m); err != nil {
			t.Fatal(err)
		}
		return im.MediaName{Media: "mine", Conversation: g, Sender: "alice", ID: m.ID, Hash: m.Hash}
	}
	w.mustSend("alice", g, "1")
	two := say("mine")
	w.mustSend("alice", g, "3")
	four := say("mine")
	if _, err := w.send("alice", recalling(im.Message{Conversation: g, ID: w.id()}, 4)); err != nil {
		t.Fatal(err)
	}
	six := say("mine")
	names := func(n im.MediaName, want bool) {
		t.Helper()
		if got, _, err := w.NamesMedia(t.Context(), n); err != nil || got != want {
			t.Errorf("names it: %t, %v; want %t", got, err, want)
		}
	}
	f.doubts = nil // the recall's
	p.is(noon.Add(2 * time.Minute))
	f.fail = im.Errorf(im.CodeUnavailable, "the directory is away")
	_, err := w.TimeIsUp(t.Context(), im.Timer{Kind: im.TimerLifetime, Conversation: g})
	wantCode(t, err, im.CodeUnavailable)
	names(two, true)
	if given := w.empty(g); slices.Contains(given, 1) || slices.Contains(given, 2) {
		t.Errorf("given up without a note: %v", given)
	}
	f.fail = nil
	f.doubting = func(n im.MediaName) { n.Media, n.Hash = "mine", two.Hash; names(n, true) }
	w.looks(g)
	if !slices.Equal(f.doubts, []im.MessageID{two.ID}) {
		t.Errorf("doubted are %v, want %v", f.doubts, two.ID)
	}
	names(two, false)
	names(four, false)
	names(six, true)
	_, err = w.MediaOf(t.Context(), "alice", g, 2)
	wantCode(t, err, im.CodeNotFound)
	if ids, err := w.MediaOf(t.Context(), "alice", g, 6); err != nil || len(ids) != 1 {
		t.Errorf("what stays names %v, %v", ids, err)
	}
}

// What is below a floor is doubted before the store gives it up, over any number of pages,
// and nothing above; where nobody can note it nothing is given up.
func TestMediaBelowTheFloorAreDoubted(t *testing.T) {
	g := im.Group("g")
	r := &fakeRetention{rows: map[im.ConversationID]im.Retention{}}
	p := &fakePeriods{all: map[im.ConversationID][]im.Period{}, now: noon}
	f := &fakeMedia{of: map[string]im.UserID{"mine": "alice"}, stored: func() int { return 0 }}
	w := newWorld(t, func(o *Options) { o.Media, o.Periods, o.Retention, o.Now = f, p, r, p.clock })
	w.journal.now = p.clock
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	var named []im.MediaName
	say := func() {
		t.Helper()
		m := showing(im.Message{Conversation: g, ID: w.id(), Kind: im.EntryMessage}, "mine")
		if _, err := w.send("alice", m); err != nil {
			t.Fatal(err)
		}
		named = append(named, im.MediaName{Media: "mine", Conversation: g, Sender: "alice", ID: m.ID, Hash: m.Hash})
	}
	say()
	for range givenPage {
		w.mustSend("alice", g, "between")
	}
	say()
	say()
	if err := w.Raise(t.Context(), []im.Floor{{Conversation: g, Seq: givenPage + 2}}); err != nil {
		t.Fatal(err)
	}
	p.is(noon.Add(floorTold))
	f.fail = im.Errorf(im.CodeUnavailable, "the directory is away")
	_, err := w.GiveUp(t.Context(), []im.ConversationID{g})
	wantCode(t, err, im.CodeUnavailable)
	if given := w.empty(g); len(given) > 0 {
		t.Errorf("given up without a note: %v", given)
	}
	f.fail = nil
	if _, err := w.GiveUp(t.Context(), []im.ConversationID{g}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.doubts, []im.MessageID{named[0].ID, named[1].ID}) || len(w.empty(g)) != givenPage+2 {
		t.Errorf("doubted are %v, given up %d", f.doubts, len(w.empty(g)))
	}
	for i, want := range []bool{false, false, true} {
		if names, _, err := w.NamesMedia(t.Context(), named[i]); err != nil || names != want {
			t.Errorf("message %d names it: %t, %v", i, names, err)
		}
	}
}
