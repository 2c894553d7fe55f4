package soak

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// clerk uses the API only, one call after the other: it changes accounts,
// contacts, groups and marks, and asks for what was answered before. Its users
// have no devices: nothing repeats for them what the server forgot.
// mu guards once; all else belongs to work, and to check after it.
type clerk struct {
	w     *World
	h     *Recorder
	ids   *wire.IDSource
	users []*person
	dm    string
	// group, days and club are as openGroups says.
	group, days, club string
	sent              int
	marks             uint64
	// poll is the seq of a poll in the dm; streamed counts messages that grow, scheduled
	// those that are sent later, due is when the last of them is (Unix ms).
	poll      uint64
	streamed  int
	scheduled int
	due       int64
	// accounts counts those that were begun to be made.
	accounts int
	// facts are those that can be given a new value, once those that stay as they are.
	facts []*clerkFact
	mu    sync.Mutex // guards once
	once  []*clerkFact
}

// clerkFact is a fact with one writer.
type clerkFact struct {
	name string
	// next is the value to give it now.
	next func(n int) string
	// set gives it the value; setting it twice is harmless.
	set func(ctx context.Context, value string) error
	get func(ctx context.Context) (string, error)

	n     int
	value string // that is being set, until it is answered
	open  bool
	made  int64 // when the first change was begun
}

// clerks are how many users the clerk has.
const clerks = 4

func newClerk(ctx context.Context, w *World, h *Recorder) (*clerk, error) {
	c := &clerk{w: w, h: h, ids: wire.NewIDSource(nil, nil)}
	for i := range clerks {
		p := &person{id: fmt.Sprintf("clerk%d", i)}
		var err error
		if p.token, err = w.mint(ctx, p.id); err != nil {
			return nil, err
		}
		c.users = append(c.users, p)
	}
	c.dm = skein.DM(c.users[0].id, c.users[1].id)
	if err := c.openGroups(ctx); err != nil {
		return nil, err
	}
	if err := c.call(ctx, 0, contactService+"RequestContact", &wire.RequestContactRequest{User: c.users[2].id}, &wire.RequestContactResponse{}); err != nil {
		return nil, fmt.Errorf("soak: the clerk's contact: %w", err)
	}
	if err := c.openPoll(ctx); err != nil {
		return nil, err
	}
	c.facts = []*clerkFact{
		c.displayName(), c.remark(), c.block(), c.contact(), c.groupName(), c.member(), c.vote(),
		c.pin(), c.draft(), c.lifetime(), c.role(), c.coming(),
	}
	return c, nil
}

func (c *clerk) call(ctx context.Context, user int, method string, req, resp message) error {
	return c.w.call(ctx, c.users[user].token, method, req, resp)
}

// work changes and asks until ctx ends.
func (c *clerk) work(ctx context.Context) {
	rng := rand.New(rand.NewPCG(c.w.plan.Seed, 1<<34))
	for n := 0; pause(ctx, time.Duration(rng.Int64N(int64(60*time.Millisecond)))) == nil; n++ {
		switch k := rng.IntN(14); {
		case k < 6:
			c.change(ctx, c.facts[rng.IntN(len(c.facts))])
		case k == 6:
			c.say(ctx)
		case k == 7:
			c.mark(ctx)
		case k == 8 && n%4 == 0:
			c.endSession(ctx)
		case k == 9 && n%4 == 0:
			c.makeAccount(ctx)
		case k == 12 && n%2 == 0:
			c.schedule(ctx)
		case k == 13 && n%2 == 0:
			c.stream(ctx)
		case k == 10:
			if all := c.settled(); len(all) > 0 {
				_ = c.ask(ctx, all[rng.IntN(len(all))])
			}
		default:
			_ = c.ask(ctx, c.facts[rng.IntN(len(c.facts))])
		}
	}
}

// change gives a fact its next value, or tries again to give it the last one.
func (c *clerk) change(ctx context.Context, f *clerkFact) {
	if !f.open {
		f.made = cmp.Or(f.made, Now())
		f.n++
		f.value, f.open = f.next(f.n), true
	}
	rec := Record{Kind: Asked, Of: f.name, Code: f.value}
	c.h.Add(rec)
	if f.set(ctx, f.value) == nil { // otherwise it is not known
		rec.Kind = Answered
		c.h.Add(rec)
		f.open = false
	}
}

// ask writes down what a fact is now.
func (c *clerk) ask(ctx context.Context, f *clerkFact) error {
	since := Now()
	value, err := f.get(ctx)
	if err == nil {
		c.h.Add(Record{Kind: Read, Of: f.name, Code: value, Since: since})
	}
	return err
}

// check asks for everything, once nothing is to be sent any more. Tokens that are no longer good count by address: of
// many it waits as it is told.
func (c *clerk) check(ctx context.Context) error {
	if err := c.allSent(ctx); err != nil {
		return err
	}
	if err := c.allEnded(ctx); err != nil {
		return err
	}
	for _, f := range slices.Concat(c.facts, c.settled()) {
		if err := patiently(ctx, func() error { return c.ask(ctx, f) }); err != nil {
			return fmt.Errorf("soak: %s: %w", f.name, err)
		}
	}
	return patiently(ctx, func() error { return c.askMark(ctx) })
}

