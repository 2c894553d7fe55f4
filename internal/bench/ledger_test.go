package bench

import "testing"

func TestStreamVerdicts(t *testing.T) {
	at := &topic{name: "dm:a:b"}
	s := &stream{topic: at, from: 4, next: 4} // logged in at head 3
	step := func(name string, got, want verdict, gap bool) {
		t.Helper()
		if got != want || s.gap() != gap {
			t.Errorf("%s: %+v, gap %v; want %+v, %v", name, got, s.gap(), want, gap)
		}
	}
	step("in order", s.push(4, 44), verdict{fresh: true}, false)
	step("again", s.push(4, 44), verdict{duplicated: true}, false)
	step("from before the login", s.push(2, 22), verdict{duplicated: true}, false)
	step("the own ack before the peer's push", s.take(6, 66), verdict{fresh: true}, false)
	step("the peer's", s.push(5, 55), verdict{fresh: true}, false)
	step("one is missing", s.push(8, 88), verdict{fresh: true}, true)
	step("pulled", s.pull(7, 77), verdict{fresh: true}, false)
	step("pulled once more", s.pull(7, 77), verdict{duplicated: true}, false)
	step("its push, after that of 8", s.push(7, 77), verdict{overtaken: true, disordered: true}, false)
	step("after a beacon", s.pull(9, 99), verdict{fresh: true}, false)
	step("its push", s.push(9, 99), verdict{overtaken: true}, false)
	step("its push again", s.push(9, 99), verdict{duplicated: true}, false)
	step("pulled as well", s.pull(10, 100), verdict{fresh: true}, false)
	step("another one is pushed", s.push(10, 101), verdict{overtaken: true, disordered: true}, false)
	step("beyond another gap", s.push(13, 133), verdict{fresh: true}, true)
	step("pushed late", s.push(12, 122), verdict{fresh: true, disordered: true}, true)
	if at.stands(11, 111); !at.stands(11, 111) || at.stands(11, 110) {
		t.Error("two messages stand at one seq")
	}
	step("another one than its sender was told", s.push(11, 110), verdict{fresh: true, disordered: true}, false)
	if s.next != 14 || len(s.ahead) != 0 {
		t.Errorf("next %d, ahead %v", s.next, s.ahead)
	}
	if lost := s.misses([]ackedSeq{{2, 22}, {4, 44}, {8, 88}, {14, 144}}); lost != 1 {
		t.Errorf("%d lost, only seq 14 is", lost)
	}
	if lost := s.misses([]ackedSeq{{11, 111}}); lost != 1 {
		t.Errorf("%d lost: at 11 stands another message", lost)
	}
}

func TestIdentity(t *testing.T) {
	a, b := [16]byte{0: 1, 6: 0x70, 8: 0x80}, [16]byte{0: 1, 6: 0x70, 8: 0x80}
	stampID(&a, 70_000, 9)
	stampID(&b, 70_001, 9)
	if identity(a[:]) == identity(b[:]) || identity(a[:])&0xffffffff != 9 || identity(a[:])>>32&0xffffff != 70_000 || identity(a[:3]) != 0 {
		t.Errorf("%x %x", identity(a[:]), identity(b[:]))
	}
	if a[6] != 0x70 || a[8] != 0x80 {
		t.Error("the id is no UUIDv7 any more")
	}
}

func TestHistogramsAddUp(t *testing.T) {
	var a, b, sum histogram
	for ms := range 1000 {
		(map[bool]*histogram{true: &a, false: &b})[ms%3 == 0].record(1e6)
	}
	a.record(250e6)
	sum.add(a.counted())
	sum.add(b.counted())
	l := sum.latency()
	if l.Count != 1001 || l.Max != 250 || l.P50 < 0.99 || l.P50 > 1.04 || l.P99 > 1.04 || l.Mean < 1.2 || l.Mean > 1.3 {
		t.Errorf("%+v", l)
	}
}
