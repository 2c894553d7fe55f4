package im

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Shard is one of the stores that a journal is made of. Its number never changes,
// and is never given to another store. A journal that is one store is shard 0.
type Shard uint16

// MaxShards is how many shards a Position names at most: as a text it goes to
// every device, and has to fit where a cursor does.
const MaxShards = 12

// Position is how far a journal is, or what a device knows of it: a place in each of
// its shards. Of a shard that it does not name it knows nothing, so all that is there
// is new to it; the zero Position names none. See docs/adr/0005.
//
// An entry or a mark has a position of its own shard only, and is compared with that
// shard's place: what the places of others are says nothing about it.
//
// A Position of one shard lies in it as it is: making, passing on and comparing one
// allocates nothing.
type Position struct {
	named bool
	first part
	more  []part // those of the shards beyond the first's, ascending; never written to
}

// part is a position's place in a shard.
type part struct {
	shard Shard
	place Place
}

// PositionAt is the position of a journal that is one store.
func PositionAt(p Place) Position { return Position{named: true, first: part{place: p}} }

// IsZero tells that the position names no shard.
func (p Position) IsZero() bool { return !p.named }

// At is how far the position is in a shard, 0 where it does not name it.
func (p Position) At(s Shard) uint64 {
	if p.named && p.first.shard == s {
		return p.first.place.Pos
	}
	place, _ := p.Place(s)
	return place.Pos
}

// Covers tells whether who holds the position knows what a shard has at pos.
func (p Position) Covers(s Shard, pos uint64) bool { return pos <= p.At(s) }

// Place is the place in a shard; false where the position does not name it.
func (p Position) Place(s Shard) (Place, bool) {
	for shard, place := range p.All() {
		if shard == s {
			return place, true
		}
	}
	return Place{}, false
}

// One is the place of a position that names shard 0 and no other.
func (p Position) One() (Place, bool) {
	return p.first.place, p.named && p.first.shard == 0 && len(p.more) == 0
}

// All are the shards that the position names, ascending, with the places.
func (p Position) All() iter.Seq2[Shard, Place] {
	return func(yield func(Shard, Place) bool) {
		if !p.named || !yield(p.first.shard, p.first.place) {
			return
		}
		for _, x := range p.more {
			if !yield(x.shard, x.place) {
				return
			}
		}
	}
}

// With is the position with another place in a shard.
func (p Position) With(s Shard, at Place) Position {
	x := part{s, at}
	switch {
	case !p.named:
		return Position{named: true, first: x}
	case s == p.first.shard:
		p.first = x
		return p
	case s < p.first.shard:
		p.more = slices.Insert(slices.Clone(p.more), 0, p.first)
		p.first = x
		return p
	}
	i, found := slices.BinarySearchFunc(p.more, s, func(x part, s Shard) int { return int(x.shard) - int(s) })
	more := slices.Clone(p.more)
	if found {
		more[i] = x
	} else {
		more = slices.Insert(more, i, x)
	}
	p.more = more
	return p
}

// Upto is the position, but at most at pos in a shard. The others stay where they
// are.
func (p Position) Upto(s Shard, pos uint64) Position {
	if at, named := p.Place(s); named && at.Pos > pos {
		return p.With(s, at.At(pos))
	}
	return p
}

// Within tells whether q is as far as p in every shard, or further: whoever holds q
// knows all that p covers.
func (p Position) Within(q Position) bool {
	for s, at := range p.All() {
		if !q.Covers(s, at.Pos) {
			return false
		}
	}
	return true
}

// Equal tells whether both name the same places.
func (p Position) Equal(q Position) bool {
	return p.named == q.named && p.first == q.first && slices.Equal(p.more, q.more)
}

// In a position's text the places of shards stand behind each other, and behind the
// place of any but shard 0 the shard.
const (
	nextPlace = "~"
	ofShard   = "-"
)

// String is how clients are told a position; to them it is opaque. That of shard 0
// alone is as its place says it.
func (p Position) String() string {
	if at, one := p.One(); one {
		return at.String()
	}
	var b strings.Builder
	for s, at := range p.All() {
		if b.Len() > 0 {
			b.WriteString(nextPlace)
		}
		b.WriteString(at.String())
		if s != 0 {
			b.WriteString(ofShard)
			b.WriteString(strconv.FormatUint(uint64(s), 36))
		}
	}
	return b.String()
}

// ParsePosition reads what String wrote.
func ParsePosition(text string) (p Position, ok bool) {
	for n, rest := 0, true; rest; n++ {
		var place string
		place, text, rest = strings.Cut(text, nextPlace)
		x, ok := parsePart(place)
		if !ok || n >= MaxShards || p.named && x.shard <= p.last() {
			return Position{}, false
		}
		if p.named {
			p.more = append(p.more, x)
		} else {
			p.named, p.first = true, x
		}
	}
	return p, true
}

// last is the greatest shard that is named.
func (p Position) last() Shard {
	if n := len(p.more); n > 0 {
		return p.more[n-1].shard
	}
	return p.first.shard
}

func parsePart(s string) (x part, ok bool) {
	// An era may have the sign in it, a number has not.
	if i := strings.LastIndex(s, ofShard); i > eraChars {
		n, err := strconv.ParseUint(s[i+len(ofShard):], 36, 16)
		if err != nil || n == 0 {
			return x, false
		}
		x.shard, s = Shard(n), s[:i]
	}
	x.place, ok = ParsePlace(s)
	return x, ok
}
