package messaging

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/split"
)

// shards is a world whose journal is two stores: shard 0, and shard 3, whose numbers
// are far beyond those of the other one.
type shards struct {
	*world
	stores [2]*memJournal
	whole  *split.Journal
}

func newShards(t *testing.T, change ...func(*Options)) *shards {
	x := &shards{stores: [2]*memJournal{newMemJournal(), newMemJournal()}}
	x.stores[1].pos = 1_000_000
	x.stores[1].eras = im.Eras{{ID: 100}}
	var err error
	x.whole, err = split.New([]split.Shard{{Number: 3, Engine: x.stores[1]}, {Number: 0, Engine: x.stores[0]}}, func(slot uint16) im.Shard { return 3 * im.Shard(slot/64%2) })
	if err != nil {
		t.Fatal(err)
	}
	x.world = newWorld(t, append([]func(*Options){func(o *Options) {
		o.Journal, o.Marks, o.Recalls, o.Lookups, o.Pages, o.Shards = x.whole, x.whole, x.whole, x.whole, x.whole, x.whole
	}}, change...)...)
	return x
}

// in returns the n-th group of a shard, user the n-th user whose marks are there.
func (x *shards) in(s im.Shard, n int) im.ConversationID {
	return nth(n, func(i int) (im.ConversationID, bool) {
		c := im.Group(fmt.Sprint("g", i))
		return c, x.whole.Shard(c) == s
	})
}

func (x *shards) user(s im.Shard, n int) im.UserID {
	return nth(n, func(i int) (im.UserID, bool) {
		u := im.UserID(fmt.Sprint("u", i))
		return u, x.whole.UserShard(u) == s
	})
}

// dm returns two users, each with the marks in a shard, whose dm is in one.
func (x *shards) dm(c, a, b im.Shard) (im.ConversationID, im.UserID, im.UserID) {
	for n := 0; ; n++ {
		u, v := x.user(a, n), x.user(b, n+1)
		if dm := im.DM(u, v); x.whole.Shard(dm) == c {
			return dm, u, v
		}
	}
}

