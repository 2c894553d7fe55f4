// Package indextest is what every engine of the search's index has to pass.
package indextest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/token"
)

// Open opens an index; opened again in one test it is the same one.
type Open func(t *testing.T) search.Index

// Run tries an engine. Each subtest gets an empty index.
func Run(t *testing.T, open func(t *testing.T) Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"order": order, "terms": terms, "replaced": replaced, "forgotten": forgotten, "bounds": bounds, "times that go back": imported,
		"state": state, "reset": reset, "any order of batches": batches, "odd": odd,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var start = time.UnixMilli(1_760_000_000_000)

// doc makes a message; pos is its place, and the seconds after start.
func doc(c string, seq, pos uint64, words ...string) search.Doc {
	return search.Doc{Conversation: im.ConversationID(c), Seq: seq, Pos: pos, Stored: start.Add(time.Duration(pos) * time.Second), Terms: words}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// find asks for words, those that end with * as beginnings, in conversations.
func find(t *testing.T, x search.Index, words string, change func(*search.Find), conversations ...string) []string {
	t.Helper()
	q := search.Find{Limit: 1000}
	for _, c := range conversations {
		q.Conversations = append(q.Conversations, im.ConversationID(c))
	}
	for _, w := range strings.Fields(words) {
		bare, prefix := strings.CutSuffix(w, "*")
		q.Terms = append(q.Terms, token.Term{Text: bare, Prefix: prefix})
	}
	if change != nil {
		change(&q)
	}
	hits, err := x.Find(t.Context(), q)
	ok(t, err)
	var out []string
	for i, h := range hits {
		if i > 0 && h.Order >= hits[i-1].Order {
			t.Errorf("%s: hit %d comes behind an older one", words, i)
		}
		out = append(out, fmt.Sprintf("%s/%d@%d", h.Conversation, h.Seq, h.Pos))
	}
	return out
}

func want(t *testing.T, got []string, hits ...string) {
	t.Helper()
	if !slices.Equal(got, hits) {
		t.Errorf("found %q, want %q", got, hits)
	}
}

func order(t *testing.T, open Open) {
	x := open(t)
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 10, "tea"), doc("grp:b", 1, 10, "tea"), doc("grp:a", 2, 11, "tea", "milk")}))
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:c", 7, 12, "tea"), doc("grp:a", 3, 13, "tea")}))
	want(t, find(t, x, "tea", nil, "grp:a", "grp:b", "grp:c"), "grp:a/3@13", "grp:c/7@12", "grp:a/2@11", "grp:b/1@10", "grp:a/1@10")
	want(t, find(t, x, "tea", nil, "grp:b"), "grp:b/1@10")
	want(t, find(t, x, "tea", nil, "grp:nobody"))
	want(t, find(t, x, "tea", nil))
	want(t, find(t, x, "tea", func(q *search.Find) { q.Limit = 2 }, "grp:a", "grp:b"), "grp:a/3@13", "grp:a/2@11")
}

func terms(t *testing.T, open Open) {
	x := open(t)
	ok(t, x.Apply(t.Context(), []search.Doc{
		doc("grp:a", 1, 1, "tea", "time", "\ue000text"), doc("grp:a", 2, 2, "team", "\ue000file"), doc("grp:a", 3, 3, "中国", "国", "te", "\ue000text", "\ue000link"),
		doc("grp:b", 1, 4, "tea", "its", "select", "\ue000file"),
	}))
	want(t, find(t, x, "te*", nil, "grp:a"), "grp:a/3@3", "grp:a/2@2", "grp:a/1@1")
	want(t, find(t, x, "te", nil, "grp:a"), "grp:a/3@3")
	want(t, find(t, x, "tea ti*", nil, "grp:a"), "grp:a/1@1")
	want(t, find(t, x, "tea 国", nil, "grp:a"))
	want(t, find(t, x, "中*", nil, "grp:a"), "grp:a/3@3")
	want(t, find(t, x, "中国 国", nil, "grp:a"), "grp:a/3@3")
	kinds := func(any ...string) func(*search.Find) { return func(q *search.Find) { q.Any = any } }
	want(t, find(t, x, "", kinds("\ue000file", "\ue000link"), "grp:a", "grp:b"), "grp:b/1@4", "grp:a/3@3", "grp:a/2@2")
	want(t, find(t, x, "tea*", kinds("\ue000file"), "grp:a", "grp:b"), "grp:b/1@4", "grp:a/2@2")
	want(t, find(t, x, "tea*", kinds("\ue000none"), "grp:a", "grp:b"))
	want(t, find(t, x, "it* select", nil, "grp:b"), "grp:b/1@4")
}

