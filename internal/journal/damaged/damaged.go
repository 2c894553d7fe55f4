// Package damaged is what the journals have in common where something that is stored is
// damaged. A damaged block breaks what is in it, and nothing else: whoever asks for more
// than one conversation gets the others (im.Apart). What could not be read is logged once,
// and named to operators.
package damaged

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// maxKnown bounds how many conversations are remembered, and logged, by name.
const maxKnown = 100

// Known remembers which conversations could not be read. The zero Known is ready.
type Known struct {
	mu   sync.Mutex
	why  map[im.ConversationID]string
	more bool // than are remembered
}

// Note remembers a conversation that cannot be read, and logs it once. It returns err
// unchanged; anything but im.ErrJournalDamaged is not noted.
func (k *Known) Note(log *slog.Logger, c im.ConversationID, err error) error {
	if !errors.Is(err, im.ErrJournalDamaged) {
		return err
	}
	k.mu.Lock()
	_, known := k.why[c]
	full := len(k.why) >= maxKnown
	if !known && !full {
		if k.why == nil {
			k.why = map[im.ConversationID]string{}
		}
		k.why[c] = err.Error()
	}
	tell := !known && (!full || !k.more)
	k.more = k.more || !known && full
	k.mu.Unlock()
	switch {
	case tell && full:
		log.Error("journal: more conversations cannot be read than are named here", "named", maxKnown, "err", err)
	case tell:
		log.Error("journal: a conversation cannot be read; the others can. Restore it from a backup", "conversation", c, "err", err)
	}
	return err
}

// List tells operators which they are, each with what was found.
func (k *Known) List() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, c := range slices.Sorted(maps.Keys(k.why)) {
		all = append(all, fmt.Sprintf("conversation %s cannot be read: %s", c, k.why[c]))
	}
	if k.more {
		all = append(all, "more conversations cannot be read")
	}
	return all
}

// Which are the conversations that are remembered.
func (k *Known) Which() []im.ConversationID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.why))
}