// delivered are the seqs of a conversation that were delivered, of all that was
// answered: answers come first.
func (x *shards) delivered(c im.ConversationID) []uint64 {
	x.t.Helper()
	if err := x.committing.Wait(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
	return x.out.seqs(c)
}

func nth[T any](n int, is func(i int) (T, bool)) T {
	for i := 0; ; i++ {
		if v, ok := is(i); ok {
			if n--; n < 0 {
				return v
			}
		}
	}
}

// beyond takes both shards past all marks that were set.
func (x *shards) beyond() {
	x.t.Helper()
	for _, s := range []im.Shard{0, 3} {
		x.mustSend("zoe", x.in(s, 50), "elsewhere")
	}
	for _, s := range []im.Shard{0, 3} { // zoe's own marks
		x.mustSend("zoe", x.in(s, 51), "elsewhere")
	}
}

// phone is a device as a model: it knows what it was told.
type phone struct {
	user               im.UserID
	position, timeline string
	heads, read, peer  map[im.ConversationID]uint64
	since              map[im.ConversationID]uint64 // for the digest
}

// apply takes a state.
func (p *phone) apply(st *im.ConversationState) {
	if st.Head.Seq > p.heads[st.Conversation] {
		p.heads[st.Conversation] = st.Head.Seq
	}
	p.read[st.Conversation], p.peer[st.Conversation] = st.Read, st.PeerRead
}

// truth is what everybody should know in the end.
type truth struct {
	*shards
	talks  []im.ConversationID
	of     map[im.ConversationID][]im.UserID
	heads  map[im.ConversationID]uint64
	read   map[im.MarkKey]uint64
	phones []*phone
}

func newTruth(t *testing.T) *truth {
	w := &truth{shards: newShards(t), of: map[im.ConversationID][]im.UserID{}, heads: map[im.ConversationID]uint64{}, read: map[im.MarkKey]uint64{}}
	var users []im.UserID
	for _, s := range []im.Shard{0, 3} {
		users = append(users, w.user(s, 0), w.user(s, 1))
	}
	for i, u := range users {
		for _, v := range users[i+1:] {
			w.of[im.DM(u, v)] = []im.UserID{u, v}
		}
	}
	for _, s := range []im.Shard{0, 3} {
		g := w.in(s, 0)
		w.of[g] = users
		for _, u := range users {
			w.members.add(u, im.Membership{Conversation: g, First: 1})
		}
	}
	w.talks = slices.Sorted(maps.Keys(w.of))
	for _, u := range users {
		for range 2 {
			p := &phone{user: u, heads: map[im.ConversationID]uint64{}, read: map[im.ConversationID]uint64{}, peer: map[im.ConversationID]uint64{}, since: map[im.ConversationID]uint64{}}
			w.phones = append(w.phones, p)
		}
	}
	for _, p := range w.phones {
		w.list(t, p, 100)
	}
	return w
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// knows requires that a phone knows all there is.
func (w *truth) knows(t fatal, p *phone) {
	t.Helper()
	for _, c := range w.talks {
		if !slices.Contains(w.of[c], p.user) || w.heads[c] == 0 {
			continue
		}
		peer, _ := c.Peer(p.user)
		if p.heads[c] != w.heads[c] || p.read[c] != w.read[im.MarkKey{User: p.user, Conversation: c}] || p.peer[c] != w.read[im.MarkKey{User: peer, Conversation: c}] {
			t.Fatalf("%s at %s knows %s (shard %d) up to %d, read %d, %d by the other; it is %d, %d, %d", p.user, p.position, c, w.whole.Shard(c),
				p.heads[c], p.read[c], p.peer[c], w.heads[c], w.read[im.MarkKey{User: p.user, Conversation: c}], w.read[im.MarkKey{User: peer, Conversation: c}])
		}
	}
}

// resume syncs a phone from its position and returns how much it was told.
func (w *truth) resume(t fatal, p *phone) (told []im.ConversationID) {
	t.Helper()
	q := im.SyncQuery{Position: p.position, Timeline: p.timeline}
	for {
		r, err := w.Sync(w.t.Context(), im.Actor{User: p.user}, q)
		if err != nil || r.Reset {
			t.Fatalf("%s from %s: reset %v, %v", p.user, p.position, r.Reset, err)
		}
		for i := range r.Conversations {
			p.apply(&r.Conversations[i])
		}
		told = append(told, conversations(r)...)
		if r.Next == "" {
			p.position = r.Position
			clear(p.since)
			return told
		}
		q.Cursor = r.Next
	}
}

// list reads the list of a phone anew, page by page.
func (w *truth) list(t fatal, p *phone, limit int) {
	t.Helper()
	q := im.SyncQuery{Limit: limit}
	var last *im.ConversationState
	for first := true; first || q.Cursor != ""; first = false {
		r, err := w.Sync(w.t.Context(), im.Actor{User: p.user}, q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if first {
			p.position, p.timeline = r.Position, r.Timeline
		}
		for i := range r.Conversations {
			st := &r.Conversations[i]
			if last != nil && st.Head.Time.After(last.Head.Time) {
				t.Fatalf("%s of %v is listed behind %s of %v", st.Conversation, st.Head.Time, last.Conversation, last.Head.Time)
			}
			last = st
			p.apply(st)
		}
		q.Cursor = r.Next
	}
	clear(p.since)
}

// compare asks whether a phone misses an entry.
func (w *truth) compare(t fatal, p *phone) {
	t.Helper()
	var digest uint64
	for c, seq := range p.since {
		digest += im.HeadHash(c, seq)
	}
	same, next, err := w.Compare(w.t.Context(), im.Actor{User: p.user}, p.position, digest)
	if err != nil {
		t.Fatalf("%v", err)
	}
	has := true
	for _, c := range w.talks {
		has = has && (!slices.Contains(w.of[c], p.user) || p.heads[c] == w.heads[c])
	}
	if same != has || same && next == "" {
		t.Fatalf("%s has everything: %v; the comparison says %v, and %q", p.user, has, same, next)
	}
	if same {
		// What receipts told stays with the phone; here they were all heard.
		p.position = next
		clear(p.since)
		for _, c := range w.talks {
			peer, _ := c.Peer(p.user)
			p.read[c], p.peer[c] = w.read[im.MarkKey{User: p.user, Conversation: c}], w.read[im.MarkKey{User: peer, Conversation: c}]
		}
	}
}

// TestNobodyMissesAnythingOfTwoShards: whatever is said and read, and whenever a
// device resumes, compares or reads its list, it knows all there is then; and what it
// was told it is not told for ever.
func TestNobodyMissesAnythingOfTwoShards(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newTruth(t)
		say := func(c im.ConversationID, u im.UserID) {
			w.heads[c] = w.mustSend(u, c, "x").Seq
			w.read[im.MarkKey{User: u, Conversation: c}] = w.heads[c]
		}
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(rt *rapid.T) {
				c := rapid.SampledFrom(w.talks).Draw(rt, "conversation")
				say(c, rapid.SampledFrom(w.of[c]).Draw(rt, "user"))
				for _, p := range w.phones { // some are pushed it
					if slices.Contains(w.of[c], p.user) && p.heads[c] == w.heads[c]-1 && rapid.Bool().Draw(rt, "pushed") {
						p.heads[c], p.since[c] = w.heads[c], w.heads[c]
					}
				}
			},
			"mark": func(rt *rapid.T) {
				c := rapid.SampledFrom(w.talks).Draw(rt, "conversation")
				k := im.MarkKey{User: rapid.SampledFrom(w.of[c]).Draw(rt, "user"), Conversation: c}
				if w.heads[c] == 0 {
					return
				}
				seq := rapid.Uint64Range(1, w.heads[c]).Draw(rt, "seq")
				if err := w.Mark(t.Context(), im.Actor{User: k.User}, c, seq, seq); err != nil {
					rt.Fatalf("%v", err)
				}
				w.read[k] = max(w.read[k], seq)
			},
			"resume": func(rt *rapid.T) {
				p := rapid.SampledFrom(w.phones).Draw(rt, "phone")
				w.resume(rt, p)
				w.knows(rt, p)
			},
			"list": func(rt *rapid.T) {
				p := rapid.SampledFrom(w.phones).Draw(rt, "phone")
				w.list(rt, p, rapid.IntRange(1, 4).Draw(rt, "limit"))
				w.knows(rt, p)
			},
			"compare": func(rt *rapid.T) {
				w.compare(rt, rapid.SampledFrom(w.phones).Draw(rt, "phone"))
			},
			"once": func(rt *rapid.T) {
				w.beyond()
				p := rapid.SampledFrom(w.phones).Draw(rt, "phone")
				w.resume(rt, p)
				w.knows(rt, p)
				if again := w.resume(rt, p); len(again) > 0 {
					rt.Fatalf("%s is told %v again", p.user, again)
				}
			},
		})
		for _, p := range w.phones {
			w.resume(rt, p)
			w.knows(rt, p)
		}
	})
}

