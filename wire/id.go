package wire

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// maxAhead is how far ids may run ahead of the corrected clock before their
// order is given up: half of what a server accepts (SPEC §2, `clock_skew`).
const maxAhead = 12 * time.Hour

// IDSource makes message ids: UUIDv7, each greater than the one before, also
// when the clock stands still or goes back. Safe for concurrent use.
type IDSource struct {
	now    func() time.Time
	random io.Reader

	mu     sync.Mutex
	offset time.Duration
	// ms and count (12 bits) are those of the last id.
	ms    int64
	count uint16
}

// NewIDSource returns a source. Nil now and random mean the real ones. random
// must not fail.
func NewIDSource(now func() time.Time, random io.Reader) *IDSource {
	if now == nil {
		now = time.Now
	}
	if random == nil {
		random = rand.Reader
	}
	return &IDSource{now: now, random: random}
}

// SetServerTime corrects the source by the server's clock
// (Welcome.server_time_ms): from now on ids carry the server's time. If the ids
// made so far lie so far ahead of it that a server would refuse them, the next
// one starts anew at the server's time.
func (s *IDSource) SetServerTime(ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = time.UnixMilli(ms).Sub(s.now().Truncate(time.Millisecond))
	if s.ms > ms+maxAhead.Milliseconds() {
		s.ms, s.count = 0, 0
	}
}

// Next makes an id.
func (s *IDSource) Next() [16]byte {
	var id [16]byte
	if _, err := io.ReadFull(s.random, id[6:]); err != nil {
		panic("wire: no randomness: " + err.Error())
	}
	s.mu.Lock()
	ms := s.now().Add(s.offset).UnixMilli()
	switch {
	case ms > s.ms:
		// The top bit stays 0: at least 2,048 ids fit in the millisecond.
		s.ms, s.count = ms, binary.BigEndian.Uint16(id[6:])&0x7ff
	case s.count < 0xfff:
		s.count++
	default:
		s.ms, s.count = s.ms+1, 0
	}
	ms, count := s.ms, s.count
	s.mu.Unlock()

	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(ms))
	copy(id[:6], stamp[2:])
	binary.BigEndian.PutUint16(id[6:], 0x7000|count)
	id[8] = id[8]&0x3f | 0x80
	return id
}