func replaced(t *testing.T, open Open) {
	x := open(t)
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 1, "old"), doc("grp:a", 2, 2, "old"), doc("grp:a", 3, 3, "old")}))
	for range 2 { // the same again is the same
		ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 1, "new"), doc("grp:a", 2, 2), doc("grp:a", 9, 9), doc("grp:a", 4, 4, "new")}))
		want(t, find(t, x, "old", nil, "grp:a"), "grp:a/3@3")
		want(t, find(t, x, "new", nil, "grp:a"), "grp:a/4@4", "grp:a/1@1") // in its old place
		s, err := x.State(t.Context())
		if ok(t, err); s.Docs != 3 {
			t.Errorf("%d messages, want 3", s.Docs)
		}
	}
	// Twice in one batch: the last one counts.
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 5, 5, "one"), doc("grp:a", 5, 5, "two"), doc("grp:a", 6, 6, "one"), doc("grp:a", 6, 6), doc("grp:a", 1, 1, "one"), doc("grp:a", 1, 1)}))
	want(t, find(t, x, "one", nil, "grp:a"))
	want(t, find(t, x, "two", nil, "grp:a"), "grp:a/5@5")
	want(t, find(t, x, "new", nil, "grp:a"), "grp:a/4@4")
}

func forgotten(t *testing.T, open Open) {
	x := open(t)
	var docs []search.Doc
	for i := range uint64(10) {
		docs = append(docs, doc("grp:a", i+1, i+1, "word"), doc("grp:b", i+1, i+1, "word"))
	}
	ok(t, x.Apply(t.Context(), docs))
	ok(t, x.Forget(t.Context(), im.Span{Conversation: "grp:a", After: 2, Until: 5}))
	ok(t, x.Forget(t.Context(), im.Span{Conversation: "grp:a", After: 5, Until: 8})) // it touches
	ok(t, x.Forget(t.Context(), im.Span{Conversation: "grp:new", After: 0, Until: 8}))
	left := []string{"grp:a/10@10", "grp:a/9@9", "grp:a/2@2", "grp:a/1@1"}
	want(t, find(t, x, "word", nil, "grp:a"), left...)
	ok(t, x.Apply(t.Context(), append(docs, doc("grp:new", 8, 20, "word")))) // who was slow comes with them again
	want(t, find(t, x, "word", nil, "grp:a", "grp:new"), left...)
	if n := len(find(t, x, "word", nil, "grp:b")); n != 10 {
		t.Errorf("%d of another conversation", n)
	}
	s, err := x.State(t.Context())
	if ok(t, err); s.Docs != 14 {
		t.Errorf("%d messages, want 14", s.Docs)
	}
}

func bounds(t *testing.T, open Open) {
	x := open(t)
	var docs []search.Doc
	for i := range uint64(50) {
		docs = append(docs, doc(fmt.Sprintf("grp:%d", i%3), i/3+1, 100*i+100, "w"))
	}
	ok(t, x.Apply(t.Context(), docs))
	all := []string{"grp:0", "grp:1", "grp:2"}
	whole := find(t, x, "w", nil, all...)
	var pages []string
	below := search.Place{}
	for {
		var place search.Place
		page := find(t, x, "w", func(q *search.Find) { q.Below, q.Limit = below, 7 }, all...)
		if len(page) == 0 {
			break
		}
		_, err := fmt.Sscanf(strings.Replace(strings.Replace(page[len(page)-1], "/", " ", 1), "@", " ", 1), "%s %d %d", &place.Conversation, &place.Seq, &place.Pos)
		ok(t, err)
		pages, below = append(pages, page...), place
	}
	want(t, pages, whole...)
	// A place that is not there: what has its position, and what came before.
	want(t, find(t, x, "w", func(q *search.Find) { q.Below = search.Place{Pos: 300, Conversation: "grp:9", Seq: 1} }, all...), whole[47:]...)
	want(t, find(t, x, "w", func(q *search.Find) { q.Below = search.Place{Pos: 350, Conversation: "grp:0", Seq: 999} }, all...), whole[47:]...)
	at := func(pos int) time.Time { return start.Add(time.Duration(pos) * time.Second) }
	want(t, find(t, x, "w", func(q *search.Find) { q.From, q.To = at(4800), at(5000) }, all...), whole[1:3]...)
	want(t, find(t, x, "w", func(q *search.Find) { q.From = at(4901) }, all...), whole[0])
	want(t, find(t, x, "w", func(q *search.Find) { q.To = at(201) }, all...), whole[48:]...)
	want(t, find(t, x, "w", func(q *search.Find) { q.From = at(9000) }, all...))
	want(t, find(t, x, "w", func(q *search.Find) { q.To = at(-9000) }, all...))
}

