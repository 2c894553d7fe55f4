package messaging

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// fakeTimers keeps timers, and outlives services.
type fakeTimers struct {
	mu   sync.Mutex
	rows []im.Timer
	fail error
}

func (f *fakeTimers) SetTimer(_ context.Context, t im.Timer, most int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = slices.DeleteFunc(f.rows, func(o im.Timer) bool { return o.ID == t.ID && o.User == t.User && o.Kind == t.Kind })
	n := 0
	for _, o := range f.rows {
		if o.User == t.User && o.Kind == t.Kind {
			n++
		}
	}
	if most > 0 && n >= most {
		return im.Errorf(im.CodeTooLarge, "too many")
	}
	f.rows = append(f.rows, t)
	return f.fail
}

func (f *fakeTimers) TimersOf(_ context.Context, u im.UserID, kind im.TimerKind, _ int) (all []im.Timer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.rows {
		if o.User == u && o.Kind == kind {
			all = append(all, o)
		}
	}
	return all, nil
}

func (f *fakeTimers) EndTimers(_ context.Context, timers []im.Timer, to []time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range timers {
		at := slices.Index(f.rows, t)
		switch {
		case at < 0:
		case to[i].IsZero():
			f.rows = slices.Delete(f.rows, at, at+1)
		default:
			f.rows[at].At = to[i]
		}
	}
	return nil
}

func (f *fakeTimers) all() []im.Timer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows)
}

func withStreams(f *fakeTimers) func(*Options) {
	return func(o *Options) {
		begun := time.Now() // the journal's first entries are of 1970
		o.Now = func() time.Time { return time.UnixMilli(0).Add(time.Since(begun)) }
		o.EditWindow = time.Hour
		o.Timers = f
		o.Streams = Streams{StoreEvery: 2 * time.Second, StoreBytes: 100, Silence: time.Minute, PerUser: 2, MaxBytes: 300}
	}
}

func beginning(m im.Message, text string) im.Message {
	m.Kind = im.EntryMessage
	m.Body, m.Hash = entrycodec.Message(m.Conversation, &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}, Streaming: true})
	return m
}

func (w *world) begin(u im.UserID, text string) uint64 {
	w.t.Helper()
	ack, err := w.send(u, beginning(im.Message{Conversation: ab, ID: w.early()}, text))
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

func (w *world) part(u im.UserID, seq uint64, p entrycodec.Part) (im.Ack, error) {
	w.t.Helper()
	m := im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryStream, Target: seq}
	m.Body, m.Hash = entrycodec.Stream(ab, seq, &p)
	return w.send(u, m)
}

// says is what a streamed message says to who reads it now; + grows, ! was cut off.
func (w *world) says(seq uint64) string {
	w.t.Helper()
	e := w.told("bob", ab, seq)
	return e.GetContent().GetText() + map[bool]string{true: "+"}[e.Streaming] + map[bool]string{true: "!"}[e.CutOff]
}

func text(s string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
}

