// Package trace tells of one message who has it: from what is stored, for an operator who
// is asked "why did it not arrive?".
//
// It owns which stored facts answer that, and their words. It must not know what a message
// says (it reads no body), nor engines, HTTP or the command line. What is not stored it
// does not tell: marks are a user's, so which of several devices received a message is
// known only where there is one; and they have no time: what is told of "since when" is when
// the message was stored and when devices connected.
//
// Goroutines and locks: none. It reads, and changes nothing.
package trace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// MaxMembers is of how many members of a group is told; More says that there are others.
const MaxMembers = 1000

// looks bounds how many entries are looked through for an id.
const looks = 10_000

// Journal is what is asked of the journal.
type Journal interface {
	Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error)
	Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error
	Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, recent bool) error
}

// Directory is what is asked of the directory.
type Directory interface {
	MembersPage(ctx context.Context, c im.ConversationID, q im.MemberQuery) ([]im.Member, im.MemberPlace, error)
	Membership(ctx context.Context, u im.UserID, c im.ConversationID) (im.Membership, bool, error)
	Sessions(ctx context.Context, u im.UserID, now time.Time) ([]im.Session, error)
}

// Stores are what is read.
type Stores struct {
	Journal   Journal
	Directory Directory
	Now       func() time.Time
	// Online tells whether a user is connected at this node; nil: nobody is.
	Online func(u im.UserID) bool
	// Floor is up to where a conversation is gone for all; nil: nowhere.
	Floor func(ctx context.Context, c im.ConversationID) (uint64, error)
}