// An import stores one conversation after the other, each with the times of its own, behind
// what was said here: what was stored in a time is found all the same, page by page, too.
func imported(t *testing.T, open Open) {
	x := open(t)
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	var docs []search.Doc
	add := func(c string, days ...int) {
		for i, n := range days {
			docs = append(docs, search.Doc{Conversation: im.ConversationID(c), Seq: uint64(i + 1), Pos: uint64(len(docs) + 1), Stored: day(n), Terms: []string{"w"}})
		}
	}
	add("grp:here", 400, 401)
	add("grp:a", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	add("grp:b", 1, 3, 5, 7, 9, 11)
	add("grp:c", 2, 402)
	ok(t, x.Apply(t.Context(), docs))
	all := []string{"grp:here", "grp:a", "grp:b", "grp:c", "grp:nobody"}
	for _, cs := range [][]string{all, {"grp:a"}, {"grp:b"}, {"grp:here"}, {"grp:c", "grp:a"}} {
		for _, from := range []int{-5, 1, 2, 4, 8, 11, 12, 399, 401, 402, 500} {
			for _, to := range []int{from + 1, from + 3, 400, 600} {
				if to <= from {
					continue
				}
				var wanted []string
				for _, d := range slices.Backward(docs) {
					if slices.Contains(cs, string(d.Conversation)) && !d.Stored.Before(day(from)) && d.Stored.Before(day(to)) {
						wanted = append(wanted, fmt.Sprintf("%s/%d@%d", d.Conversation, d.Seq, d.Pos))
					}
				}
				bound := func(q *search.Find) { q.From, q.To = day(from), day(to) }
				want(t, find(t, x, "w", bound, cs...), wanted...)
				if len(wanted) < 2 {
					continue
				}
				var below search.Place
				_, err := fmt.Sscanf(strings.NewReplacer("/", " ", "@", " ").Replace(wanted[0]), "%s %d %d", &below.Conversation, &below.Seq, &below.Pos)
				ok(t, err)
				want(t, find(t, x, "w", func(q *search.Find) { bound(q); q.Below = below }, cs...), wanted[1:]...)
			}
		}
	}
}

func state(t *testing.T, open Open) {
	x := open(t)
	s, err := x.State(t.Context())
	if ok(t, err); s != (search.State{}) {
		t.Errorf("an empty one: %+v", s)
	}
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 1, "w")}))
	place := search.State{Place: im.Place{Era: 1<<63 + 5, Pos: 1<<40 + 7}, Known: start}
	ok(t, x.SaveState(t.Context(), place))
	ok(t, x.Close())
	x = open(t)
	s, err = x.State(t.Context())
	if ok(t, err); s.Place != place.Place || !s.Known.Equal(start) || s.Docs != 1 {
		t.Errorf("%+v", s)
	}
	want(t, find(t, x, "w", nil, "grp:a"), "grp:a/1@1")
}

func reset(t *testing.T, open Open) {
	x := open(t)
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 1, "w")}))
	ok(t, x.Forget(t.Context(), im.Span{Conversation: "grp:a", After: 1, Until: 5}))
	ok(t, x.SaveState(t.Context(), search.State{Place: im.Place{Era: 1, Pos: 2}}))
	ok(t, x.Reset(t.Context()))
	s, err := x.State(t.Context())
	if ok(t, err); s != (search.State{}) {
		t.Errorf("%+v", s)
	}
	want(t, find(t, x, "w", nil, "grp:a"))
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 2, 2, "w")}))
	want(t, find(t, x, "w", nil, "grp:a"), "grp:a/2@2")
}

// However what comes is cut into batches, and whatever of it comes again, the index is the
// same in the end.
func batches(t *testing.T, open Open) {
	x := open(t)
	r := rand.New(rand.NewPCG(3, 4))
	var docs []search.Doc
	for i := range uint64(120) {
		docs = append(docs, doc(fmt.Sprintf("grp:%d", i%5), i/5+1, i+1, fmt.Sprintf("w%d", r.IntN(4))))
	}
	for at := 0; at < len(docs); {
		end := min(at+1+r.IntN(30), len(docs))
		ok(t, x.Apply(t.Context(), docs[at:end]))
		at = max(end-r.IntN(10), 1) // a part of it was not noted as done
		if end == len(docs) {
			break
		}
	}
	for w := range 4 {
		var wanted []string
		for _, d := range slices.Backward(docs) {
			if d.Terms[0] == fmt.Sprintf("w%d", w) {
				wanted = append(wanted, fmt.Sprintf("%s/%d@%d", d.Conversation, d.Seq, d.Pos))
			}
		}
		want(t, find(t, x, fmt.Sprintf("w%d", w), nil, "grp:0", "grp:1", "grp:2", "grp:3", "grp:4"), wanted...)
	}
}

// Odd requests are no errors and no way in; an ended context is one.
func odd(t *testing.T, open Open) {
	x := open(t)
	ok(t, x.Apply(t.Context(), nil))
	ok(t, x.Apply(t.Context(), []search.Doc{doc("grp:a", 1, 1, "w")}))
	want(t, find(t, x, `" ) ( ' \ & | ! : * ""`, nil, "grp:a"))
	want(t, find(t, x, "w", nil, `grp:a' OR 1=1`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Find(ctx, search.Find{Conversations: []im.ConversationID{"grp:a"}, Terms: []token.Term{{Text: "w"}}, Limit: 1}); err == nil {
		t.Error("found for nobody")
	}
}
