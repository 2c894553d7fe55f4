package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A killed process leaves a torn line: it claims nothing, and what the next one
// writes is whole.
func TestHistoryOfSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bob.1.jsonl")
	for n, torn := range []string{"", `{"k":"invo`, "", "{"} {
		f, begun, err := openHistory(path)
		if err != nil || begun != (n > 0) {
			t.Fatalf("process %d: begun %v, %v", n, begun, err)
		}
		h := NewRecorder(f, "bob", "1")
		h.Add(Record{Kind: Started, Seq: uint64(n)})
		_, err = f.WriteString(torn)
		if err != nil || h.Err() != nil || f.Close() != nil {
			t.Fatal(err, h.Err())
		}
	}
	all, err := ReadHistories(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	var seqs []uint64
	for _, r := range all[0] {
		seqs = append(seqs, r.Seq)
	}
	if !slices.Equal(seqs, []uint64{0, 1, 2, 3}) {
		t.Errorf("read %v", seqs)
	}
	// A first process that was killed in its first line began nothing.
	path = filepath.Join(t.TempDir(), "bob.2.jsonl")
	if err := os.WriteFile(path, []byte(`{"k"`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, begun, err := openHistory(path)
	if err != nil || begun {
		t.Fatal(begun, err)
	}
	if i, err := f.Stat(); err != nil || i.Size() != 0 || f.Close() != nil {
		t.Errorf("%v, %v", i, err)
	}
}

func (s *story) started(device string) { s.rec(device, Record{Kind: Started}) }

func (s *story) accept(device, conv, text string) {
	s.rec(device, Record{Kind: Accepted, Conversation: conv, Hash: s.hash(device, conv, text), ID: id(text)})
}

// What was on disk when the process was killed is answered in the next one, or
// found in the store; that is what is counted.
func TestCarriedOver(t *testing.T) {
	s := opening()
	for _, text := range []string{"answered before", "answered after", "never answered", "refused after"} {
		s.invoke("bob/1", dm, text)
		s.accept("bob/1", dm, text)
	}
	first := s.store("bob/1", dm, "answered before")
	s.ok("bob/1", first)
	s.started("bob/1")
	second := s.store("bob/1", dm, "answered after")
	s.ok("bob/1", second)
	third := s.store("bob/1", dm, "never answered")
	s.rec("bob/1", Record{Kind: Failed, Conversation: dm, Hash: s.hash("bob/1", dm, "refused after"), ID: id("refused after"), Code: "muted"})
	for _, e := range []Entry{first, second, third} {
		s.deliver(e)
	}
	r := Check(s.end())
	if !r.OK() || r.Accepted != 4 || r.Carried != 3 || r.Unknown != 1 {
		t.Errorf("accepted %d, carried %d, unknown %d: %v", r.Accepted, r.Carried, r.Unknown, r.Violations)
	}
}

// A process begins with what the one before was told last, in that order, none
// left out, or with what is new.
func TestToldAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		starts [][]int // what each process is told: the n-th of five
		again  int
		broken Invariant
	}{
		{"nothing again", [][]int{{0, 1}, {2, 3, 4}}, 0, ""},
		{"nothing at all in between", [][]int{{0, 1}, {}, {2, 3, 4}}, 0, ""},
		{"the last one", [][]int{{0, 1}, {1, 2, 3, 4}}, 1, ""},
		{"all of it", [][]int{{0, 1}, {0, 1, 2, 3, 4}}, 2, ""},
		{"killed while it is told again", [][]int{{0, 1, 2}, {1}, {1, 2, 3, 4}}, 3, ""},
		{"killed again, and a part was known by then", [][]int{{0, 1, 2}, {0, 1}, {1, 2, 3, 4}}, 4, ""},
		{"told again and at once something new", [][]int{{0, 1, 2}, {1, 3, 2, 4}}, 1, Misordered},
		{"told again in another order", [][]int{{0, 1, 2, 3}, {1, 3, 2, 4}}, 1, Misordered},
		{"again what was known to be told", [][]int{{0, 1, 2}, {2}, {1, 2, 3, 4}}, 1, AppliedTwice},
		{"again after something new", [][]int{{0, 1}, {2, 1, 3, 4}}, 0, AppliedTwice},
		{"again without a start", [][]int{{0, 1, 1, 2, 3, 4}}, 0, AppliedTwice},
		{"left out", [][]int{{0, 1}, {3, 4}}, 0, Hole},
		{"the end is never told", [][]int{{0, 1, 2}, {2, 3}}, 1, Untold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory()
			s.event([]string{"ann", "bob", "cid"}, nil)
			s.skip["ann/2"] = true
			var es []Entry
			for _, text := range []string{"a", "b", "c", "d", "e"} {
				es = append(es, s.say("bob/1", grp, text))
			}
			for n, told := range tt.starts {
				if n > 0 {
					s.started("ann/2")
				}
				for _, i := range told {
					s.apply("ann/2", es[i])
				}
			}
			r := Check(s.end())
			if r.ToldAgain != tt.again || r.OK() != (tt.broken == "") || tt.broken != "" && r.Broken[tt.broken] == 0 {
				t.Errorf("told again %d, want %d; want %q: %v", r.ToldAgain, tt.again, tt.broken, r.Violations)
			}
		})
	}
}

// No more than the SDK says.
func TestToldTooMuchAgain(t *testing.T) {
	for _, n := range []int{mostToldAgain, mostToldAgain + 1} {
		s := opening()
		var es []Entry
		for i := range n {
			es = append(es, s.say("bob/1", dm, fmt.Sprint("more ", i)))
		}
		s.started("ann/2")
		for _, e := range es {
			s.apply("ann/2", e)
		}
		if r := Check(s.end()); r.MostAgain != n || r.OK() != (n == mostToldAgain) {
			t.Errorf("%d told again, most %d: %v", n, r.MostAgain, r.Violations)
		}
	}
}

// What is not in its order among conversations is seen as well.
func TestToldAgainAcrossConversations(t *testing.T) {
	s := opening()
	a, b := s.say("bob/1", dm, "a"), s.say("bob/1", grp, "b")
	s.started("ann/1")
	s.apply("ann/1", b)
	s.started("ann/1")
	s.apply("ann/1", a)
	if r := Check(s.end()); r.Broken[AppliedTwice] != 1 || r.ToldAgain != 1 {
		t.Errorf("told again %d: %v", r.ToldAgain, r.Violations)
	}
}

func TestDropped(t *testing.T) {
	s := opening()
	s.invoke("bob/1", dm, "accepted")
	s.accept("bob/1", dm, "accepted")
	s.started("bob/1")
	s.say("bob/1", dm, "something else")
	s.invoke("bob/1", dm, "not accepted yet")
	s.started("bob/1")
	r := Check(s.end())
	if len(r.Broken) != 1 || r.Broken[Dropped] != 1 || r.Unknown != 2 {
		t.Errorf("%v: %v", r.Broken, r.Violations)
	}
}
