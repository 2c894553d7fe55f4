package account_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/trail"
)

// BenchmarkAuthenticate is what one Hello costs in a reconnect storm.
func BenchmarkAuthenticate(b *testing.B) {
	s := service(b)
	var tokens []account.Tokens
	for i := range 1000 {
		tokens = append(tokens, must(s.Mint(background, account.Minting{User: im.UserID(fmt.Sprint("u", i)), Device: phone("d1")})))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Authenticate(background, im.Handshake{Token: tokens[i%len(tokens)].Access, Connection: "c", Device: phone("d1"), Client: "c/1", Address: home}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMint is one durable transaction that opens a session.
func BenchmarkMint(b *testing.B) {
	s := service(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Mint(background, account.Minting{User: im.UserID(fmt.Sprint("u", i)), Device: phone("d1")}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMintWritten is BenchmarkMint with the line of the audit log.
func BenchmarkMintWritten(b *testing.B) {
	s := service(b, func(o *account.Options, db *directory.DB) {
		log := trail.New(trail.Options{Store: db, Now: time.Now, Random: rand.Reader})
		b.Cleanup(log.Close)
		o.Trail = log
	})
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Mint(background, account.Minting{User: im.UserID(fmt.Sprint("u", i)), Device: phone("d1")}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMintTogether is many at once: they share commits.
func BenchmarkMintTogether(b *testing.B) {
	s := service(b)
	b.ReportAllocs()
	b.SetParallelism(16)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Mint(background, account.Minting{User: im.UserID(fmt.Sprint("u", n.Add(1))), Device: phone("d1")}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func service(b *testing.B, change ...func(*account.Options, *directory.DB)) *account.Service {
	db, err := sqlite.Open(filepath.Join(b.TempDir(), "d.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var o account.Options
	for _, c := range change {
		c(&o, db)
	}
	s := account.New(db, o)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}
