package postgres

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Processes that start together on an empty database take turns making the
// tables. One that had waited for its turn once did not see them, made them
// again and did not start.
func TestOpenTogether(t *testing.T) {
	for range 5 {
		url := pgtest.Database(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				j, err := Open(context.Background(), url, Options{Logger: quiet()})
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// A connection that somebody reads from is looked at without waiting for them:
// the driver reads in the background once a write was slow, and goes on with
// that when the connection is given back. A call once waited for that for ever.
func TestSuspiciousDoesNotWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	reading, enough := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(enough)
	wg.Go(func() {
		_ = raw.Read(func(uintptr) bool { close(reading); <-enough; return true })
	})
	<-reading
	answer := make(chan bool, 1)
	go func() { answer <- suspicious(c) }()
	select {
	case got := <-answer:
		if got {
			t.Error("nothing came, and it is suspicious")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for the one who reads")
	}
	if _, err := peer.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	for !suspicious(c) { // until the byte has arrived
	}
}

// However many reads wait for a connection, the pulse is felt: a node that
// answers ten thousand returning clients is busy, not cut off from its database.
func TestPulseBesideReads(t *testing.T) {
	j, err := Open(t.Context(), pgtest.Database(t), Options{Logger: quiet(), MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for range j.readers.Config().MaxConns {
		c, err := j.readers.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := j.Position(ctx); err == nil {
		t.Fatal("there was a connection for a read")
	}
	if _, err := j.Pulse(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The old primary is back, stands first in the URL and takes writes, as nobody
// fenced it: what was acknowledged there was lost. New connections go on to the
// one that was promoted.
func TestOldPrimaryIsBack(t *testing.T) {
	old, next, both := pgtest.Forked(t)
	j, err := Open(t.Context(), both, Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	pgtest.Succeed(t, old, next)
	c := im.DM("ann", "bob")
	storedOn := func(n int) bool {
		t.Helper()
		m := message(c, "ann", n)
		for deadline := time.Now().Add(20 * time.Second); ; {
			err := j.Append(t.Context(), []im.Append{m}, make([]im.Appended, 1))
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		got, err := pgtest.Collect[struct{ N int }](t.Context(), next.URL(), "SELECT count(*)::int AS n FROM journal_entries WHERE id = $1", [16]byte(m.Entry.ID))
		if err != nil {
			t.Fatal(err)
		}
		return got[0].N == 1
	}
	if !storedOn(1) {
		t.Error("after the failover it was stored somewhere else")
	}
	if err := old.Restart(); err != nil {
		t.Fatal(err)
	}
	j.writers.Reset() // as connections come and go
	j.readers.Reset()
	if !storedOn(2) {
		t.Error("it was stored on the old primary")
	}
}
