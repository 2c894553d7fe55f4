package entrycodec

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Who reacted with what is kept in two places, so that no body grows with the group:
//
//   - beside the message the latest changes, at most recentRecords of them;
//   - the others in buckets, by user. A bucket lies beside a REACTION entry of the
//     conversation, and is never changed: when there are too many changes beside the
//     message, those of the bucket that has most of them are put into it, and the
//     entry that is stored at that moment carries it from then on. The message has the
//     numbers of the entries that carry its buckets.
//
// So to know what a user reacted with takes the message and one more entry at most, and
// what a reaction writes is bounded: the message, and seldom one of so many buckets.
const (
	// MaxReactions is how many kinds of reaction a message may have.
	MaxReactions = 30
	// MaxReactionBytes is the longest reaction.
	MaxReactionBytes = 64
	// shownUsers is how many of those who reacted with something a message names.
	shownUsers = 3

	recentRecords = 128
	buckets       = 64

	fieldReactions = 20 // wire.Entry.reactions
	fieldPoll      = 21 // wire.Entry.poll
)

// The fields of what is kept beside a message or a REACTION entry, after keptVersion.
const (
	keptRecord  = 2 // a Record; the latest ones of a message, or those of a bucket
	keptBucket  = 3 // where a bucket is
	keptSpilled = 4 // which bucket lies beside the message's last amendment, plus one
)

// Record tells that a user reacted with something, or that they took it away.
type Record struct {
	User     im.UserID
	Reaction string
	Removed  bool
}

func compareRecords(a, b Record) int {
	return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Reaction, b.Reaction))
}

// ErrReactions: the message has as many kinds of reaction as it may have.
var ErrReactions = errors.New("entrycodec: too many kinds of reaction")

// React returns the body that says what a reaction asks for, and the hash that tells it
// from another entry under the same id.
func React(c im.ConversationID, target uint64, r *wire.React) (body []byte, hash uint64) {
	known(r)
	w := wire.Entry{React: r}
	return Encode(&w), hashOf(c, im.EntryReaction, target, &w)
}

// Personal tells that a body may say something of its reader: how they reacted, or what
// they chose in a poll.
func Personal(body []byte) bool {
	personal := false
	_ = fields(Told(body), func(num protowire.Number, _ uint64, _ []byte) error {
		personal = personal || num == fieldReactions || num == fieldPoll
		return nil
	})
	return personal
}

// bucketOf is the bucket of a user.
func bucketOf(u im.UserID) int {
	h := fnv.New64a()
	h.Write([]byte(u))
	return int(h.Sum64() % buckets)
}

// BucketOf is the seq of the entry that carries a user's bucket, 0 if there is none yet.
func (s *State) BucketOf(u im.UserID) uint64 { return s.buckets[bucketOf(u)] }

// has tells whether a user reacted with something; bucket is theirs.
func (s *State) has(u im.UserID, reaction string, bucket []Record) bool {
	key := Record{User: u, Reaction: reaction}
	for i := range s.recent {
		if compareRecords(s.recent[i], key) == 0 {
			return !s.recent[i].Removed
		}
	}
	_, ok := slices.BinarySearchFunc(bucket, key, compareRecords)
	return ok
}

// Mine sets what a user reacted with, and chose, in what they are told; bucket is theirs.
func (s *State) Mine(u im.UserID, bucket []Record) {
	for _, t := range s.Told.Reactions {
		t.Mine = s.has(u, t.Reaction, bucket)
	}
	s.mineOfPoll(u, bucket)
}

// React does what the body asked says: it adds a user's reaction, or takes it away. It
// returns the body that the entry which does so is told with: what it made of its
// target; nil if that changes nothing. bucket is the user's.
func (s *State) React(u im.UserID, asked []byte, bucket []Record) (told []byte, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return nil, err
	}
	r := by.GetReact()
	if s.has(u, r.GetReaction(), bucket) == !r.GetRemove() {
		return nil, nil
	}
	all := s.Told.Reactions
	i := slices.IndexFunc(all, func(t *wire.Reaction) bool { return t.Reaction == r.GetReaction() })
	switch {
	case i < 0 && r.GetRemove():
		return nil, fmt.Errorf("%w: a reaction that is counted nowhere", ErrBody)
	case i < 0 && len(all) >= MaxReactions:
		return nil, ErrReactions
	case i < 0:
		all = append(all, &wire.Reaction{Reaction: r.GetReaction()})
		i = len(all) - 1
	}
	t := all[i]
	if r.GetRemove() {
		t.Count--
		t.Users = slices.DeleteFunc(t.Users, func(x string) bool { return x == string(u) })
	} else if t.Count++; len(t.Users) < shownUsers {
		t.Users = append(t.Users, string(u))
	}
	if t.Count == 0 {
		all = slices.Delete(all, i, i+1)
	}
	s.Told.Reactions = all
	s.note(Record{u, r.GetReaction(), r.GetRemove()})
	return Encode(&wire.Entry{React: r, Reactions: []*wire.Reaction{t}}), nil
}

// note keeps a change among the recent ones.
func (s *State) note(r Record) {
	i := slices.IndexFunc(s.recent, func(x Record) bool { return compareRecords(x, r) == 0 })
	if i >= 0 {
		s.recent = slices.Delete(s.recent, i, i+1)
	}
	if !r.Removed || s.BucketOf(r.User) != 0 {
		s.recent = append(s.recent, r)
	}
}

// Full tells that there are too many changes beside the message, and which bucket takes
// some of them: the seq of the entry that carries it, 0 if none does yet.
func (s *State) Full() (bucket int, seq uint64, full bool) {
	if len(s.recent) <= recentRecords {
		return 0, 0, false
	}
	var n [buckets]int
	for i := range s.recent {
		b := bucketOf(s.recent[i].User)
		if n[b]++; n[b] > n[bucket] {
			bucket = b
		}
	}
	return bucket, s.buckets[bucket], true
}

