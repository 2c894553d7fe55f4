package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/wire"
)

// AmendReport is what edits and reactions cost beside plain messages, in one group and
// one run: all by the same members, at the same rate, one kind after the other.
type AmendReport struct {
	Plain AmendCost `json:"plain"`
	React AmendCost `json:"react"`
	Edit  AmendCost `json:"edit"`
	// Again is Plain once more, at the end: how far the machine was the same.
	Again AmendCost `json:"plain_again"`
	// Page is a page of 50 plain messages, Reacted the same ones with 500 reactions.
	Page    CallCost `json:"page"`
	Reacted CallCost `json:"page_with_reactions"`
	// Reactions is how many of them there are.
	Reactions int `json:"reactions"`
}

// AmendCost is of one kind of entry.
type AmendCost struct {
	Entries uint64  `json:"entries"`
	Ack     Latency `json:"ack_ms"`
	// CPUMicros are the server's for an entry, with its delivery to all members.
	CPUMicros float64 `json:"server_cpu_us"`
	// Of the plain messages before: CPU and the median ack.
	CPURatio float64 `json:"cpu_of_plain"`
	AckRatio float64 `json:"ack_of_plain"`
}

// What a storm is made of; "": messages and reactions to one message.
const (
	stormSays   = "say"
	stormReacts = "react"
	stormEdits  = "edit"
)

// pageOf is how many messages a page is measured with, reactionsOn how many reactions
// each of them gets.
const (
	pageOf      = 50
	reactionsOn = 10
	pageRounds  = 200
)

// Amend is a group of GroupSize members, all online, in which StormRate entries a second
// come for Duration: messages, then reactions to as many of them, then edits of their
// own, then messages again.
func Amend(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Groups, o.GroupOnline, o.Connections = ScenarioAmend, 1, 1, o.GroupSize, o.GroupSize
	if o.GroupSize < reactionsOn || o.GroupSize%2 != 0 || o.StormRate <= 0 {
		return nil, fmt.Errorf("want an even number of members, %d or more, and a rate", reactionsOn)
	}
	return withServer(ctx, &o, start, func(r *run) error { return r.amends(ctx) })
}

func (r *run) amends(ctx context.Context) error {
	users, err := r.s.register(ctx, r.o, r.o.Connections)
	if err != nil {
		return err
	}
	name, _, err := r.s.group(ctx, "amended", users)
	if err != nil {
		return err
	}
	if err := r.connect(ctx, users, []groupPlan{{Conversation: name, Online: len(users)}}, nil); err != nil {
		return err
	}
	if err := r.offer(ctx, 0.001, 0); err != nil { // nobody chats on their own
		return err
	}
	if _, err := r.all(ctx, func(int) command { return command{Do: doArm} }); err != nil {
		return err
	}
	if _, err := r.workers[0].do(ctx, command{Do: doFire}); err != nil { // the first message
		return err
	}
	if _, err := r.every(ctx, doLast); err != nil {
		return err
	}
	x := &AmendReport{}
	r.r.Amend = x
	for _, s := range []struct {
		what string
		to   *AmendCost
	}{{stormSays, new(AmendCost)}, {stormSays, &x.Plain}, {stormReacts, &x.React}, {stormEdits, &x.Edit}, {stormSays, &x.Again}} {
		r.o.progress("  %s", s.what)
		if err := r.stormOf(ctx, s.what, s.to); err != nil {
			return err
		}
		s.to.CPURatio, s.to.AckRatio = s.to.CPUMicros/x.Plain.CPUMicros, s.to.Ack.P50/x.Plain.Ack.P50
	}
	if err := r.account(ctx); err != nil {
		return err
	}
	return r.reactedPage(ctx, name, users)
}

// stormOf measures a storm of one kind.
func (r *run) stormOf(ctx context.Context, what string, x *AmendCost) error {
	before, err := r.totals(ctx, command{Do: doCount})
	if err != nil {
		return err
	}
	from, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	if _, err := r.all(ctx, func(int) command { return command{Do: doStorm, What: what} }); err != nil {
		return err
	}
	if err := r.wait(ctx, r.o.Duration+time.Second); err != nil { // the last ones are delivered
		return err
	}
	after, err := r.totals(ctx, command{Do: doRest})
	if err != nil {
		return err
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return err
	}
	r.measured(from, to, before, after)
	var acks histogram
	acks.add(after.Crowd)
	x.Entries, x.Ack = after.Stormed-before.Stormed, acks.latency()
	x.CPUMicros = (to.cpu - from.cpu).Seconds() * 1e6 / float64(max(x.Entries, 1))
	return nil
}

