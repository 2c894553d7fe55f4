package directory

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func some(n int) []im.Membership {
	var all []im.Membership
	for i := range n {
		all = append(all, im.Membership{
			Conversation: im.ConversationID(fmt.Sprintf("grp:%04d", i)), First: uint64(i * i * i), Until: uint64(i % 3 << (i % 60)), Title: strings.Repeat("ü", i%5),
		})
	}
	return all
}

// What is packed is unpacked, whole and one by one.
func TestPacked(t *testing.T) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 33, 500} {
		want := some(n)
		list := pack(want)
		if got := list.all(nil); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: %+v", n, got)
		}
		for i := range want {
			if got, found := list.one(want[i].Conversation, nil); !found || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%d of %d: %+v %v", i, n, got, found)
			}
		}
		for _, none := range []im.ConversationID{"", "grp:", "grp:0000x", "grp:9999", "zzz"} {
			if m, found := list.one(none, nil); found {
				t.Errorf("%d: found %+v", n, m)
			}
		}
	}
}

func (p *places) mustRead(t *testing.T, u im.UserID) *placesRead {
	t.Helper()
	_, known, _, r, mine := p.get(u)
	if known || !mine {
		t.Fatalf("%s: known %v, mine %v", u, known, mine)
	}
	return r
}

func (p *places) mustKnow(t *testing.T, u im.UserID, want packed) {
	t.Helper()
	if list, known, _, _, _ := p.get(u); !known || list != want {
		t.Fatalf("%s: %q %v, want %q", u, list, known, want)
	}
}

// A read that began before its list was forgotten is not kept after it, and
// who asks after it does not get it.
func TestForgottenWhileRead(t *testing.T) {
	for name, forget := range map[string]func(*places){
		"forget": func(p *places) { p.forget("other", "u") },
		"clear":  func(p *places) { p.clear() },
	} {
		p := newPlaces(1 << 20)
		early := p.mustRead(t, "u")
		if _, _, _, r, mine := p.get("u"); mine || r != early {
			t.Errorf("%s: the read is not shared", name)
		}
		forget(p)
		later := p.mustRead(t, "u")
		p.keep("u", early, "early", nil, nil)
		if _, known := p.of.Peek("u"); known {
			t.Errorf("%s: an early read was kept", name)
		}
		p.keep("u", later, "later", nil, nil)
		p.mustKnow(t, "u", "later")
		if <-early.done; early.list != "early" {
			t.Errorf("%s: the early ones got %q", name, early.list)
		}
	}
}

// A read that failed is told to those who waited, and made again.
func TestFailedRead(t *testing.T) {
	p := newPlaces(1 << 20)
	r := p.mustRead(t, "u")
	failed := errors.New("no")
	p.keep("u", r, "", nil, failed)
	if <-r.done; r.err != failed {
		t.Error(r.err)
	}
	p.mustRead(t, "u")
}

// The memory is bounded, what is used stays, and forgetting gives it back.
func TestPlacesAreBounded(t *testing.T) {
	const limit = 100_000
	p := newPlaces(limit)
	list := packed(strings.Repeat("x", 200))
	put := func(u im.UserID) { p.keep(u, p.mustRead(t, u), list, nil, nil) }
	put("used")
	for i := range 5000 {
		put(im.UserID(fmt.Sprint(i)))
		p.mustKnow(t, "used", list)
		if held := p.of.Len() * len(list); held > limit {
			t.Fatalf("%d bytes are kept", held)
		}
	}
	if p.of.Len() < limit/2/300 {
		t.Errorf("only %d are kept", p.of.Len())
	}
	p.forget("used")
	for i := range 5000 {
		p.forget(im.UserID(fmt.Sprint(i)))
	}
	if p.of.Used() != 0 {
		t.Errorf("nothing is kept and takes %d bytes", p.of.Used())
	}
	put("huge") // one alone may be larger than the bound
	p.keep("huge", p.mustForget(t, "huge"), packed(strings.Repeat("x", 2*limit)), nil, nil)
	if list, known := p.peekOnly("huge"); !known || len(list) != 2*limit {
		t.Error("a list larger than the bound is not kept until the next one")
	}
}

func (p *places) mustForget(t *testing.T, u im.UserID) *placesRead {
	p.forget(u)
	return p.mustRead(t, u)
}

func (p *places) peekOnly(u im.UserID) (packed, bool) {
	list, known, _ := p.peek(u)
	return list, known
}

// More new names than are remembered: everything is read again.
func TestManyRenames(t *testing.T) {
	p := newPlaces(1 << 20)
	list := pack([]im.Membership{{Conversation: "grp:0", First: 1, Title: "first"}, {Conversation: "grp:1", First: 1, Until: 5, Title: "then"}})
	p.keep("u", p.mustRead(t, "u"), list, nil, nil)
	title := func() string {
		list, known, names := p.peek("u")
		if !known {
			return "?"
		}
		all := list.all(names)
		one, _ := list.one("grp:0", names)
		if !reflect.DeepEqual(one, all[0]) {
			t.Errorf("%+v and %+v", one, all[0])
		}
		return all[0].Title + "," + all[1].Title
	}
	for i := range maxRenamed {
		p.rename(im.ConversationID(fmt.Sprint("grp:", i)), fmt.Sprint("name ", i))
	}
	if got := title(); got != "name 0,then" { // who left keeps the name of then
		t.Error(got)
	}
	p.rename("grp:0", "another")
	if got := title(); got != "?" {
		t.Error(got)
	}
	if len(p.renamed) > maxRenamed {
		t.Errorf("%d names", len(p.renamed))
	}
}
