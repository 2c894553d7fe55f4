package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	strangers = 8
	victims   = 400
	// rowHeld is how long a foreign transaction holds a conversation's row at a time.
	rowHeld = 3 * time.Second
)

// Stall is direct chats at a rate while others give the server trouble that is not
// theirs: what their acks take beside each trouble, against what they take without,
// in one run. Connections of --server must be of one that lets users set whom they
// hear from.
func Stall(ctx context.Context, o Options, group int, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.GroupSize = ScenarioStall, 1, group
	o.Connections &^= 1
	if o.Connections < 2 || o.Rate <= 0 || group < 3 {
		return nil, fmt.Errorf("stall needs two connections, a rate, and a group of three or more")
	}
	return withServer(ctx, &o, start, func(r *run) error {
		users, err := r.s.register(ctx, r.o, r.o.Connections+group+strangers+victims)
		if err != nil {
			return err
		}
		rest := users[r.o.Connections:]
		t := &troubles{r: r, members: rest[:group], strangers: rest[group : group+strangers], victims: rest[group+strangers:]}
		if err := t.prepare(ctx); err != nil {
			return err
		}
		if err := r.connect(ctx, users[:r.o.Connections], nil, nil); err != nil {
			return err
		}
		return r.stall(ctx, t)
	})
}

func (r *run) stall(ctx context.Context, t *troubles) error {
	x := &StallReport{}
	r.r.Stall = x
	if _, err := r.every(ctx, doStart); err != nil {
		return err
	}
	if err := r.pause(ctx, r.o.Warmup, false); err != nil {
		return err
	}
	measure := func(what string, f func(context.Context) error) (Latency, error) {
		r.o.progress("%s", what)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- f(ctx) }()
		before, err := r.totals(ctx, command{Do: doCount})
		if err == nil {
			err = r.pause(ctx, r.o.Duration, false)
		}
		var after *stats
		if err == nil {
			after, err = r.totals(ctx, command{Do: doStats})
		}
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return Latency{}, fmt.Errorf("%s: %w", what, err)
		}
		return between(before, after), nil
	}
	var err error
	if x.Alone, err = measure("nobody else", func(ctx context.Context) error { return nil }); err != nil {
		return err
	}
	for _, one := range t.all() {
		done := uint64(0)
		l, err := measure(one.name, func(ctx context.Context) (err error) { done, err = one.do(ctx); return err })
		if err != nil {
			return err
		}
		x.Beside = append(x.Beside, Trouble{Name: one.name, Times: done, Ack: l, P50Ratio: l.P50 / x.Alone.P50, P99Ratio: l.P99 / x.Alone.P99})
	}
	return r.account(ctx)
}

// troubles are what others do meanwhile.
type troubles struct {
	r                           *run
	members, strangers, victims []userPlan
	group                       string
}

// trouble goes on until its context ends and tells how often it happened.
type trouble struct {
	name string
	do   func(ctx context.Context) (uint64, error)
}

func (t *troubles) all() []trouble {
	all := []trouble{
		{fmt.Sprintf("%d strangers' sends are refused", strangers), t.refused},
		{fmt.Sprintf("%d members join a group and leave it", len(t.members)-2), t.joins},
	}
	if t.r.s.database != nil {
		all = append(all,
			trouble{"a foreign transaction holds a conversation's row", t.row},
			trouble{"a foreign transaction holds a group's row while a member is added", t.apply},
			trouble{"a foreign transaction holds the table of contacts while a stranger writes", t.permission})
	}
	return all
}

// prepare makes the group, and victims whom strangers may not write to.
func (t *troubles) prepare(ctx context.Context) (err error) {
	if t.group, _, err = t.r.s.group(ctx, "stall", t.members[:2]); err != nil {
		return err
	}
	return each(ctx, len(t.victims), 32, func(i int) error {
		return t.r.s.call(ctx, t.victims[i].Token, "skein.v1.UserService/UpdateProfile",
			&wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_CONTACTS}, new(wire.UpdateProfileResponse))
	})
}

// refused has all strangers write to victims, as fast as the server lets them.
func (t *troubles) refused(ctx context.Context) (uint64, error) {
	var n atomic.Uint64
	var wg sync.WaitGroup
	errs := make([]error, len(t.strangers))
	for i := range t.strangers {
		wg.Go(func() { errs[i] = t.stranger(ctx, i, &n) })
	}
	wg.Wait()
	return n.Load(), errors.Join(errs...)
}

func (t *troubles) stranger(ctx context.Context, i int, refused *atomic.Uint64) error {
	targets, err := t.r.s.targets(t.r.o.Transport)
	if err != nil {
		return err
	}
	c, err := dial(targets[0], "", wire.Protobuf())
	if err != nil {
		return err
	}
	defer c.Close()
	me := t.strangers[i]
	l, err := c.hello(me.Token, "", "")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		for {
			f, err := c.read()
			if err != nil {
				ended <- err
				return
			}
			if f.GetSendError() != nil {
				refused.Add(1)
			}
		}
	}()
	bucket := newBucket(l.sends, time.Now())
	for n := i; ; n++ {
		at, ok := bucket.take(time.Now())
		if !ok {
			select {
			case <-ctx.Done():
				return nil
			case err := <-ended:
				return fmt.Errorf("a stranger: %w", err)
			case <-time.After(time.Until(at)):
			}
			n--
			continue
		}
		id := im.NewMessageID(time.Now(), [10]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(i)})
		send := &wire.Send{
			Conversation: dmName(me.ID, t.victims[n%len(t.victims)].ID), Id: id[:],
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}},
		}
		if err := errors.Join(c.queue(wire.NewClientFrame(send)), c.flush()); err != nil {
			return fmt.Errorf("a stranger: %w", err)
		}
	}
}