// Report is what is known of a message.
type Report struct {
	Conversation im.ConversationID `json:"conversation"`
	Seq          uint64            `json:"seq"`
	ID           string            `json:"id"`
	Sender       im.UserID         `json:"sender,omitempty"`
	Made         time.Time         `json:"made"`
	Stored       time.Time         `json:"stored"`
	Kind         string            `json:"kind"`
	// Now is what became of it: stored, amended, recalled, gone.
	Now string `json:"now"`
	// Head is the last entry of the conversation.
	Head  uint64   `json:"head"`
	Users []User   `json:"users"`
	More  bool     `json:"more,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// User is what is known of somebody to whom a message goes.
type User struct {
	User im.UserID `json:"user"`
	// State is sent, read, received, waiting or none.
	State string `json:"state"`
	// Why says in words what State rests on.
	Why string `json:"why"`
	// Online: a device is connected to the node that was asked.
	Online bool `json:"online,omitempty"`
	// Received and Read are up to where the user's marks are.
	Received uint64   `json:"received"`
	Read     uint64   `json:"read"`
	Devices  []Device `json:"devices,omitempty"`
}

// Device is a session of a user.
type Device struct {
	ID      string    `json:"id,omitempty"`
	Name    string    `json:"name,omitempty"`
	Client  string    `json:"client,omitempty"`
	Created time.Time `json:"created"`
	// Seen is when it connected, or asked something, last.
	Seen time.Time `json:"seen"`
	// Since: that was after the message was stored.
	Since bool `json:"since"`
}

// The states of a User.
const (
	StateSent     = "sent"
	StateRead     = "read"
	StateReceived = "received"
	StateWaiting  = "waiting"
	StateNone     = "none"
)

// ParseName takes a message's name apart: CONVERSATION#SEQ, or CONVERSATION/ID.
func ParseName(s string) (c im.ConversationID, seq uint64, id string, err error) {
	if conversation, n, ok := strings.Cut(s, "#"); ok {
		c, err = im.ParseConversationID(conversation)
		if err == nil {
			seq, err = strconv.ParseUint(n, 10, 63)
		}
		if err == nil && seq > 0 {
			return c, seq, "", nil
		}
	} else if conversation, id, ok := strings.Cut(s, "/"); ok {
		if c, err = im.ParseConversationID(conversation); err == nil && len(id) == 36 {
			return c, 0, strings.ToLower(id), nil
		}
	}
	return "", 0, "", im.Wrong("message", "must be CONVERSATION#SEQ or CONVERSATION/ID, as dm:ann:bob#7")
}

// Message tells of a message. not_found: there is none of that name.
func (s *Stores) Message(ctx context.Context, name string) (*Report, error) {
	c, seq, id, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	heads := make([]im.Head, 1)
	if err := s.Journal.Heads(ctx, []im.ConversationID{c}, heads); err != nil {
		return nil, fmt.Errorf("head of %s: %w", c, err)
	}
	e, err := s.find(ctx, c, seq, id)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Conversation: c, Seq: e.Seq, ID: e.ID.String(), Sender: e.Sender, Made: e.ID.Time().UTC(), Stored: e.Stored.UTC(),
		Kind: kinds[e.Kind], Now: "stored", Head: heads[0].Seq, Users: []User{},
	}
	if r.Kind == "" {
		r.Kind = "other"
	}
	switch {
	case e.Recalled:
		r.Now = "recalled"
		r.Notes = append(r.Notes, "it was taken back: devices show it no more")
	case e.Amended > 0:
		r.Now = "amended"
	}
	if s.Floor != nil {
		floor, err := s.Floor(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("floor of %s: %w", c, err)
		}
		if e.Seq <= floor {
			r.Now = "gone"
			r.Notes = append(r.Notes, "it is older than messages are kept here: nobody may read it any more")
		}
	}
	return r, s.tell(ctx, r, &e)
}

var kinds = map[im.EntryKind]string{
	im.EntryMessage: "message", im.EntryRecall: "recall", im.EntryEvent: "event", im.EntryEdit: "edit", im.EntryReaction: "reaction",
	im.EntryPin: "pin", im.EntryReply: "reply",
}

// find finds an entry by its seq or by its id: near the time that the id has.
func (s *Stores) find(ctx context.Context, c im.ConversationID, seq uint64, id string) (im.Entry, error) {
	none := im.Errorf(im.CodeNotFound, "there is no such message in %s", c)
	if id == "" {
		es, err := s.Journal.Read(ctx, c, seq, false, 1)
		if err != nil {
			return im.Entry{}, fmt.Errorf("read %s: %w", c, err)
		}
		if len(es) == 0 || es[0].Seq != seq {
			return im.Entry{}, none
		}
		return es[0], nil
	}
	for from, looked := uint64(0), 0; looked < looks; {
		es, err := s.Journal.Read(ctx, c, from, true, 200)
		if err != nil {
			return im.Entry{}, fmt.Errorf("read %s: %w", c, err)
		}
		for i := range es {
			if es[i].ID.String() == id {
				return es[i], nil
			}
		}
		if len(es) == 0 || es[0].Seq == 1 {
			return im.Entry{}, none
		}
		from, looked = es[0].Seq-1, looked+len(es)
	}
	return im.Entry{}, im.Errorf(im.CodeNotFound, "it is none of the last %d of %s: name it by its number", looks, c)
}

// tell adds those to whom the message goes.
func (s *Stores) tell(ctx context.Context, r *Report, e *im.Entry) error {
	users, more, err := s.users(ctx, e.Conversation)
	if err != nil {
		return err
	}
	r.More = more
	keys, marks := make([]im.MarkKey, len(users)), make([]im.Mark, len(users))
	for i, u := range users {
		keys[i] = im.MarkKey{User: u, Conversation: e.Conversation}
	}
	if err := s.Journal.Marks(ctx, keys, marks, false); err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	for i, u := range users {
		x := User{User: u, Received: max(marks[i].Received, marks[i].Read), Read: marks[i].Read}
		may, why, err := s.mayRead(ctx, u, e)
		if err != nil {
			return err
		}
		sessions, err := s.Directory.Sessions(ctx, u, s.Now())
		if err != nil {
			return fmt.Errorf("sessions of %s: %w", u, err)
		}
		x.devices(sessions, e.Stored)
		x.Online = s.Online != nil && s.Online(u)
		mine, err := entrycodec.MyState(marks[i].Mine, e.Conversation)
		if err != nil {
			return fmt.Errorf("what %s set for themselves: %w", u, err)
		}
		if may && e.Seq < mine.ClearedBelow {
			may, why = false, "has cleared the conversation for themselves, up to behind it"
		}
		x.judge(e, may, why)
		r.Users = append(r.Users, x)
	}
	return nil
}

// users are those who are in a conversation now.
func (s *Stores) users(ctx context.Context, c im.ConversationID) (all []im.UserID, more bool, err error) {
	switch c.Kind() {
	case im.KindDM:
		a, b, _ := c.DMMembers()
		if a == b {
			return []im.UserID{a}, false, nil
		}
		return []im.UserID{a, b}, false, nil
	case im.KindMe:
		u, _ := c.MeUser()
		return []im.UserID{u}, false, nil
	}
	page, _, err := s.Directory.MembersPage(ctx, c, im.MemberQuery{Limit: MaxMembers + 1})
	if err != nil {
		return nil, false, fmt.Errorf("members of %s: %w", c, err)
	}
	for i := range page {
		if i == MaxMembers {
			return all, true, nil
		}
		all = append(all, page[i].User)
	}
	return all, false, nil
}

// mayRead tells whether an entry is a user's to read, and otherwise why not.
func (s *Stores) mayRead(ctx context.Context, u im.UserID, e *im.Entry) (bool, string, error) {
	if e.Conversation.Kind() != im.KindGroup {
		return true, "", nil
	}
	m, ok, err := s.Directory.Membership(ctx, u, e.Conversation)
	switch {
	case err != nil:
		return false, "", fmt.Errorf("place of %s: %w", u, err)
	case !ok:
		return false, "is no member", nil
	case e.Seq >= m.First && (m.Until == 0 || e.Seq <= m.Until):
		return true, "", nil
	}
	for _, w := range m.Earlier {
		if e.Seq >= w.First && e.Seq <= w.Until {
			return true, "", nil
		}
	}
	if e.Seq < m.First {
		return false, fmt.Sprintf("may read from #%d on: was no member before", m.First), nil
	}
	return false, fmt.Sprintf("left with #%d", m.Until), nil
}

func (x *User) devices(sessions []im.Session, stored time.Time) {
	for i := range sessions {
		d := &sessions[i]
		x.Devices = append(x.Devices, Device{
			ID: d.Device.ID, Name: d.Device.Name, Client: d.Client, Created: d.Created.UTC(), Seen: d.LastSeen.UTC(), Since: !d.LastSeen.Before(stored),
		})
	}
}

// judge says who has it, and otherwise why not.
func (x *User) judge(e *im.Entry, may bool, why string) {
	since, last := 0, time.Time{}
	for _, d := range x.Devices {
		if d.Since {
			since++
		}
		if d.Seen.After(last) {
			last = d.Seen
		}
	}
	on := "on one or more of their devices"
	if len(x.Devices) == 1 {
		on = "on device " + x.Devices[0].ID
	}
	switch {
	case !may:
		x.State, x.Why = StateNone, why
	case x.User == e.Sender:
		x.State, x.Why = StateSent, "sent it: the server has had it since "+e.Stored.UTC().Format(time.RFC3339)
	case x.Read >= e.Seq:
		x.State, x.Why = StateRead, "has read up to #"+strconv.FormatUint(x.Read, 10)+", "+on
	case x.Received >= e.Seq:
		x.State, x.Why = StateReceived, "has received up to #"+strconv.FormatUint(x.Received, 10)+", "+on
	case len(x.Devices) == 0:
		x.State, x.Why = StateWaiting, "is logged in nowhere: it comes with the next login"
	case x.Online:
		x.State, x.Why = StateWaiting, "is connected, and no device has said that it has it"
	case last.IsZero():
		x.State, x.Why = StateWaiting, "is logged in, and no device has ever connected"
	case since == 0:
		x.State, x.Why = StateWaiting, "no device has connected since it was stored, the last one at "+last.Format(time.RFC3339)
	default:
		x.State, x.Why = StateWaiting, fmt.Sprintf("%d of %d devices have connected since it was stored, and none has said that it has it", since, len(x.Devices))
	}
}
