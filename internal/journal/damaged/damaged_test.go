package damaged

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func TestKnown(t *testing.T) {
	var k Known
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	if err := k.Note(log, "grp:a", im.ErrJournalFull); !errors.Is(err, im.ErrJournalFull) || len(k.List()) != 0 {
		t.Errorf("%v, %q", err, k.List())
	}
	for range 2 {
		for i := range maxKnown + 10 {
			_ = k.Note(log, im.Group(fmt.Sprintf("%03d", i)), im.ErrJournalDamaged)
		}
		if all := k.List(); len(all) != maxKnown+1 || all[maxKnown] != "more conversations cannot be read" {
			t.Errorf("%d are named, at last %q", len(all), all[len(all)-1])
		}
	}
	if n := strings.Count(said.String(), "grp:000"); n != 1 {
		t.Errorf("one is logged %d times", n)
	}
	if n := strings.Count(said.String(), "\n"); n != maxKnown+1 {
		t.Errorf("%d lines", n)
	}
}
