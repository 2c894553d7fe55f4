package contract

import (
	"strconv"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// maxUntilMs is the last millisecond of the year 9999.
const maxUntilMs = 253402300799999

// checkPoll checks the poll of a message that is sent (SPEC §4.14); nil: it has none.
func checkPoll(p *wire.Poll) error {
	if p == nil {
		return nil
	}
	ids := make([]string, 0, len(p.GetOptions()))
	for i, o := range p.GetOptions() {
		if o.GetVotes() != 0 || o.GetMine() {
			return im.Wrong(place("options", i), "must not say what was chosen: that is the server's to tell")
		}
		ids = append(ids, o.GetId())
	}
	err := checkOptions(ids, func(i int) string { return place("options", i) + ".id" })
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return im.Wrong("options", "must not be empty")
	case p.GetUntilMs() < 0 || p.GetUntilMs() > maxUntilMs:
		return im.Wrong("untilMs", "must be Unix milliseconds up to the year 9999")
	case p.GetVoters() != 0:
		return im.Wrong("voters", "must not be said: that is the server's to tell")
	case p.GetEndedAtMs() != 0:
		return im.Wrong("endedAtMs", "must not be said: that is the server's to tell")
	}
	return nil
}

func place(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// checkOptions checks ids of options: few, well formed, and each once.
func checkOptions(ids []string, name func(int) string) error {
	if n := len(ids); n > entrycodec.MaxPollOptions {
		return im.TooLarge("options", "has %d options; at most %d are allowed", n, entrycodec.MaxPollOptions)
	}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		if err := CheckOption(name(i), id); err != nil {
			return err
		}
		if seen[id] {
			return im.Wrong(name(i), "stands there twice")
		}
		seen[id] = true
	}
	return nil
}

// CheckOption checks the id of an option; field names it in the refusal.
func CheckOption(field, id string) error {
	if !im.ValidID(id) {
		return im.Wrong(field, "must match [A-Za-z0-9_-]{1,64}")
	}
	return nil
}

// Vote is what VoteInPoll asks for.
func Vote(r *wire.VoteInPollRequest) (im.Message, error) {
	m, err := pollAt(r.GetConversation(), r.GetId(), r.GetSeq())
	if err != nil {
		return im.Message{}, err
	}
	return m, vote(&m, &wire.Vote{Options: r.GetOptions()})
}

func vote(m *im.Message, v *wire.Vote) error {
	if v == nil {
		v = &wire.Vote{}
	}
	if err := checkOptions(v.GetOptions(), func(i int) string { return place("options", i) }); err != nil {
		return err
	}
	m.Kind = im.EntryVote
	m.Body, m.Hash = entrycodec.Vote(m.Conversation, m.Target, v)
	return nil
}

// EndPoll is what EndPoll asks for.
func EndPoll(r *wire.EndPollRequest) (im.Message, error) {
	m, err := pollAt(r.GetConversation(), r.GetId(), r.GetSeq())
	if err == nil {
		endPoll(&m)
	}
	return m, err
}

func endPoll(m *im.Message) {
	m.Kind, m.Hash = im.EntryPollEnd, entrycodec.PollEndHash(m.Conversation, m.Target)
}

func pollAt(conversation string, id []byte, seq uint64) (im.Message, error) {
	m, err := amendment(conversation, id)
	if err == nil && seq == 0 {
		err = im.Wrong("seq", "is missing")
	}
	m.Target = seq
	return m, err
}
