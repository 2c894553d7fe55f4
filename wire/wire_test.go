package wire

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		min, max, ourMin, ourMax uint32
		want                     uint32
		ok                       bool
	}{
		{1, 1, 1, 1, 1, true},
		{1, 2, 1, 1, 1, true}, // a newer client
		{1, 1, 1, 2, 1, true}, // a newer server
		{1, 3, 2, 4, 3, true},
		{2, 4, 1, 3, 3, true},
		{2, 3, 1, 1, 0, false}, // a client that gave up version 1
		{1, 1, 2, 3, 0, false}, // a server that did
		{0, 0, 1, 1, 0, false}, // fields missing
		{0, 1, 1, 1, 1, true},  // a client of the first hour: min missing
		{2, 1, 1, 3, 0, false}, // no range
		{0, 1<<32 - 1, 1, 1, 1, true},
	} {
		if got, ok := negotiate(c.min, c.max, c.ourMin, c.ourMax); got != c.want || ok != c.ok {
			t.Errorf("client %d–%d, server %d–%d: %d, %v", c.min, c.max, c.ourMin, c.ourMax, got, ok)
		}
	}
	if v, ok := Negotiate(VersionMin, VersionMax); !ok || v != VersionMax {
		t.Errorf("with itself: %d, %v", v, ok)
	}
}