// Parts are told at once and stored from time to time; a repeat does nothing, what is
// missing is said, and the end is stored.
func TestStreamedMessageGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withStreams(&fakeTimers{}))
		seq := w.begin("alice", "Once")
		for i, tt := range []struct {
			after  time.Duration
			by     im.UserID
			part   entrycodec.Part
			stored bool
			code   im.Code
			says   string
		}{
			{0, "alice", entrycodec.Part{Offset: 4, Text: " upon"}, false, "", "Once+"},
			{0, "alice", entrycodec.Part{Offset: 4, Text: " upon"}, false, "", "Once+"},
			{0, "alice", entrycodec.Part{Offset: 4, Text: " later"}, false, im.CodeInvalidArgument, "Once+"},
			{0, "bob", entrycodec.Part{Offset: 9, Text: "x"}, false, im.CodePermissionDenied, "Once+"},
			{0, "alice", entrycodec.Part{Offset: 10, Text: "x"}, false, im.CodePartMissing, "Once+"},
			{0, "alice", entrycodec.Part{Offset: 7, Text: "on a"}, false, "", "Once+"},
			{0, "alice", entrycodec.Part{Offset: 11, Text: strings.Repeat("x", 290)}, false, im.CodeTooLarge, "Once+"},
			{3 * time.Second, "alice", entrycodec.Part{Offset: 11, Text: " time"}, false, "", "Once upon a+"}, // stored by the flush
			{0, "alice", entrycodec.Part{Content: text("Twice")}, true, "", "Twice+"},
			{0, "alice", entrycodec.Part{Offset: 5, Text: strings.Repeat("y", 100)}, true, "", "Twice" + strings.Repeat("y", 100) + "+"},
			{0, "alice", entrycodec.Part{Content: text("No")}, true, "", "No+"},
			{0, "alice", entrycodec.Part{Offset: 2, Text: "!", End: true}, true, "", "No!"},
			{0, "alice", entrycodec.Part{Offset: 3, Text: "?"}, false, im.CodeTooLate, "No!"},
			{0, "alice", entrycodec.Part{Offset: 3, Text: "?", End: true}, false, im.CodeTooLate, "No!"},
			{0, "alice", entrycodec.Part{End: true}, false, "", "No!"}, // a repeat, under another id
		} {
			time.Sleep(tt.after)
			synctest.Wait()
			ack, err := w.part(tt.by, seq, tt.part)
			if im.CodeOf(err) != tt.code && (err != nil || tt.code != "") || (ack.Seq != 0) != tt.stored {
				t.Errorf("%d: %+v, %v", i, ack, err)
			}
			if got := w.says(seq); got != tt.says {
				t.Errorf("%d: it says %q, not %q", i, got, tt.says)
			}
		}
		var said strings.Builder
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		for _, s := range w.out.custom {
			var p wire.Part
			if err := proto.Unmarshal(s.Data, &p); err != nil || s.Type != im.SignalPart || p.Seq != seq {
				t.Fatalf("%+v, %v", s, err)
			}
			said.WriteString(p.Text + "|")
		}
		if want := " upon| a| time|" + strings.Repeat("y", 100) + "|!|"; said.String() != want {
			t.Errorf("parts %q, not %q", said.String(), want)
		}
	})
}

// endFilter refuses what ends with "bad" and does not go on.
type endFilter struct{}

func (endFilter) Breaks([]byte) []*im.FilterRule                 { return nil }
func (endFilter) BreaksText(string) []*im.FilterRule             { return nil }
func (endFilter) BreaksGrown(string, int, bool) []*im.FilterRule { return nil }
func (endFilter) Report(im.Entry, *im.FilterRule)                {}
func (endFilter) BreaksStream(_, said, _ string, more bool) []*im.FilterRule {
	if strings.HasSuffix(said, "bad") && !more {
		return []*im.FilterRule{{}}
	}
	return nil
}

func (endFilter) Judge(_ context.Context, _ im.UserID, _ im.ConversationID, broken []*im.FilterRule) (*im.FilterRule, error) {
	if len(broken) > 0 {
		return nil, im.ErrFiltered
	}
	return nil, nil
}

// TestSilenceHidesNothing: a last word that is refused does not stay because its author leaves
// the end to the server.
func TestSilenceHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := &fakeTimers{}
		w := newWorld(t, withStreams(timers), func(o *Options) { o.Filter = endFilter{} })
		seq := w.begin("alice", "Once")
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 4, Text: " is bad"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 11, End: true}); im.CodeOf(err) != im.CodeFiltered {
			t.Errorf("the end: %v", err)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 4, Text: " is bad"}); err != nil {
			t.Fatal(err)
		}
		row := timers.all()[0]
		time.Sleep(2 * time.Minute)
		if again, err := w.TimeIsUp(t.Context(), row); err != nil || !again.IsZero() {
			t.Errorf("again at %v, %v", again, err)
		}
		if got := w.says(seq); got != "Once is …!" {
			t.Errorf("at last it says %q", got)
		}
	})
}

