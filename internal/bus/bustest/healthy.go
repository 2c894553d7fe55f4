package bustest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/bus"
)

func testDelivery(t *testing.T, rig Rig) {
	a, b, c := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{}), open(t, rig, "c", Limits{})
	for _, m := range []*member{a, b, c} {
		m.subscribe(t, "u.1", "end")
	}
	a.settle(t, "end", b, c)
	b.settle(t, "end", a, c)
	a.Publish("u.1", []byte("hello"))
	a.Publish("u.1", nil)
	a.Flush()
	for _, m := range []*member{b, c} {
		got := m.expect(t, 2)
		if got[0].Subject != "u.1" || string(got[0].Data) != "hello" || len(got[1].Data) != 0 {
			t.Errorf("%s got %q", m.name, got)
		}
	}
	// What b sends after it has a's messages comes after anything a would get of its own.
	b.send("end", "end")
	if got := a.expect(t, 1); string(got[0].Data) != "end" {
		t.Errorf("the publisher got %q", got)
	}
}

func testOrder(t *testing.T, rig Rig) {
	a, b, c := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{}), open(t, rig, "c", Limits{})
	const n = 5000
	subjects := []string{"u.1", "u.2", "g.1"}
	c.subscribe(t, subjects...)
	for _, s := range subjects {
		a.settle(t, s, c)
		b.settle(t, s, c)
	}
	done := make(chan struct{})
	for _, m := range []*member{a, b} {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range n {
				m.Publish(subjects[i%len(subjects)], fmt.Appendf(nil, "%s %d", m.name, i))
				if i%7 == 0 {
					m.Flush()
				}
			}
			m.Flush()
		}()
	}
	<-done
	<-done
	next := map[string]int{}
	for _, g := range c.expect(t, 2*n) {
		from, number, _ := strings.Cut(string(g.Data), " ")
		if i, _ := strconv.Atoi(number); i != next[from] || g.Subject != subjects[i%len(subjects)] {
			t.Fatalf("%s %s on %s, want number %d", from, number, g.Subject, next[from])
		}
		next[from]++
	}
	if lost := c.Losses(); len(c.Losses()) > 0 && lost[len(lost)-1] == bus.SlowConsumer {
		t.Errorf("lost: %q", lost)
	}
}

func testInterest(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	b.subscribe(t, "u.1", "u.1", "u.2", "end")
	a.settle(t, "end", b)
	a.send("u.3", "not for b")
	a.send("u", "not for b")
	a.send("u.1.x", "not for b")
	a.send("u.1", "one")
	a.send("u.2", "two")
	a.send("end", "end")
	got := b.expect(t, 3)
	if string(got[0].Data) != "one" || string(got[1].Data) != "two" {
		t.Fatalf("got %q", got)
	}
	// Subscribed twice, ended by one Unsubscribe; ending what is not there is nothing.
	b.Unsubscribe("u.1")
	b.Unsubscribe("u.1")
	b.Unsubscribe("never")
	silent := false
	b.retry(t, "silence on u.1", func() bool {
		got := b.Got()
		for i, g := range got {
			if string(g.Data) == "after" && (i == 0 || got[i-1].Subject != "u.1") {
				silent = true
			}
		}
		return silent
	}, func() {
		a.send("u.1", "still")
		a.send("end", "after")
	})
	// The other interest is untouched, and the first can be taken again.
	b.subscribe(t, "u.1")
	a.settle(t, "u.1", b)
	a.settle(t, "u.2", b)
}

func testSubjects(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	long := strings.Repeat("x", bus.MaxSubject)
	good := []string{"u", "u.1", "u.A_z:9-0.x", "-", long}
	bad := []string{"", ".", "u.", ".u", "u..1", "u.*", "u.>", ">", "*", "u 1", "u\t1", "u\r\nPUB", "ü", "u.\x00", "$SYS.x", "_INBOX/1", long + "x"}
	for _, s := range bad {
		if bus.ValidSubject(s) {
			t.Errorf("%q is valid", s)
		}
		if err := b.Subscribe(s); !errors.Is(err, bus.ErrSubject) {
			t.Errorf("subscribe %q: %v", s, err)
		}
		b.Unsubscribe(s)
	}
	b.subscribe(t, good...)
	b.subscribe(t, "end")
	a.settle(t, "end", b)
	for _, s := range bad {
		a.Publish(s, []byte(s))
	}
	for _, s := range good {
		a.Publish(s, []byte(s))
	}
	a.Flush()
	for i, g := range b.expect(t, len(good)) {
		if g.Subject != good[i] || string(g.Data) != good[i] {
			t.Errorf("got %q on %q, want %q", g.Data, g.Subject, good[i])
		}
	}
}

