package child

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"
)

// Clock is the real clock and a time that a test adds to it. All processes that open the
// same file have the same one, at every moment. Safe for concurrent use.
type Clock struct{ file *os.File }

// OpenClock opens the clock of a file, which is made if it is not there.
func OpenClock(path string) (*Clock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return &Clock{f}, err
}

// Ahead is how far it is before the real clock.
func (c *Clock) Ahead() time.Duration {
	var b [8]byte
	if _, err := c.file.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		panic("child: the clock cannot be read: " + err.Error()) // it would go back
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]))
}

// Now is what it says.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Ahead()) }

// Move lets it go on by d at once. One at a time may move it.
func (c *Clock) Move(d time.Duration) error {
	_, err := c.file.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(c.Ahead()+max(d, 0))), 0)
	return err
}

// Close gives the file back.
func (c *Clock) Close() error { return c.file.Close() }
