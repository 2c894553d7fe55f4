package entrycodec

import "github.com/skein-im/skein/wire"

// MaxSaid is how much of what a message said is kept with a report of it, in characters.
const MaxSaid = 1000

// Said is what a content says in words, as far as it is kept with a report: its text, or its
// fallback, or at least its type.
func Said(c *wire.Content) string {
	said := c.GetText()
	if said == "" {
		said = c.GetFallback()
	}
	if said == "" {
		said = "(" + c.GetType() + ")"
	}
	if r := []rune(said); len(r) > MaxSaid {
		said = string(r[:MaxSaid])
	}
	return said
}
