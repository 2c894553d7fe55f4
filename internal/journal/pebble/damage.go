package pebble

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// maxDamages bounds how many conversations are remembered by name: what is beyond
// is in the log.
const maxDamages = 100

// damages remembers what could not be read because a stored block is damaged. A
// block that is damaged breaks what is in it, and nothing else: whoever asks for
// more than one conversation gets the others.
type damages struct {
	mu    sync.Mutex
	known map[im.ConversationID]string
}

// damage notes that a conversation cannot be read, and logs it once. It returns
// err unchanged; anything but damage is not noted.
func (j *Journal) damage(c im.ConversationID, err error) error {
	if !errors.Is(err, im.ErrJournalDamaged) {
		return err
	}
	j.damages.mu.Lock()
	_, known := j.damages.known[c]
	if !known && len(j.damages.known) < maxDamages {
		if j.damages.known == nil {
			j.damages.known = map[im.ConversationID]string{}
		}
		j.damages.known[c] = err.Error()
	}
	j.damages.mu.Unlock()
	if !known {
		j.o.Logger.Error("journal: a conversation cannot be read; the others can. Restore it from a backup", "conversation", c, "err", err)
	}
	return err
}

// Trouble tells why nothing can be stored now, "" if it can, and which
// conversations were found to be damaged, each with the file.
func (j *Journal) Trouble() (stopped string, damaged []string) {
	j.damages.mu.Lock()
	for _, c := range slices.Sorted(maps.Keys(j.damages.known)) {
		damaged = append(damaged, fmt.Sprintf("conversation %s cannot be read: %s", c, j.damages.known[c]))
	}
	j.damages.mu.Unlock()
	if err := j.failure(); err != nil {
		return "the journal cannot store any more", damaged
	}
	if err := j.space.check(0); err != nil {
		return "the journal's disk is full", damaged
	}
	return "", damaged
}