func TestHeadHash(t *testing.T) {
	for _, conversation := range []string{"", "dm:ann:bob", "grp:" + strings.Repeat("x", 64)} {
		for _, seq := range []uint64{0, 1, 9, 10, 1<<53 + 1, 1<<64 - 1} {
			h := fnv.New64a()
			fmt.Fprintf(h, "%s:%d", conversation, seq)
			want := h.Sum64()
			for _, factor := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 1} {
				want = (want ^ want>>33) * factor
			}
			if got := HeadHash(conversation, seq); got != want {
				t.Errorf("%s:%d: %x, want %x", conversation, seq, got, want)
			}
		}
	}
	// Any number of conversations that each lack their last entry are noticed: what
	// they lack does not cancel out.
	seen := map[uint64]bool{}
	for n := range 300 {
		c := fmt.Sprint("dm:ann:u", n)
		for seq := range uint64(20) {
			lacks := HeadHash(c, seq+1) - HeadHash(c, seq)
			if seen[lacks] || seen[-lacks] {
				t.Fatalf("%s at %d lacks as much as another one", c, seq)
			}
			seen[lacks] = true
		}
	}
	// A fixed value for other languages' tests.
	if got := HeadHash("dm:ann:bob", 7); got != 0xa63fad809e983d99 {
		t.Errorf("%x", got)
	}
	if n := testing.AllocsPerRun(100, func() { HeadHash("dm:ann:bob", 12345) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrors(t *testing.T) {
	var err error = fmt.Errorf("send: %w", &Error{Code: "muted", Message: "until noon", RetryAfterMs: 1500})
	if !errors.Is(err, CodeMuted) || errors.Is(err, CodeBanned) {
		t.Errorf("%v compares wrong with codes", err)
	}
	var e *Error
	if !errors.As(err, &e) || e.Action() != ActionFix || e.RetryAfter() != 1500*time.Millisecond || e.Error() != "muted: until noon" {
		t.Errorf("%v", e)
	}
	if !errors.Is(error(&CloseError{Code: CodeReplaced}), CodeReplaced) {
		t.Error("a CloseError does not compare with its code")
	}
	for _, info := range Codes() {
		if code, ok := CodeOf(info.Number); !ok || code != info.Code {
			t.Errorf("CodeOf(%d) = %s", info.Number, code)
		}
		if got := ActionOf(info.Number); got != info.Action {
			t.Errorf("%s: by its number %s, in the catalogue %s", info.Code, got, info.Action)
		}
	}
	if _, ok := CodeOf(1000); ok {
		t.Error("1000 is no code of ours")
	}
	if ActionOf(1006) != ActionReconnect || ActionOf(4777) != ActionStop {
		t.Error("unknown numbers go by their range")
	}
}

// An error of a code that this version does not know says by its number what to do.
func TestErrorOfALaterVersion(t *testing.T) {
	for number, want := range map[uint32]Action{4150: ActionRetry, 4350: ActionReconnect, 4550: ActionLogin, 4750: ActionStop, 4950: ActionFix, 0: ActionReconnect} {
		if got := (&Error{Code: "of_tomorrow", CodeNumber: number}).Action(); got != want {
			t.Errorf("%d: %s, want %s", number, got, want)
		}
	}
	for _, info := range Codes() {
		e := NewError(info.Code, "")
		if e.GetCodeNumber() != uint32(info.Number) || e.Action() != info.Action {
			t.Errorf("%s is told as %d, %s", info.Code, e.GetCodeNumber(), e.Action())
		}
	}
}

// clock is set by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func idTime(id [16]byte) int64 {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return ms
}

func checkID(t *testing.T, id, last [16]byte) {
	t.Helper()
	if bytes.Compare(id[:], last[:]) <= 0 {
		t.Fatalf("%x does not follow %x", id, last)
	}
	if id[6]>>4 != 7 || id[8]>>6 != 2 {
		t.Fatalf("%x is no UUIDv7", id)
	}
}

func TestIDsIncrease(t *testing.T) {
	c := &clock{now: time.UnixMilli(1_760_000_000_000)}
	s := NewIDSource(c.Now, nil)
	var last [16]byte
	for i := range 20_000 { // more than fit in a millisecond
		id := s.Next()
		checkID(t, id, last)
		last = id
		switch i {
		case 9_000:
			c.now = c.now.Add(-time.Hour) // somebody set the clock back
		case 15_000:
			c.now = c.now.Add(2 * time.Hour)
		}
	}
	if got, want := idTime(last), c.now.UnixMilli(); got < want || got > want+10 {
		t.Errorf("the last id is of %d, the clock says %d", got, want)
	}
}

func TestIDsFollowTheServersClock(t *testing.T) {
	c := &clock{now: time.UnixMilli(1_760_000_000_000)}
	s := NewIDSource(c.Now, nil)
	last := s.Next()

	// The server is an hour ahead: so are the ids.
	server := c.now.Add(time.Hour).UnixMilli()
	s.SetServerTime(server)
	id := s.Next()
	checkID(t, id, last)
	if idTime(id) != server {
		t.Errorf("id of %d, server time %d", idTime(id), server)
	}
	// It is a minute behind: the order is kept.
	s.SetServerTime(server - 60_000)
	last = id
	id = s.Next()
	checkID(t, id, last)
	if idTime(id) < server {
		t.Error("the order was given up")
	}
	// The device was two days ahead, its ids are refused: the order is given up.
	s.SetServerTime(server - 48*3600_000)
	if got := idTime(s.Next()); got != server-48*3600_000 {
		t.Errorf("id of %d", got)
	}
}

func TestIDsFromManyGoroutines(t *testing.T) {
	s := NewIDSource(nil, nil)
	var mu sync.Mutex
	seen := map[[16]byte]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var last [16]byte
			for range 1000 {
				id := s.Next()
				if bytes.Compare(id[:], last[:]) <= 0 {
					t.Error("not increasing within a goroutine")
				}
				last = id
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 8000 {
		t.Errorf("%d different ids of 8000", len(seen))
	}
}

// TestCompactJSON: protojson decides by the program's hash whether it writes
// spaces, so the other tests may not see any.
func TestCompactJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:       `{}`,
		`{"a": 1}`: `{"a":1}`,
		`{ "a b" : " x \" , \\" ,  "c": [ 1, "\\\"  ", true ] }`: `{"a b":" x \" , \\","c":[1,"\\\"  ",true]}`,
	} {
		b := []byte(in)
		if got := b[:compactJSON(b)]; string(got) != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
