package skein_test

import (
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) (skein.Store, func() skein.Store) {
		s := skein.NewMemoryStore()
		return s, func() skein.Store { return s }
	})
}
