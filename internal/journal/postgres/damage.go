package postgres

import "github.com/skein-im/skein/internal/im"

// damage notes that a conversation cannot be read: the database said that a page or an
// index is damaged. It returns err unchanged.
func (j *Journal) damage(c im.ConversationID, err error) error {
	return j.damages.Note(j.o.Logger, c, err)
}