// A mark is in its user's shard, and told from there once: where the conversation's
// numbers are far beyond, and where they are far behind.
func TestAMarkIsComparedInItsUsersShard(t *testing.T) {
	for _, where := range [][3]im.Shard{{0, 0, 0}, {0, 3, 3}, {3, 0, 0}, {0, 0, 3}, {3, 3, 0}, {3, 0, 3}} {
		t.Run(fmt.Sprint(where), func(t *testing.T) {
			w := newShards(t)
			dm, a, b := w.dm(where[0], where[1], where[2])
			w.mustSend(a, dm, "hi")
			w.beyond()
			for what, who := range map[string]im.UserID{"the other's": a, "one's own": b} {
				at := w.sync(who, im.SyncQuery{})
				seq := w.mustSend(a, dm, "more").Seq
				w.beyond()
				at = w.sync(who, im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
				if err := w.Mark(t.Context(), im.Actor{User: b}, dm, seq, seq); err != nil {
					t.Fatal(err)
				}
				r := w.sync(who, im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
				if len(r.Conversations) != 1 || r.Conversations[0].PeerRead != seq && r.Conversations[0].Read != seq || !r.Conversations[0].MarksOnly {
					t.Errorf("%s mark: told %+v", what, r.Conversations)
				}
				w.beyond()
				r = w.sync(who, im.SyncQuery{Position: r.Position, Timeline: r.Timeline}) // once more, and past it
				if r = w.sync(who, im.SyncQuery{Position: r.Position, Timeline: r.Timeline}); len(r.Conversations) != 0 {
					t.Errorf("%s mark is told again and again", what)
				}
			}
		})
	}
}

// A change that is half done holds its own shard back, and no other.
func TestAHalfDoneChangeHoldsItsShard(t *testing.T) {
	for _, s := range []im.Shard{0, 3} {
		w := newShards(t)
		for _, x := range []im.Shard{0, 3} {
			w.members.add("bob", im.Membership{Conversation: w.in(x, 1), First: 1})
			w.mustSend("alice", w.in(x, 1), "before")
		}
		cold := w.sync("bob", im.SyncQuery{})
		w.halfMake(w.in(s, 0), "bob")
		for _, x := range []im.Shard{0, 3} {
			w.mustSend("alice", w.in(x, 1), "meanwhile")
		}
		w.beyond()
		told := map[string]string{
			"a resume": w.sync("bob", im.SyncQuery{Position: cold.Position, Timeline: cold.Timeline}).Position,
			"a list":   w.sync("bob", im.SyncQuery{}).Position,
		}
		w.members.keepPromises("bob")
		for what, at := range told {
			got := conversations(w.sync("bob", im.SyncQuery{Position: at, Timeline: cold.Timeline}))
			if want := []im.ConversationID{w.in(s, 0), w.in(s, 1)}; !slices.Contains(got, want[0]) || len(got) > len(want) || slices.Contains(got, w.in(3-s, 1)) {
				t.Errorf("shard %d: after %s bob is told %v, want %v", s, what, got, want)
			}
		}
	}
}

// copied copies a store, and returns what puts the copy in its place.
func (j *memJournal) copied() func() {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries, ids, marks, pos, eras := maps.Clone(j.entries), maps.Clone(j.ids), maps.Clone(j.marks), j.pos, j.eras
	for c := range entries {
		entries[c] = slices.Clone(entries[c])
	}
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.entries, j.ids, j.marks, j.pos = entries, ids, marks, pos
		j.eras = eras.And(im.Era{ID: j.eras[len(j.eras)-1].ID + 1, Begin: pos})
	}
}

// One shard is put back: whoever was told more of it reads everything anew, however
// far it is by then; whoever was not goes on.
func TestAShardThatWentBackResets(t *testing.T) {
	for i, s := range []im.Shard{0, 3} {
		w := newShards(t)
		mine, other := w.in(s, 1), w.in(3-s, 1)
		for _, c := range []im.ConversationID{mine, other} {
			w.members.add("bob", im.Membership{Conversation: c, First: 1})
			w.mustSend("alice", c, "kept")
		}
		kept := w.sync("bob", im.SyncQuery{})
		putBack := w.stores[i].copied()
		w.mustSend("alice", other, "of the shard that stays")
		onlyOther := w.sync("bob", im.SyncQuery{})
		w.mustSend("alice", mine, "lost")
		lost := w.sync("bob", im.SyncQuery{})
		page := w.sync("bob", im.SyncQuery{Limit: 1})
		putBack()
		for round := range 2 {
			for what, q := range map[string]im.SyncQuery{
				"a position": {Position: lost.Position, Timeline: lost.Timeline}, "a cursor": {Cursor: page.Next, Timeline: page.Timeline, Limit: 1},
			} {
				if r := w.sync("bob", q); !r.Reset {
					t.Errorf("shard %d, round %d: %s of what is gone is taken", s, round, what)
				}
			}
			if same, at, err := w.Compare(t.Context(), im.Actor{User: "bob"}, lost.Position, 0); err != nil || same || at != "" {
				t.Errorf("shard %d, round %d: what is gone compares: %v %q %v", s, round, same, at, err)
			}
			for _, r := range []im.SyncResult{kept, onlyOther} {
				if r := w.sync("bob", im.SyncQuery{Position: r.Position, Timeline: r.Timeline}); r.Reset {
					t.Errorf("shard %d, round %d: what is there is reset", s, round)
				}
			}
			for range 20 {
				w.mustSend("alice", mine, "further than ever")
				w.mustSend("alice", other, "also here")
			}
		}
	}
}

// A position of the time of one shard goes on when there are two: all of the new one
// is told, and nothing is reset.
func TestAShardIsAdded(t *testing.T) {
	w := newShards(t)
	for _, s := range []im.Shard{0, 3} {
		w.members.add("bob", im.Membership{Conversation: w.in(s, 1), First: 1})
		w.mustSend("alice", w.in(s, 1), "x")
	}
	w.beyond()
	all, err := w.whole.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, _ := all.Place(0)
	r := w.sync("bob", im.SyncQuery{Position: at.String(), Timeline: w.whole.Timeline()})
	if got := conversations(r); r.Reset || !slices.Equal(got, []im.ConversationID{w.in(3, 1)}) {
		t.Errorf("reset %v, told %v", r.Reset, got)
	}
}

// One shard is away: its conversations are refused as unavailable, those in the same
// batch that are elsewhere are stored and delivered, and a sender's order is kept.
func TestAShardIsAway(t *testing.T) {
	for _, fault := range []struct {
		err  error
		code im.Code
	}{
		{im.ErrJournalUnavailable, im.CodeUnavailable}, {im.ErrJournalFull, im.CodeStorageFull},
	} {
		for i, s := range []im.Shard{0, 3} {
			w := newShards(t)
			gone, here := w.in(s, 1), w.in(3-s, 1)
			for _, c := range []im.ConversationID{gone, here} { // so that RAM can decide
				w.mustSend("alice", c, "before")
				w.mustSend("bob", c, "before")
			}
			// What is sent while an append is under way is one batch then.
			goOn := w.holdAppends()
			first := w.start("zoe", w.message(w.in(0, 9), "holds the committer"))
			<-goOn.began
			w.stores[i].setFail(func(after bool) error {
				if after {
					return nil
				}
				return fault.err
			})
			lost := []<-chan outcome{w.start("alice", w.message(gone, "1")), w.start("alice", w.message(gone, "2"))}
			kept := []<-chan outcome{w.start("alice", w.message(here, "1")), w.start("bob", w.message(here, "2"))}
			close(goOn.end)
			<-first
			for _, o := range lost {
				if got := <-o; im.CodeOf(got.err) != fault.code && im.CodeOf(got.err) != im.CodeOf(im.ErrBehind()) {
					t.Errorf("shard %d: %v, want %s", s, got.err, fault.code)
				}
			}
			for _, o := range kept {
				if got := <-o; got.err != nil {
					t.Errorf("shard %d is away, and the other refuses: %v", s, got.err)
				}
			}
			if got := w.delivered(here); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
				t.Errorf("delivered %v", got)
			}
			w.stores[i].setFail(nil)
		}
	}
}

