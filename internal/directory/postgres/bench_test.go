package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func benchDB(b *testing.B) *directory.DB {
	d, err := postgres.Open(b.Context(), pgtest.Database(b), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// BenchmarkRead reads one user, by 16 at a time.
func BenchmarkRead(b *testing.B) {
	d := benchDB(b)
	if err := d.CreateUser(b.Context(), someone("u")); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := d.UserCredentials(b.Context(), "u"); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkWrite makes users, by 16 at a time.
func BenchmarkWrite(b *testing.B) {
	d := benchDB(b)
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := d.CreateUser(b.Context(), someone(fmt.Sprint("u", n.Add(1)))); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkOpenSession opens sessions of a user with two tokens, one after the other.
func BenchmarkOpenSession(b *testing.B) {
	d := benchDB(b)
	if err := d.CreateUser(b.Context(), someone("u")); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		o := im.SessionOpening{Session: im.Session{ID: im.SessionID(fmt.Sprint("s", n)), User: "u"}, Tokens: make([]im.Token, 2)}
		for i := range o.Tokens {
			copy(o.Tokens[i].Hash[:], fmt.Sprint(n, "/", i))
		}
		if err := d.OpenSession(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}
