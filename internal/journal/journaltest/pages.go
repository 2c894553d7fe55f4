package journaltest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func (f *fixture) page(q im.PageQuery) (im.Page, error) {
	f.Helper()
	r, ok := f.j.(im.Pages)
	if !ok {
		f.Fatalf("%T reads no pages", f.j)
	}
	p, err := r.Page(f.ctx, q)
	if err != nil {
		return p, err
	}
	return p, checkPage(q, &p)
}

// checkPage holds a page against what its query allows.
func checkPage(q im.PageQuery, p *im.Page) error {
	bad := func(what string, args ...any) error {
		return fmt.Errorf("page %+v of %+v: %s", *p, q, fmt.Sprintf(what, args...))
	}
	switch {
	case p.First == 0 || p.Last == 0:
		if p.First != 0 || p.Last != 0 || len(p.Entries)+len(p.Touched) > 0 {
			return bad("it covers nothing")
		}
		return nil
	case p.First > p.Last || p.First < q.From || p.Last > q.Until:
		return bad("it lies outside")
	case !q.Backward && p.First != q.From:
		return bad("it begins late")
	case len(p.Entries)+len(p.Touched) > q.Limit:
		return bad("more than %d entries", q.Limit)
	}
	last := uint64(0)
	for i := range p.Touched {
		if s := p.Touched[i].Seq; s <= last || s >= p.First {
			return bad("touched %d", s)
		}
		last = p.Touched[i].Seq
	}
	for i := range p.Entries {
		if e := &p.Entries[i]; e.Seq <= last || e.Seq < p.First || e.Seq > p.Last || e.Amends() {
			return bad("entry %d", e.Seq)
		}
		last = p.Entries[i].Seq
	}
	return nil
}

// pages reads a whole stretch, page by page, and requires it to be what the entries
// come to.
func (f *fixture) pages(q im.PageQuery, all []im.Entry) error {
	f.Helper()
	entries, touched := map[uint64]im.Entry{}, map[uint64]im.Entry{}
	at, end := q.From, min(q.Until, uint64(len(all)))
	lower, upper := q.From, end
	for n := 0; lower <= upper; n++ {
		if n > len(all)+1 {
			return fmt.Errorf("%+v: no end after %d pages", q, n)
		}
		part := q
		part.From, part.Until = lower, max(upper, lower)
		if !q.Backward {
			part.Until = q.Until
		} else if n == 0 {
			part.Until = q.Until
		}
		p, err := f.page(part)
		if err != nil {
			return err
		}
		if p.First == 0 || q.Backward && p.Last != upper || !q.Backward && p.First != lower {
			return fmt.Errorf("%+v: page %+v leaves something out", part, p)
		}
		for _, e := range p.Entries {
			entries[e.Seq] = e
		}
		for _, e := range p.Touched {
			touched[e.Seq] = e
		}
		if q.Backward {
			upper = p.First - 1
		} else {
			lower = p.Last + 1
		}
	}
	for i := range all {
		e := &all[i]
		in := e.Seq >= at && e.Seq <= end
		if got, ok := entries[e.Seq]; ok != (in && !e.Amends()) {
			return fmt.Errorf("%+v: entry %d is told: %v", q, e.Seq, ok)
		} else if ok {
			if d := like(&got, e); d != "" {
				return fmt.Errorf("%+v: entry %d: %s", q, e.Seq, d)
			}
		}
		if in && e.Amends() && e.Target < at {
			got, ok := touched[e.Target]
			if !ok {
				return fmt.Errorf("%+v: %d touches %d, which is not told", q, e.Seq, e.Target)
			}
			if d := like(&got, &all[e.Target-1]); d != "" {
				return fmt.Errorf("%+v: touched %d: %s", q, e.Target, d)
			}
		}
	}
	return nil
}

// like compares what a model knows of an entry.
func like(got, want *im.Entry) string {
	if got.Seq != want.Seq || got.ID != want.ID || got.Kind != want.Kind || got.Recalled != want.Recalled || got.Amended != want.Amended || !bytes.Equal(got.Body, want.Body) {
		return fmt.Sprintf("%+v, want %+v", *got, *want)
	}
	return ""
}