// heldAppend is an append that waits.
type heldAppend struct{ began, end chan struct{} }

// holdAppends has the next append of shard 0 wait.
func (x *shards) holdAppends() heldAppend {
	h := heldAppend{make(chan struct{}), make(chan struct{})}
	var once sync.Once
	x.stores[0].setFail(func(bool) error {
		once.Do(func() {
			close(h.began)
			<-h.end
		})
		return nil
	})
	return h
}

// A conversation that cannot be stored in keeps neither its shard's others from
// storing, nor the other shard's, and what both stored before is not stored twice.
func TestADamagedConversationOfOneShard(t *testing.T) {
	for i, s := range []im.Shard{0, 3} {
		w := newShards(t)
		bad, near, far := w.in(s, 1), w.in(s, 2), w.in(3-s, 1)
		for _, c := range []im.ConversationID{bad, near, far} {
			w.mustSend("alice", c, "before")
		}
		goOn := w.holdAppends()
		first := w.start("zoe", w.message(w.in(0, 9), "holds the committer"))
		<-goOn.began
		w.stores[0].setFail(nil)
		w.stores[i].mu.Lock()
		w.stores[i].damaged = map[im.ConversationID]bool{bad: true}
		w.stores[i].mu.Unlock()
		lost := w.start("alice", w.message(bad, "1"))
		kept := []<-chan outcome{w.start("alice", w.message(near, "1")), w.start("alice", w.message(far, "1")), w.start("alice", w.message(far, "2"))}
		close(goOn.end)
		<-first
		if got := <-lost; im.CodeOf(got.err) != im.CodeInternal {
			t.Errorf("the damaged one: %v", got.err)
		}
		for _, o := range kept {
			if got := <-o; got.err != nil {
				t.Errorf("another one: %v", got.err)
			}
		}
		for c, want := range map[im.ConversationID][]uint64{bad: {1}, near: {1, 2}, far: {1, 2, 3}} {
			if got := w.delivered(c); !slices.Equal(got, want) {
				t.Errorf("shard %d: %s was delivered %v, want %v", s, c, got, want)
			}
		}
	}
}