// Spill puts the recent changes of a bucket into it, and returns what the entry that
// amends the message at this moment has to carry beside what it says.
func (s *State) Spill(bucket int, records []Record) (kept []byte) {
	all := s.merged(bucket, records)
	s.recent = slices.DeleteFunc(s.recent, func(r Record) bool { return bucketOf(r.User) == bucket })
	s.spilled = bucket + 1
	return appendRecords(nil, all)
}

// merged is what a bucket holds with the recent changes.
func (s *State) merged(bucket int, records []Record) []Record {
	all := slices.Clone(records)
	for _, r := range s.recent {
		if bucketOf(r.User) != bucket {
			continue
		}
		i, found := slices.BinarySearchFunc(all, r, compareRecords)
		switch {
		case found && r.Removed:
			all = slices.Delete(all, i, i+1)
		case !found && !r.Removed:
			all = slices.Insert(all, i, r)
		}
	}
	return all
}

// Spilled tells that the present state has a bucket beside the amendment that makes it:
// nothing can be made from it before that has its seq.
func (s *State) Spilled() bool { return s.spilled > 0 }

// WithKept is the body of an entry with what it carries beside what it says.
func WithKept(body, kept []byte) []byte {
	if len(kept) == 0 {
		return body
	}
	return protowire.AppendBytes(protowire.AppendTag(slices.Clone(body), fieldKept, protowire.BytesType), kept)
}

// Bucket decodes the bucket that an entry carries.
func Bucket(body []byte) ([]Record, error) {
	_, kept := split(body)
	s := &State{}
	err := s.open(kept)
	return s.recent, err
}

// Buckets are the entries that carry buckets of a message, 0 where there is none.
func (s *State) Buckets() []uint64 { return s.buckets[:] }

// Reacted tells who reacted with what (reaction "": with anything), in an order of its
// own: at most limit records behind after, and whether there are more. read reads the
// bucket that an entry carries.
func (s *State) Reacted(reaction string, after Record, limit int, read func(seq uint64) ([]Record, error)) (page []Record, more bool, err error) {
	return s.records(func(r Record) bool { return !r.votes() && (reaction == "" || r.Reaction == reaction) }, after, limit, read)
}

// records are the records that are asked for, bucket by bucket, as Reacted tells them.
func (s *State) records(asked func(Record) bool, after Record, limit int, read func(seq uint64) ([]Record, error)) (page []Record, more bool, err error) {
	first := 0
	if after.User != "" {
		first = bucketOf(after.User)
	}
	for b := first; b < buckets; b++ {
		var all []Record
		if seq := s.buckets[b]; seq != 0 {
			if all, err = read(seq); err != nil {
				return nil, false, err
			}
		}
		for _, r := range s.merged(b, all) {
			switch {
			case !asked(r), b == first && after.User != "" && compareRecords(r, after) <= 0:
			case len(page) == limit:
				return page, true, nil
			default:
				page = append(page, r)
			}
		}
	}
	return page, false, nil
}

func appendRecords(b []byte, rs []Record) []byte {
	for _, r := range rs {
		var one []byte
		one = protowire.AppendString(protowire.AppendTag(one, 1, protowire.BytesType), string(r.User))
		one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), r.Reaction)
		if r.Removed {
			one = protowire.AppendVarint(protowire.AppendTag(one, 3, protowire.VarintType), 1)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, keptRecord, protowire.BytesType), one)
	}
	return b
}

// appendReactions encodes what is kept of reactions beside the message.
func (s *State) appendReactions(b []byte) []byte {
	b = appendRecords(b, s.recent)
	for i, seq := range s.buckets {
		if seq != 0 {
			var one []byte
			one = protowire.AppendVarint(protowire.AppendTag(one, 1, protowire.VarintType), uint64(i))
			one = protowire.AppendVarint(protowire.AppendTag(one, 2, protowire.VarintType), seq)
			b = protowire.AppendBytes(protowire.AppendTag(b, keptBucket, protowire.BytesType), one)
		}
	}
	if s.spilled > 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, keptSpilled, protowire.VarintType), uint64(s.spilled))
	}
	return b
}

// fields calls f for each field of a message, with its number and its text.
func fields(b []byte, f func(num protowire.Number, number uint64, text []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: what is kept beside it", ErrBody)
		}
		var number uint64
		var text []byte
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return fmt.Errorf("%w: what is kept beside it", ErrBody)
		}
		switch typ {
		case protowire.VarintType:
			number, _ = protowire.ConsumeVarint(b[n:])
		case protowire.BytesType:
			text, _ = protowire.ConsumeBytes(b[n:])
		}
		if err := f(num, number, text); err != nil {
			return err
		}
		b = b[n+m:]
	}
	return nil
}

func (s *State) openRecord(text []byte) error {
	var r Record
	err := fields(text, func(num protowire.Number, number uint64, text []byte) error {
		switch num {
		case 1:
			r.User = im.UserID(text)
		case 2:
			r.Reaction = string(text)
		case 3:
			r.Removed = number != 0
		}
		return nil
	})
	s.recent = append(s.recent, r)
	return err
}

func (s *State) openBucket(text []byte) error {
	at, seq := uint64(buckets), uint64(0)
	err := fields(text, func(num protowire.Number, number uint64, _ []byte) error {
		switch num {
		case 1:
			at = number
		case 2:
			seq = number
		}
		return nil
	})
	if at < buckets {
		s.buckets[at] = seq
	}
	return err
}