// checkPages reads a conversation, and its second half, in both directions and in
// pages of several sizes.
func (f *fixture) checkPages(c im.ConversationID, all []im.Entry) error {
	f.Helper()
	n := uint64(len(all))
	for _, from := range []uint64{1, n/2 + 1, n + 1} {
		for _, limit := range []int{3, 500} {
			if n > 60 && limit == 3 {
				continue // many questions that say nothing new
			}
			for _, backward := range []bool{false, true} {
				if err := f.pages(im.PageQuery{Conversation: c, From: from, Until: max(n, from) + uint64(limit%2)*5, Backward: backward, Limit: limit}, all); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A page is what a stretch comes to: none, one, two and many amendments, of what is
// in it and of what is before it.
func testPages(t *testing.T, f *fixture) {
	c := im.Group("g")
	if p, err := f.page(im.PageQuery{Conversation: c, From: 1, Until: 9, Limit: 5}); err != nil || p.First != 0 {
		t.Fatalf("of an empty conversation: %+v, %v", p, err)
	}
	f.stored(text(c, "a", 1, "one"), text(c, "a", 2, "two"), text(c, "a", 3, "three"))
	f.stored(change(c, "b", 4, 1, 0, "1a"), text(c, "a", 5, "five"), change(c, "b", 6, 5, 0, "5a"), change(c, "b", 7, 1, 4, "1b"), recall(c, "a", 8, 3), text(c, "a", 9, "nine"))
	seqs := func(es []im.Entry) string {
		s := ""
		for _, e := range es {
			s += fmt.Sprintf("%d=%s ", e.Seq, e.Body)
		}
		return s
	}
	for range 2 {
		for _, tt := range []struct {
			q                im.PageQuery
			first, last      uint64
			entries, touched string
		}{
			{im.PageQuery{From: 1, Until: 99, Limit: 50}, 1, 9, "1=1b 2=two 3= 5=5a 9=nine ", ""},
			{im.PageQuery{From: 4, Until: 99, Limit: 50}, 4, 9, "5=5a 9=nine ", "1=1b 3= "},
			{im.PageQuery{From: 4, Until: 8, Limit: 50}, 4, 8, "5=5a ", "1=1b 3= "},
			{im.PageQuery{From: 6, Until: 6, Limit: 50}, 6, 6, "", "5=5a "},
			{im.PageQuery{From: 9, Until: 99, Limit: 50}, 9, 9, "9=nine ", ""},
			{im.PageQuery{From: 4, Until: 99, Limit: 50, Backward: true}, 4, 9, "5=5a 9=nine ", "1=1b 3= "},
			{im.PageQuery{From: 5, Until: 7, Limit: 50, Backward: true}, 5, 7, "5=5a ", "1=1b "},
			{im.PageQuery{From: 10, Until: 99, Limit: 50}, 0, 0, "", ""},
			{im.PageQuery{From: 10, Until: 99, Limit: 50, Backward: true}, 0, 0, "", ""},
		} {
			tt.q.Conversation = c
			p, err := f.page(tt.q)
			if err != nil {
				t.Fatal(err)
			}
			if p.First != tt.first || p.Last != tt.last || seqs(p.Entries) != tt.entries || seqs(p.Touched) != tt.touched {
				t.Errorf("%+v: %d–%d %s, touched %s; want %d–%d %s, touched %s", tt.q, p.First, p.Last, seqs(p.Entries), seqs(p.Touched), tt.first, tt.last, tt.entries, tt.touched)
			}
		}
		f.checkConversation(c)
		f.reopen()
	}
}

// Many amendments of few messages cost one entry for each message, however many they
// are, and large bodies end a page.
func testPagesMany(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.stored(text(c, "a", 1, "one"), text(c, "a", 2, "two"))
	const many = 2000
	amended := [3]uint64{}
	batch := make([]im.Append, 0, 100)
	for n := 0; n < many; n++ {
		target := uint64(n%2) + 1
		batch = append(batch, change(c, "b", 10+n, target, amended[target], fmt.Sprint("state ", n)))
		amended[target] = uint64(n) + 3
		if len(batch) == cap(batch) {
			f.stored(batch...)
			batch = batch[:0]
		}
	}
	told, pages := 0, 0
	for from := uint64(3); from <= many+2; pages++ {
		p, err := f.page(im.PageQuery{Conversation: c, From: from, Until: many + 2, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Touched {
			if string(e.Body) != fmt.Sprint("state ", many-3+int(e.Seq)) {
				t.Fatalf("touched: %+v", e)
			}
		}
		told += len(p.Touched) + len(p.Entries)
		from = p.Last + 1
	}
	if told > 2*pages || pages > 3 {
		t.Fatalf("%d amendments of two messages cost %d entries in %d pages", many, told, pages)
	}
	big := string(make([]byte, 60<<10))
	for n := range 40 {
		f.stored(text(c, "a", 5000+n, big))
	}
	p, err := f.page(im.PageQuery{Conversation: c, From: many + 3, Until: 9999, Limit: 500})
	if err != nil || len(p.Entries) == 0 || len(p.Entries) > 20 {
		t.Fatalf("a page of %d entries of 60 KiB each, %v", len(p.Entries), err)
	}
	last := many + 2 + 40
	for n := range 40 { // all of them touched
		f.stored(change(c, "b", 6000+n, uint64(many+3+n), 0, big))
	}
	for from := uint64(last + 1); from <= uint64(last+40); {
		p, err := f.page(im.PageQuery{Conversation: c, From: from, Until: 9999, Limit: 500})
		if err != nil || len(p.Touched) == 0 || len(p.Touched) > 20 {
			t.Fatalf("a page of %d touched entries of 60 KiB each, %v", len(p.Touched), err)
		}
		from = p.Last + 1
	}
}