// reactedPage measures a page of messages, and the same one with reactions.
func (r *run) reactedPage(ctx context.Context, name string, users []userPlan) error {
	x := r.r.Amend
	var seqs []uint64
	for i := range pageOf {
		var sent wire.SendMessageResponse
		req := &wire.SendMessageRequest{Conversation: name, Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: fmt.Sprintf("%0*d", max(r.o.Payload, 1), i)}}}
		if _, err := r.s.timed(ctx, users[i%len(users)].Token, "MessageService/SendMessage", req, &sent); err != nil {
			return err
		}
		seqs = append(seqs, sent.Seq)
	}
	page := func(i int) (answered, error) {
		var resp wire.ListEntriesResponse
		a, err := r.s.timed(ctx, users[i%len(users)].Token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: name, From: seqs[0], Limit: pageOf}, &resp)
		if err == nil && len(resp.Entries) != pageOf {
			err = fmt.Errorf("a page of %d entries", len(resp.Entries))
		}
		return a, err
	}
	var err error
	if x.Page, err = r.each(ctx, pageRounds, page); err != nil {
		return err
	}
	for _, seq := range seqs {
		for n, u := range users[:reactionsOn] {
			req := &wire.ReactToMessageRequest{Conversation: name, Seq: seq, Reaction: []string{"👍", "❤️", "😀"}[n%3]}
			if _, err := r.s.timed(ctx, u.Token, "MessageService/ReactToMessage", req, new(wire.ReactToMessageResponse)); err != nil {
				return err
			}
			x.Reactions++
		}
	}
	x.Reacted, err = r.each(ctx, pageRounds, page)
	return err
}

// reactTo reacts to a message of the storm before, each time to another one.
func (u *user) reactTo(at time.Time) {
	s := u.groups[0]
	u.n++
	many := max(uint64(u.t.plan.Options.StormRate*u.t.plan.Options.Duration.Seconds()*0.9), 1)
	u.amend(at, s.target()+uint64(u.n)%many, &wire.Amend{What: &wire.Amend_React{React: &wire.React{Reaction: "👍"}}})
}

// reword edits a message of the user's own, each time another one.
func (u *user) reword(at time.Time) {
	if len(u.own) == 0 {
		return
	}
	u.n++
	text := string(u.body)
	u.amend(at, u.own[int(u.n)%len(u.own)], &wire.Amend{What: &wire.Amend_Edit{Edit: &wire.Edit{
		Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: text}},
	}}})
}

// amend sends an amendment of a message of the group.
func (u *user) amend(at time.Time, target uint64, m *wire.Amend) {
	u.t.stormed.Add(1)
	s := u.groups[0]
	id := u.nextID(at)
	u.wait = append(u.wait, sending{id, at, s})
	s.underway++
	u.t.sent.Add(1)
	m.Conversation, m.Id, m.Target = s.topic.name, id[:], target
	u.put(wire.NewClientFrame(m))
	u.write(time.Now())
}

// keepOwn is how many of a user's own messages are remembered to be edited.
const keepOwn = 1000

// amended writes what edits and reactions cost.
func (r *Report) amended(line func(name, format string, args ...any)) {
	x := r.Amend
	if x == nil {
		return
	}
	for _, s := range []struct {
		name string
		cost *AmendCost
	}{{"plain messages", &x.Plain}, {"reactions", &x.React}, {"edits", &x.Edit}, {"plain again", &x.Again}} {
		c := s.cost
		line(s.name, "%10d: %.0f µs of server CPU each (%.2f), ack %.2f / %.2f ms p50/p99 (p50 %.2f)", c.Entries, c.CPUMicros, c.CPURatio, c.Ack.P50, c.Ack.P99, c.AckRatio)
	}
	x.Page.line(fmt.Sprintf("page of %d", pageOf), line)
	x.Reacted.line(fmt.Sprintf("%d reactions", x.Reactions), line)
}
