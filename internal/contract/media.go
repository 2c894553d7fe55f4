package contract

import (
	"fmt"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

const (
	// MaxMedia is how many uploads a message names.
	MaxMedia = 10
	// mediaIDBytes is how long the id of an upload is.
	mediaIDBytes = 26
)

// ValidMedia tells whether a text has the form of an upload's id: [A-Z2-7]{26}.
func ValidMedia(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(id) == mediaIDBytes
}

// checkMedia checks the ids of the uploads that a message names (SPEC §13.1).
func checkMedia(ids []string) error {
	if n := len(ids); n > MaxMedia {
		return im.TooLarge("media", "has %d uploads; at most %d are allowed", n, MaxMedia)
	}
	for i, id := range ids {
		if !ValidMedia(id) {
			return im.Wrong(fmt.Sprintf("media[%d]", i), "must match [A-Z2-7]{26}")
		}
		if slices.Contains(ids[:i], id) {
			return im.Wrong(fmt.Sprintf("media[%d]", i), "stands there twice")
		}
	}
	return nil
}