func testSizes(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	b.subscribe(t, "big")
	a.settle(t, "big", b)
	data := make([]byte, bus.MaxMessage+1)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	a.Publish("big", data) // one too many: dropped, and nothing breaks
	for _, n := range []int{bus.MaxMessage, 1, 40_000, bus.MaxMessage} {
		a.Publish("big", data[:n])
		a.Flush()
	}
	for i, g := range b.expect(t, 4) {
		if want := []int{bus.MaxMessage, 1, 40_000, bus.MaxMessage}[i]; !bytes.Equal(g.Data, data[:want]) {
			t.Errorf("message %d: %d bytes, want the %d that were sent", i, len(g.Data), want)
		}
	}
}

func testDataIsNotKept(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	b.subscribe(t, "u.1")
	a.settle(t, "u.1", b)
	buf := make([]byte, 4)
	for i := range 1000 {
		copy(buf, fmt.Sprintf("%04d", i))
		a.Publish("u.1", buf)
		copy(buf, "used")
		if i%10 == 0 {
			a.Flush()
		}
	}
	a.Flush()
	for i, g := range b.expect(t, 1000) {
		if string(g.Data) != fmt.Sprintf("%04d", i) {
			t.Fatalf("message %d is %q", i, g.Data)
		}
	}
}

func testManySubscriptions(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	const n = 20_000
	name := func(i int) string { return "u." + strconv.Itoa(1_000_000+i) }
	for i := range n {
		b.subscribe(t, name(i))
	}
	a.settle(t, name(n-1), b)
	for i := range n {
		a.Publish(name(i), []byte(name(i)))
		if i%100 == 0 {
			a.Flush()
		}
	}
	a.Flush()
	for i, g := range b.expect(t, n) {
		if g.Subject != name(i) || string(g.Data) != name(i) {
			t.Fatalf("message %d: %q on %q", i, g.Data, g.Subject)
		}
	}
	for i := range n - 1 {
		b.Unsubscribe(name(i))
	}
	b.Reset()
	a.settle(t, name(n-1), b)
}

// echo answers every message on its Bus, from within the call.
type echo struct {
	*Recorder
	bus chan bus.Bus // its Bus, once there is one
}

func (e *echo) Message(subject string, data []byte) {
	e.Recorder.Message(subject, data)
	b := <-e.bus
	e.bus <- b
	if subject == "ask" && !bytes.Equal(data, probe) {
		if err := b.Subscribe("more"); err != nil {
			data = []byte(err.Error())
		}
		b.Unsubscribe("less")
		b.Publish("answer", data)
		b.Flush()
	}
}

func testHandlerMayUseTheBus(t *testing.T, rig Rig) {
	a := open(t, rig, "a", Limits{})
	e := &echo{NewRecorder(), make(chan bus.Bus, 1)}
	b := rig.Open(t, "b", e, Limits{})
	e.bus <- b
	defer b.Close()
	if err := b.Subscribe("ask"); err != nil {
		t.Fatal(err)
	}
	a.subscribe(t, "answer")
	e.Settle(t, a, "ask")
	a.Settle(t, b, "answer")
	a.send("ask", "what")
	if got := a.expect(t, 1); string(got[0].Data) != "what" {
		t.Errorf("got %q", got)
	}
	e.Settle(t, a, "more")
}

func testJoin(t *testing.T, rig Rig) {
	var all []*member
	for i := range 4 {
		m := open(t, rig, "n"+strconv.Itoa(i), Limits{})
		m.subscribe(t, "g.1")
		for _, o := range all {
			o.settle(t, "g.1", m)
			m.settle(t, "g.1", o)
		}
		all = append(all, m)
	}
	// The seed is needed for joining only.
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	for _, m := range all[1:] {
		for _, o := range all[1:] {
			if o != m {
				m.settle(t, "g.1", o)
			}
		}
	}
}