// say sends a message over HTTP, with the same id until it is answered.
func (c *clerk) say(ctx context.Context) {
	c.sent++
	id := c.ids.Next()
	content := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint("clerk ", c.sent)}}
	user := c.users[0].id
	req := &wire.SendMessageRequest{Conversation: c.dm, Id: id[:], Content: content}
	if c.sent%4 == 0 {
		req.Mentions = []string{c.users[1].id}
	}
	rec := Record{Kind: Invoked, Conversation: c.dm, ID: hex.EncodeToString(id[:]), Hash: ContentHash(c.dm, user, content, 0)}
	c.add(user, rec)
	for {
		var resp wire.SendMessageResponse
		err := c.call(ctx, 0, messageService+"SendMessage", req, &resp)
		if err == nil {

			// It is of now: who asks for the timeline may wait until the server is another one.
			rec.Kind, rec.Seq, rec.Mono = OK, resp.Seq, Now()
			rec.Timeline = c.timeline(ctx)
			if rec.Timeline != "" {
				c.add(user, rec)
			}
			if len(req.Mentions) > 0 {
				c.mentioned(ctx, resp.Seq)
			}
			return
		}
		rec.Kind, rec.Code = Unknown, err.Error()
		c.add(user, rec)
		if pause(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}

// add writes a record of one of the clerk's users.
func (c *clerk) add(user string, rec Record) { c.h.addAs(user, rec) }

// timeline is the server's, "" if it does not say.
func (c *clerk) timeline(ctx context.Context) string {
	d, err := c.list(ctx, 0)
	if err != nil {
		return ""
	}
	return d.GetTimeline()
}

func (c *clerk) list(ctx context.Context, user int) (*wire.SyncDelta, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return Conversations(ctx, c.w.plan.HTTP, c.users[user].token)
}

// markName is the fact of how far the second user has read.
const markName = "read mark"

// mark reads what there is, and asks for the mark.
func (c *clerk) mark(ctx context.Context) {
	if c.askMark(ctx) != nil {
		return
	}
	d, err := c.list(ctx, 0)
	if err != nil {
		return
	}
	for _, st := range d.GetConversations() {
		if st.Conversation != c.dm || st.Seq <= c.marks {
			continue
		}
		rec := Record{Kind: Asked, Of: markName, Conversation: c.dm, Seq: st.Seq, Timeline: d.Timeline}
		c.h.Add(rec)
		if c.call(ctx, 1, messageService+"MarkRead", &wire.MarkReadRequest{Conversation: c.dm, Seq: st.Seq}, &wire.MarkReadResponse{}) == nil {
			rec.Kind = Answered
			c.h.Add(rec)
			c.marks = st.Seq
		}
	}
}

func (c *clerk) askMark(ctx context.Context) error {
	since := Now()
	d, err := c.list(ctx, 1)
	if err != nil {
		return err
	}
	for _, st := range d.GetConversations() {
		if st.Conversation == c.dm {
			c.h.Add(Record{Kind: Read, Of: markName, Conversation: c.dm, Seq: st.ReadSeq, Since: since, Timeline: d.Timeline})
		}
	}
	return nil
}

// settled are the facts that stay as they are.
func (c *clerk) settled() []*clerkFact {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.once)
}

func (c *clerk) settle(f *clerkFact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.once = append(c.once, f)
}

// wentBack forgets the sessions and accounts that were made after a copy was begun.
func (c *clerk) wentBack(copied int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.once = slices.DeleteFunc(c.once, func(f *clerkFact) bool { return f.made >= copied })
}

// endSession opens a session, ends it, and expects it to stay ended.
func (c *clerk) endSession(ctx context.Context) {
	var minted wire.MintTokenResponse
	user := c.users[3].id
	if c.w.call(ctx, c.w.plan.AdminKey, adminService+"MintToken", &wire.MintTokenRequest{User: user}, &minted) != nil {
		return
	}
	t := minted.GetTokens()
	f := &clerkFact{
		name: "session " + t.GetSession(),
		next: func(int) string { return "ended" },
		set: func(ctx context.Context, _ string) error {
			return c.w.call(ctx, c.w.plan.AdminKey, adminService+"KickUser", &wire.KickUserRequest{User: user, Session: t.GetSession()}, &wire.KickUserResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			err := c.w.call(ctx, t.GetAccessToken(), "skein.v1.AccountService/ListSessions", &wire.ListSessionsRequest{}, &wire.ListSessionsResponse{})
			var e *skein.Error
			switch {
			case err == nil:
				return "live", nil
			case errors.As(err, &e) && e.Code == wire.CodeSessionRevoked:
				return "ended", nil
			}
			return "", err
		},
	}
	c.change(ctx, f)
	c.settle(f)
}

// makeAccount makes a user with a password.
func (c *clerk) makeAccount(ctx context.Context) {
	c.accounts++
	name := "account" + strconv.Itoa(c.accounts)
	f := &clerkFact{
		name: "account " + name,
		next: func(int) string { return "there" },
		set: func(ctx context.Context, _ string) error {
			return c.w.call(ctx, c.w.plan.AdminKey, adminService+"CreateUser", &wire.CreateUserRequest{Username: name, Password: "correct horse " + name}, &wire.CreateUserResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			err := c.call(ctx, 0, userService+"FindUser", &wire.FindUserRequest{Username: name}, &wire.FindUserResponse{})
			var e *skein.Error
			switch {
			case err == nil:
				return "there", nil
			case errors.As(err, &e) && e.Code == wire.CodeNotFound:
				return "", nil
			}
			return "", err
		},
	}
	c.change(ctx, f)
	c.settle(f)
}
