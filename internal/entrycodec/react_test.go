package entrycodec

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// reactedTo is a message to which users react, with the entries that carry its buckets.
type reactedTo struct {
	t       *testing.T
	body    []byte
	amended uint64
	entries map[uint64][]byte
	longest int
}

func newReactedTo(t *testing.T) *reactedTo {
	return &reactedTo{t: t, body: Encode(&wire.Entry{Content: text("text", "hi")}), entries: map[uint64][]byte{}}
}

func (r *reactedTo) open() *State {
	r.t.Helper()
	s, err := Open(r.body, r.amended)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *reactedTo) bucket(seq uint64) ([]Record, error) { return Bucket(r.entries[seq]) }

func (r *reactedTo) react(u im.UserID, reaction string, remove bool) (changed bool, err error) {
	r.t.Helper()
	s := r.open()
	bucket, err := r.bucket(s.BucketOf(u))
	if err != nil {
		r.t.Fatal(err)
	}
	asked, _ := React("grp:g", 1, &wire.React{Reaction: reaction, Remove: remove})
	told, err := s.React(u, asked, bucket)
	if err != nil || told == nil {
		return false, err
	}
	r.amended++
	if at, seq, full := s.Full(); full {
		old, err := r.bucket(seq)
		if err != nil {
			r.t.Fatal(err)
		}
		r.entries[r.amended] = WithKept(asked, s.Spill(at, old))
		if !s.Spilled() {
			r.t.Error("nothing may be made from it yet, and it does not say so")
		}
	}
	r.body = s.Body()
	r.longest = max(r.longest, len(r.body))
	return true, nil
}

func (r *reactedTo) all(reaction string, page int) (out []Record) {
	r.t.Helper()
	for after := (Record{}); ; {
		got, more, err := r.open().Reacted(reaction, after, page, r.bucket)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, got...)
		if !more {
			return out
		}
		after = got[len(got)-1]
	}
}

// check compares with what users did: who has what.
func (r *reactedTo) check(want map[Record]bool) {
	r.t.Helper()
	counts := map[string]int{}
	for k := range want {
		counts[k.Reaction]++
	}
	s := r.open()
	for _, x := range s.Told.Reactions {
		if int(x.Count) != counts[x.Reaction] || len(x.Users) > shownUsers || len(x.Users) > int(x.Count) {
			r.t.Errorf("%v, want %d", x, counts[x.Reaction])
		}
		for _, u := range x.Users {
			if !want[Record{User: im.UserID(u), Reaction: x.Reaction}] {
				r.t.Errorf("%s is named for %s", u, x.Reaction)
			}
		}
		delete(counts, x.Reaction)
	}
	if len(counts) > 0 {
		r.t.Errorf("not told: %v", counts)
	}
	for _, page := range []int{1, 7, 1000} {
		got := map[Record]bool{}
		for _, x := range r.all("", page) {
			if got[x] {
				r.t.Errorf("%v twice in pages of %d", x, page)
			}
			got[x] = true
		}
		if !maps.Equal(got, want) {
			r.t.Errorf("pages of %d tell %d, want %d", page, len(got), len(want))
		}
	}
}

// Users react and take it back, none, one, two and many of them; what is so already
// changes nothing, and nobody is lost between the message and its buckets.
func TestReactions(t *testing.T) {
	for _, users := range []int{0, 1, 2, 100, 400} {
		t.Run(fmt.Sprint(users), func(t *testing.T) {
			r := newReactedTo(t)
			want := map[Record]bool{}
			rng := rand.New(rand.NewPCG(uint64(users), 1))
			for range users * 6 {
				k := Record{User: im.UserID(fmt.Sprint("user", rng.IntN(users))), Reaction: []string{"👍", "🎉", "done"}[rng.IntN(3)]}
				remove := rng.IntN(4) == 0
				changed, err := r.react(k.User, k.Reaction, remove)
				if err != nil || changed != (want[k] == remove) {
					t.Fatalf("%v, remove %v: changed %v, %v; it had it: %v", k, remove, changed, err, want[k])
				}
				if delete(want, k); !remove {
					want[k] = true
				}
			}
			r.check(want)
			if users > 2 && len(r.all("done", 50)) == len(r.all("", 50)) {
				t.Error("a page of one kind tells all")
			}
			for u := range users {
				name := im.UserID(fmt.Sprint("user", u))
				s := r.open()
				bucket, _ := r.bucket(s.BucketOf(name))
				s.Mine(name, bucket)
				for _, x := range s.Told.Reactions {
					if x.Mine != want[Record{User: name, Reaction: x.Reaction}] {
						t.Errorf("%s: %v", name, x)
					}
				}
			}
			// What an edit makes of it keeps them.
			s := r.open()
			edit(t, s, "other words", 1, 2)
			r.body = s.Body()
			r.amended++
			r.check(want)
		})
	}
}

// A message that 10,000 users reacted to has a small body, and so have the entries.
func TestReactionsAreBounded(t *testing.T) {
	r := newReactedTo(t)
	const users = 10_000
	for u := range users {
		if _, err := r.react(im.UserID(fmt.Sprint("user-", u)), "👍", false); err != nil {
			t.Fatal(err)
		}
	}
	longest, all := 0, 0
	for _, b := range r.entries {
		longest, all = max(longest, len(b)), all+len(b)
	}
	if r.longest > 8<<10 || longest > 16<<10 || all/users > 4<<10 {
		t.Errorf("a body of %d bytes, entries of up to %d, %d for each reaction", r.longest, longest, all/users)
	}
	if n := len(r.all("", 500)); n != users {
		t.Errorf("%d users are told", n)
	}
}

func TestKindsOfReactionAreBounded(t *testing.T) {
	r := newReactedTo(t)
	for n := range MaxReactions {
		if changed, err := r.react("ann", fmt.Sprint("r", n), false); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	if _, err := r.react("bob", "one more", false); !errors.Is(err, ErrReactions) {
		t.Errorf("%v", err)
	}
	if changed, err := r.react("bob", "r0", false); err != nil || !changed {
		t.Errorf("one that is there: %v, %v", changed, err)
	}
	if _, err := r.react("ann", "r1", true); err != nil {
		t.Error(err)
	}
	if changed, err := r.react("bob", "one more", false); err != nil || !changed {
		t.Errorf("there is room for another kind: %v, %v", changed, err)
	}
	names := []string{}
	for _, x := range r.open().Told.Reactions {
		names = append(names, x.Reaction)
	}
	if !slices.Equal(names[:3], []string{"r0", "r2", "r3"}) || names[len(names)-1] != "one more" {
		t.Errorf("the kinds are not in the order in which they came: %v", names)
	}
}