// What was said is durable a while after the last part, and the server ends what nobody
// goes on with, once.
func TestSilenceEndsAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := &fakeTimers{}
		w := newWorld(t, withStreams(timers))
		seq := w.begin("alice", "Once")
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 4, Text: " upon"}); err != nil {
			t.Fatal(err)
		}
		row := timers.all()[0]
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := w.says(seq); got != "Once upon+" {
			t.Errorf("after a while it says %q", got)
		}
		if again, err := w.TimeIsUp(t.Context(), row); err != nil || again.Sub(w.at(row)) <= 0 {
			t.Errorf("looked at too early: again at %v, %v", again, err)
		}
		time.Sleep(time.Minute)
		for range 2 {
			if again, err := w.TimeIsUp(t.Context(), row); err != nil || !again.IsZero() {
				t.Errorf("again at %v, %v", again, err)
			}
		}
		if _, err := w.part("alice", seq, entrycodec.Part{End: true}); im.CodeOf(err) != im.CodeTooLate {
			t.Errorf("its author, who comes too late to end it: %v", err)
		}
		if got := w.says(seq); got != "Once upon!" {
			t.Errorf("at last it says %q", got)
		}
		if n := len(w.journal.entries[ab]); n != 3 {
			t.Fatalf("%d entries", n)
		}
		if e := w.journal.entries[ab][2]; e.Sender != "" || len(e.Body) != 0 {
			t.Errorf("it was ended by %q, with %d bytes beside the message", e.Sender, len(e.Body))
		}
	})
}

// In a group, too, whatever becomes of its roster meanwhile and of the author's place in it.
// Nobody else waits for that, and the author may begin others.
func TestSilenceEndsAStreamInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := &fakeTimers{}
		w := newWorld(t, withStreams(timers))
		g := im.Group("g")
		for _, u := range []im.UserID{"alice", "bob"} {
			w.members.add(u, im.Membership{Conversation: g, First: 1})
		}
		grow := func(rev uint64) {
			t.Helper()
			_, err := w.change(g, rev, func() error { return nil })
			for im.CodeOf(err) == im.CodeConflict { // it was in a batch with what was decided before
				_, err = w.change(g, rev, func() error { return nil })
			}
			if err != nil {
				t.Error(err)
			}
		}
		grow(1)
		var seqs []uint64
		for range 2 { // as many as one may have
			ack, err := w.send("alice", beginning(im.Message{Conversation: g, ID: w.early()}, "Once"))
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, ack.Seq)
		}
		w.members.mu.Lock()
		w.members.deny["alice"] = im.Errorf(im.CodeNotFound, "was removed")
		w.members.mu.Unlock()
		time.Sleep(time.Minute + time.Second)
		done := make(chan error, len(seqs))
		for _, row := range timers.all() {
			go func() {
				_, err := w.TimeIsUp(t.Context(), row)
				done <- err
			}()
		}
		for rev := range uint64(20) {
			grow(rev + 2)
		}
		for range seqs {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		began := time.Now()
		w.say("bob", g, "nobody waits")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("another member waited %v", waited)
		}
		for _, seq := range seqs {
			if e := w.told("bob", g, seq); e.Streaming || !e.CutOff || e.GetContent().GetText() != "Once" {
				t.Errorf("%d: %v", seq, e)
			}
		}
		w.members.mu.Lock()
		delete(w.members.deny, "alice")
		w.members.mu.Unlock()
		w.begin("alice", "elsewhere")
	})
}

// at is when a timer is due, less what was said since.
func (w *world) at(t im.Timer) time.Time { return t.Set.Add(time.Minute) }

