package entrycodec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// MaxPollOptions is how many options a poll may have.
const MaxPollOptions = 20

// What a user chose is kept as a Record among those of the reactions, one of each user:
// votePrefix, which no reaction begins with, and a letter for each option, by its place
// in the poll, which never changes.
const (
	votePrefix = "\x01"
	afterVotes = "\x02" // behind all votes of a user
	firstVote  = 'A'
)

// votes tells that a record is what a user chose, and no reaction.
func (r *Record) votes() bool { return strings.HasPrefix(r.Reaction, votePrefix) }

// knownPoll takes out of a poll that a client sends all that this version does not know.
func knownPoll(p *wire.Poll) {
	if p == nil {
		return
	}
	known(p)
	for _, o := range p.Options {
		known(o)
	}
}

// hashPoll adds what an entry says of polls to its hash.
func hashPoll(w *wire.Entry, num func(uint64), str func(string)) {
	if p := w.Poll; p != nil {
		num(addedPoll)
		for _, o := range p.Options {
			str(o.GetId())
		}
		for _, set := range []bool{p.Multiple, p.Anonymous} {
			if set {
				num(1)
			} else {
				num(0)
			}
		}
		num(uint64(p.UntilMs))
	}
	if v := w.Vote; v != nil {
		num(addedVote)
		for _, o := range v.Options {
			str(o)
		}
	}
}

// Vote returns the body that says what a vote asks for, and the hash that tells it from
// another entry under the same id.
func Vote(c im.ConversationID, target uint64, v *wire.Vote) (body []byte, hash uint64) {
	known(v)
	w := wire.Entry{Vote: v}
	return Encode(&w), hashOf(c, im.EntryVote, target, &w)
}

// PollEndHash is the hash of the end of a poll, which asks for nothing more.
func PollEndHash(c im.ConversationID, target uint64) uint64 {
	return hashOf(c, im.EntryPollEnd, target, &wire.Entry{})
}

// Ended tells whether a poll is over at a time.
func Ended(p *wire.Poll, now time.Time) bool {
	return p.GetEndedAtMs() != 0 || p.GetUntilMs() != 0 && now.UnixMilli() >= p.GetUntilMs()
}

// choice is the record of what a user chose, "" if they chose nothing; bucket is theirs.
func (s *State) choice(u im.UserID, bucket []Record) string {
	for i := range s.recent {
		if r := &s.recent[i]; r.User == u && r.votes() && !r.Removed {
			return r.Reaction
		}
	}
	for i := range bucket {
		if r := &bucket[i]; r.User == u && r.votes() && s.has(u, r.Reaction, bucket) {
			return r.Reaction
		}
	}
	return ""
}

// mineOfPoll sets what a user chose in what they are told.
func (s *State) mineOfPoll(u im.UserID, bucket []Record) {
	p := s.Told.Poll
	if p == nil {
		return
	}
	chosen := s.choice(u, bucket)
	for i, o := range p.Options {
		o.Mine = chose(chosen, i)
	}
}

// chose tells whether a record of a choice has an option.
func chose(record string, option int) bool {
	return len(record) > 0 && strings.IndexByte(record[len(votePrefix):], byte(firstVote+option)) >= 0
}

// Vote does what the body asked says: what a user chooses is put in the place of what
// they chose before. It returns the body that the entry which does so is told with; nil
// if that changes nothing. bucket is the user's. The options are the poll's (Choice).
func (s *State) Vote(u im.UserID, asked []byte, bucket []Record) (told []byte, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return nil, err
	}
	p := s.Told.Poll
	next := ""
	for i, o := range p.Options {
		if slices.Contains(by.GetVote().GetOptions(), o.Id) {
			next += string(rune(firstVote + i))
		}
	}
	if next != "" {
		next = votePrefix + next
	}
	before := s.choice(u, bucket)
	if next == before {
		return nil, nil
	}
	for i, o := range p.Options {
		switch had, has := chose(before, i), chose(next, i); {
		case had && !has && o.Votes == 0:
			return nil, fmt.Errorf("%w: a vote that is counted nowhere", ErrBody)
		case had && !has:
			o.Votes--
		case has && !had:
			o.Votes++
		}
	}
	if before != "" {
		s.note(Record{u, before, true})
		p.Voters--
	}
	if next != "" {
		s.note(Record{u, next, false})
		p.Voters++
	}
	w := wire.Entry{Poll: p}
	if !p.Anonymous {
		w.Vote = by.GetVote()
	}
	return Encode(&w), nil
}

// Choice checks what a user chooses against the poll: at is the place of an option
// that it does not have, -1 if there is none; many tells that it has one choice only.
func (s *State) Choice(asked []byte) (at int, many bool, err error) {
	var by wire.Entry
	if err := Decode(asked, &by); err != nil {
		return -1, false, err
	}
	chosen := by.GetVote().GetOptions()
	for i, id := range chosen {
		if !slices.ContainsFunc(s.Told.Poll.Options, func(o *wire.PollOption) bool { return o.Id == id }) {
			return i, false, nil
		}
	}
	return -1, len(chosen) > 1 && !s.Told.Poll.Multiple, nil
}

// EndPoll ends the poll at a time, and returns the body that the entry which does so is
// told with.
func (s *State) EndPoll(now time.Time) (told []byte) {
	s.Told.Poll.EndedAtMs = now.UnixMilli()
	return Encode(&wire.Entry{Poll: s.Told.Poll})
}

// Voted is what a user chose.
type Voted = wire.Voted

// Votes tells who chose what (option "": something), as Reacted tells who reacted.
func (s *State) Votes(option string, after im.UserID, limit int, read func(seq uint64) ([]Record, error)) (page []*Voted, more bool, err error) {
	options := s.Told.GetPoll().GetOptions()
	at := slices.IndexFunc(options, func(o *wire.PollOption) bool { return o.Id == option })
	if option != "" && at < 0 {
		return nil, false, nil
	}
	found, more, err := s.records(func(r Record) bool { return r.votes() && (option == "" || chose(r.Reaction, at)) },
		Record{User: after, Reaction: afterVotes}, limit, read)
	for _, r := range found {
		v := &Voted{User: string(r.User)}
		for i, o := range options {
			if chose(r.Reaction, i) {
				v.Options = append(v.Options, o.Id)
			}
		}
		page = append(page, v)
	}
	return page, more, err
}