// joins has all members but two join the group and leave it, again and again.
func (t *troubles) joins(ctx context.Context) (n uint64, err error) {
	ids := make([]string, 0, len(t.members))
	for _, m := range t.members[2:] {
		ids = append(ids, m.ID)
	}
	const atOnce = 1000 // what one call takes
	owner := t.members[0].Token
	inParts := func(change func(part []string) error) {
		for part := range slices.Chunk(ids, atOnce) {
			if err != nil {
				return
			}
			err = change(part)
			n++
		}
	}
	for ctx.Err() == nil {
		inParts(func(part []string) error {
			return t.r.s.call(ctx, owner, "skein.v1.GroupService/AddMembers",
				&wire.AddMembersRequest{Conversation: t.group, Users: part}, new(wire.AddMembersResponse))
		})
		inParts(func(part []string) error {
			return t.r.s.call(ctx, owner, "skein.v1.GroupService/RemoveMembers",
				&wire.RemoveMembersRequest{Conversation: t.group, Users: part}, new(wire.RemoveMembersResponse))
		})
		if err != nil && ctx.Err() == nil {
			return n, err
		}
	}
	return n, nil
}

// row has a foreign transaction hold the row of a conversation that is written in.
func (t *troubles) row(ctx context.Context) (n uint64, err error) {
	writer := t.members[0]
	conversation := dmName(writer.ID, t.members[1].ID)
	send := func(ctx context.Context) error { return t.write(ctx, writer, conversation) }
	if err := send(ctx); err != nil {
		return 0, err
	}
	return t.held(ctx, "SELECT FROM journal_heads WHERE conversation = $1 FOR UPDATE", []any{conversation}, send)
}

// apply has one hold a group's row in the directory, so that what was stored of a change of
// the group cannot be carried out.
func (t *troubles) apply(ctx context.Context) (n uint64, err error) {
	group, _, err := t.r.s.group(ctx, "apply", t.members[:2])
	if err != nil {
		return 0, err
	}
	in := false
	return t.held(ctx, "SELECT FROM groups WHERE conversation = $1 FOR UPDATE", []any{group}, func(ctx context.Context) error {
		in = !in
		who := []string{t.members[2].ID}
		if in {
			return t.r.s.call(ctx, t.members[0].Token, "skein.v1.GroupService/AddMembers", &wire.AddMembersRequest{Conversation: group, Users: who}, new(wire.AddMembersResponse))
		}
		return t.r.s.call(ctx, t.members[0].Token, "skein.v1.GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: group, Users: who}, new(wire.RemoveMembersResponse))
	})
}

// permission has one hold what says who is whose contact, while somebody writes to users of
// whom the server does not know that yet.
func (t *troubles) permission(ctx context.Context) (n uint64, err error) {
	next := len(t.victims)
	return t.held(ctx, "LOCK TABLE contacts IN ACCESS EXCLUSIVE MODE", nil, func(ctx context.Context) error {
		next--
		return t.write(ctx, t.members[0], dmName(t.members[0].ID, t.victims[next%len(t.victims)].ID))
	})
}

func (t *troubles) write(ctx context.Context, from userPlan, conversation string) error {
	return t.r.s.call(ctx, from.Token, "skein.v1.MessageService/SendMessage", &wire.SendMessageRequest{
		Conversation: conversation, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}},
	}, new(wire.SendMessageResponse))
}

// held has a foreign transaction hold a lock for rowHeld, again and again, and each time
// somebody do what meets it.
func (t *troubles) held(ctx context.Context, lock string, args []any, meet func(context.Context) error) (n uint64, err error) {
	db, err := pgx.Connect(ctx, t.r.s.database.url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	for ctx.Err() == nil {
		tx, err := db.Begin(context.WithoutCancel(ctx))
		if err != nil {
			return n, err
		}
		if _, err := tx.Exec(context.WithoutCancel(ctx), lock, args...); err != nil {
			return n, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
		held, stop := context.WithTimeout(ctx, rowHeld)
		_ = meet(held) // it is refused for now, or waits: that is the trouble
		<-held.Done()
		stop()
		n++
		if err := tx.Rollback(context.WithoutCancel(ctx)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// stalls writes what the acks took beside each trouble.
func (r *Report) stalls(line func(name, format string, args ...any)) {
	if r.Stall == nil {
		return
	}
	line("nobody else", "%10.2f / %.2f ms ack p50/p99, max %.1f", r.Stall.Alone.P50, r.Stall.Alone.P99, r.Stall.Alone.Max)
	for _, x := range r.Stall.Beside {
		line("beside", "%10.2f / %.2f ms ack p50/p99, max %.1f: %.2f and %.2f of that   %s (%d times)", x.Ack.P50, x.Ack.P99, x.Ack.Max, x.P50Ratio, x.P99Ratio, x.Name, x.Times)
	}
}
