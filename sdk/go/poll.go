package skein

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Poll is what SendPoll asks.
type Poll struct {
	Question string
	// Options are 1 to 20 texts. Their ids are "1", "2" …
	Options []string
	// Multiple: a user may choose several. Anonymous: nobody is told who chose what.
	Multiple, Anonymous bool
	// Until is when it ends, zero: when somebody ends it.
	Until time.Time
}

// PollContent is the body of a content of the type `poll` (SPEC §11.2): what the options
// of a Message.Poll say.
type PollContent struct {
	Question  string       `json:"question"`
	Options   []PollChoice `json:"options"`
	Multiple  bool         `json:"multiple,omitempty"`
	Anonymous bool         `json:"anonymous,omitempty"`
	UntilMs   int64        `json:"until_ms,omitempty"`
}

// PollChoice is one option.
type PollChoice struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// SendPoll sends a poll, as Send sends a message. Message.Poll tells what was answered,
// Message.Text is a PollContent in JSON.
func (v *Conversation) SendPoll(ctx context.Context, p Poll, opts ...SendOption) (*Message, error) {
	if p.Question == "" || len(p.Options) == 0 || len(p.Options) > 20 {
		return nil, invalid("a poll has a question and 1 to 20 options")
	}
	typed := &wire.Poll{Multiple: p.Multiple, Anonymous: p.Anonymous}
	body := PollContent{Question: p.Question, Multiple: p.Multiple, Anonymous: p.Anonymous}
	if !p.Until.IsZero() {
		typed.UntilMs = p.Until.UnixMilli()
		body.UntilMs = typed.UntilMs
	}
	for i, text := range p.Options {
		id := strconv.Itoa(i + 1)
		typed.Options = append(typed.Options, &wire.PollOption{Id: id})
		body.Options = append(body.Options, PollChoice{id, text})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	fallback := p.Question + " " + strings.Join(p.Options, " / ")
	if len(fallback) > 1000 {
		fallback = strings.ToValidUTF8(fallback[:1000], "")
	}
	all := append([]SendOption{ContentType("poll"), Fallback(fallback), func(s *wire.Send) { s.Poll = typed }}, opts...)
	return v.Send(ctx, string(text), all...)
}

// Vote sets all that the user chooses in the poll seq, by the ids of its options, in the
// place of what they chose before; none takes the vote back. What is so already changes
// nothing. The event that tells it is a ChangedEvent, here and on all devices.
func (v *Conversation) Vote(ctx context.Context, seq uint64, options ...string) error {
	req := &wire.VoteInPollRequest{Conversation: v.id, Seq: seq, Options: options}
	if err := v.c.do(ctx, func(k *core) { id := k.ids.Next(); req.Id = id[:] }); err != nil {
		return err
	}
	var resp wire.VoteInPollResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/VoteInPoll", req, &resp); err != nil || resp.Seq == 0 {
		return err
	}
	if err := v.c.do(ctx, func(k *core) { k.voted(v.id, seq, options) }); err != nil {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// EndPoll ends the poll seq before its time: its author, or a group's admin.
func (v *Conversation) EndPoll(ctx context.Context, seq uint64) error {
	req := &wire.EndPollRequest{Conversation: v.id, Seq: seq}
	if err := v.c.do(ctx, func(k *core) { id := k.ids.Next(); req.Id = id[:] }); err != nil {
		return err
	}
	var resp wire.EndPollResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/EndPoll", req, &resp); err != nil || resp.Seq == 0 {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// Votes are who chose what in the poll seq, with option or, if it is empty, something: at
// most limit (0: 100) behind cursor. next is the cursor of the next page, "" if there is
// none. Of an anonymous poll it is a permission_denied.
func (v *Conversation) Votes(ctx context.Context, seq uint64, option, cursor string, limit int) (voted []*wire.Voted, next string, err error) {
	var resp wire.ListVotesResponse
	req := &wire.ListVotesRequest{Conversation: v.id, Seq: seq, Option: option, Cursor: cursor, Limit: uint32(max(limit, 0))}
	err = v.c.Call(ctx, "skein.v1.MessageService/ListVotes", req, &resp)
	return resp.Voted, resp.Next, err
}

// polls tells that an entry amends a poll.
func polls(e *wire.Entry) bool {
	return e.Kind == wire.EntryKind_ENTRY_KIND_VOTE || e.Kind == wire.EntryKind_ENTRY_KIND_POLL_END
}

// polled is an entry as a vote, or the end of the poll, leaves it, of which core.ours
// made the form.
func polled(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Amended = by.Seq
	if by.Poll == nil {
		return c
	}
	c.Poll = proto.Clone(by.Poll).(*wire.Poll)
	for i, o := range c.Poll.Options {
		switch before := e.GetPoll().GetOptions(); {
		case by.Vote != nil: // the user's own
			o.Mine = slices.Contains(by.Vote.Options, o.Id)
		case i < len(before):
			o.Mine = before[i].Mine
		}
	}
	return c
}

// voted notes what the user chose in a poll: of an anonymous one the entry that is pushed
// does not tell that it is theirs.
func (k *core) voted(conversation string, seq uint64, options []string) {
	cv := k.convs[conversation]
	if cv == nil {
		return
	}
	kept := k.kept(cv, seq)
	if !kept.GetPoll().GetAnonymous() {
		return
	}
	now := proto.Clone(kept).(*wire.Entry)
	for _, o := range now.Poll.Options {
		o.Mine = slices.Contains(options, o.Id)
	}
	k.change(cv, now)
}