// A message that grows is not edited, may be taken back, and goes on for who may write.
func TestStreamBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withStreams(&fakeTimers{}))
		seq := w.begin("alice", "Once")
		if _, err := w.send("alice", editing(im.Message{Conversation: ab, ID: w.early()}, seq, "x")); im.CodeOf(err) != im.CodePermissionDenied {
			t.Errorf("edited: %v", err)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 4, Text: " upon"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.react("bob", ab, seq, "👍", false); err != nil {
			t.Fatal(err)
		}
		// The reaction changed the message: what was said is not lost by that.
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 9, Text: " a", End: false}); err != nil {
			t.Errorf("after a reaction: %v", err)
		}
		w.members.mu.Lock()
		w.members.deny["alice"] = im.Errorf(im.CodeNotContact, "blocked")
		w.members.mu.Unlock()
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 11, Text: " time"}); im.CodeOf(err) != im.CodeNotContact {
			t.Errorf("blocked: %v", err)
		}
		time.Sleep(5 * time.Second) // nor is what was said before stored after that
		synctest.Wait()
		if got := w.says(seq); got != "Once+" {
			t.Errorf("it says %q", got)
		}
		w.members.mu.Lock()
		delete(w.members.deny, "alice")
		w.members.mu.Unlock()
		if _, err := w.send("alice", im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryRecall, Target: seq, Hash: entrycodec.RecallHash(ab, seq)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Content: text("again")}); im.CodeOf(err) != im.CodeTooLate {
			t.Errorf("after the recall: %v", err)
		}
		if e := w.told("bob", ab, seq); !e.Recalled || e.Content != nil || e.Streaming {
			t.Errorf("%v", e)
		}
	})
}

// A user has few streams open; those that ended do not count, whoever knows.
func TestFewStreamsAtOnce(t *testing.T) {
	timers := &fakeTimers{}
	w := newWorld(t, withStreams(timers))
	first := w.begin("alice", "1")
	w.begin("alice", "2")
	third := beginning(im.Message{Conversation: ab, ID: w.early()}, "3")
	if _, err := w.send("alice", third); im.CodeOf(err) != im.CodeTooLarge {
		t.Errorf("a third one: %v", err)
	}
	w.begin("bob", "his")
	if _, err := w.part("alice", first, entrycodec.Part{End: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.send("alice", third); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	timers.fail = im.Errorf(im.CodeUnavailable, "away")
	if _, err := w.send("bob", beginning(im.Message{Conversation: ab, ID: w.early()}, "x")); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("without a timer: %v", err)
	}
}

// Of a process that ends, what was durable is there; the author is told that the rest is
// missing, and says all of it.
func TestStreamOutlivesProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := &fakeTimers{}
		w := newWorld(t, withStreams(timers))
		seq := w.begin("alice", "Once")
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 4, Text: " upon"}); err != nil {
			t.Fatal(err)
		}
		w.streams.drop(streamKey{ab, seq}) // what RAM has is all that a process loses
		if got := w.says(seq); got != "Once+" {
			t.Errorf("it says %q", got)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Offset: 9, Text: " a"}); im.CodeOf(err) != im.CodePartMissing {
			t.Errorf("what is missing: %v", err)
		}
		if _, err := w.part("alice", seq, entrycodec.Part{Content: text("Once upon a"), End: true}); err != nil {
			t.Error(err)
		}
		if got := w.says(seq); got != "Once upon a" {
			t.Errorf("it says %q", got)
		}
		for _, row := range timers.all() {
			if again, err := w.TimeIsUp(t.Context(), row); err != nil || !again.IsZero() {
				t.Errorf("again at %v, %v", again, err)
			}
		}
	})
}

// The timer of a message that is not stored is kept while it may come to be.
func TestTimerOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withStreams(&fakeTimers{}))
		row := im.Timer{Kind: im.TimerStream, Conversation: ab, User: "alice", ID: w.early(), Set: w.now(), At: w.now().Add(time.Minute)}
		time.Sleep(time.Minute)
		if again, err := w.TimeIsUp(t.Context(), row); err != nil || !again.Equal(row.Set.Add(unstored)) {
			t.Errorf("again at %v, %v", again, err)
		}
		time.Sleep(unstored)
		if again, err := w.TimeIsUp(t.Context(), row); err != nil || !again.IsZero() {
			t.Errorf("later again at %v, %v", again, err)
		}
	})
}