// What one shard may or may not have stored is asked again; what the other stored is
// delivered once.
func TestAnUnknownOutcomeOfOneShard(t *testing.T) {
	for i, s := range []im.Shard{0, 3} {
		for _, after := range []bool{false, true} {
			w := newShards(t)
			doubtful, sure := w.in(s, 1), w.in(3-s, 1)
			for _, c := range []im.ConversationID{doubtful, sure} {
				w.mustSend("alice", c, "before")
			}
			goOn := w.holdAppends()
			first := w.start("zoe", w.message(w.in(0, 9), "holds the committer"))
			<-goOn.began
			w.stores[0].setFail(nil)
			once := true
			w.stores[i].setFail(func(now bool) error {
				if now == after && once {
					once = false
					return errors.Join(im.ErrOutcomeUnknown)
				}
				return nil
			})
			all := []<-chan outcome{w.start("alice", w.message(doubtful, "1")), w.start("alice", w.message(sure, "1"))}
			close(goOn.end)
			<-first
			for _, o := range all {
				if got := <-o; got.err != nil || got.ack.Seq != 2 {
					t.Errorf("%+v", got)
				}
			}
			for _, c := range []im.ConversationID{doubtful, sure} {
				if got := w.delivered(c); !slices.Equal(got, []uint64{1, 2}) {
					t.Errorf("shard %d: %s was delivered %v", s, c, got)
				}
			}
		}
	}
}
