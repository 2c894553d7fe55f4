package account_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
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

func service(b *testing.B) *account.Service {
	db, err := sqlite.Open(filepath.Join(b.TempDir(), "d.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := account.New(db, account.Options{})
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
