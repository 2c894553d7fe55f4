package pebble

import "github.com/skein-im/skein/internal/im"

// damage notes that a conversation cannot be read. It returns err unchanged.
func (j *Journal) damage(c im.ConversationID, err error) error {
	return j.damages.Note(j.o.Logger, c, err)
}

// Damaged are conversations that were found to be damaged.
func (j *Journal) Damaged() []im.ConversationID { return j.damages.Which() }

// Trouble tells why nothing can be stored now, "" if it can, and which
// conversations were found to be damaged, each with the file.
func (j *Journal) Trouble() (stopped string, damaged []string) {
	damaged = j.damages.List()
	if err := j.failure(); err != nil {
		return "the journal cannot store any more", damaged
	}
	if err := j.space.check(0); err != nil {
		return "the journal's disk is full", damaged
	}
	return "", damaged
}
