package contact_test

import (
	"context"
	"testing"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/im"
)

// BenchmarkMaySend asks what is known in RAM.
func BenchmarkMaySend(b *testing.B) {
	g := gate{}
	s := contact.New(g, nil, nil, contact.Options{})
	for b.Loop() {
		if err := s.MaySend(b.Context(), "a", "b"); err != nil {
			b.Fatal(err)
		}
	}
}

// gate lets everybody write.
type gate struct{ contact.Store }

func (gate) Gate(_ context.Context, from, _ im.UserID) (im.DMPolicy, im.Contact, bool, error) {
	return im.DMEveryone, im.Contact{User: from}, true, nil
}
