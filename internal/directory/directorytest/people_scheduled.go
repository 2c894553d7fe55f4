package directorytest

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// scheduled: messages are kept as they are, told and claimed by their time, and changed
// no more when that has come.
func scheduled(p *people) {
	p.users("a", "b")
	notice := func() im.Promise { return p.promise(im.Me("a"), "a", im.Event{Type: im.EventScheduledChanged}) }
	id := func(n byte) im.MessageID { return im.NewMessageID(at, [10]byte{n}) }
	one := func(u im.UserID, n byte, in time.Duration) im.Scheduled {
		return im.Scheduled{User: u, At: at.Add(in), Created: at, State: im.ScheduledWaiting, Message: im.Message{
			Conversation: "grp:g", ID: id(n), Kind: im.EntryMessage, ReplyTo: 7, Body: []byte{0x3a, n}, Hash: 1<<63 + uint64(n),
		}}
	}
	ids := func(all []im.Scheduled, err error) (out []byte) {
		p.Helper()
		p.ok(err)
		for _, s := range all {
			out = append(out, s.Message.Body[1])
		}
		return out
	}
	code := func(what string, err error, want im.Code) {
		p.Helper()
		equal(p, what, im.CodeOf(err), want)
	}
	for n, in := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		_, made, err := p.db.Schedule(p.ctx, one("a", byte(n), in), 3, notice())
		p.ok(err)
		equal(p, "made", made, true)
	}
	_, _, err := p.db.Schedule(p.ctx, one("a", 9, 0), 3, notice())
	code("one too many", err, im.CodeTooLarge)
	_, _, err = p.db.Schedule(p.ctx, one("nobody", 9, 0), 3, notice())
	code("nobody's", err, im.CodeNotFound)
	kept, made, err := p.db.Schedule(p.ctx, one("a", 0, time.Minute), 3, notice())
	p.ok(err)
	equal(p, "made again", made, false)
	equal(p, "kept", kept.At.Equal(at.Add(3*time.Hour)) && kept.Message.ReplyTo == 7 && kept.Message.Hash == 1<<63 && kept.Created.Equal(at), true)
	_, made, err = p.db.Schedule(p.ctx, one("b", 0, time.Minute), 3, notice())
	p.ok(err)
	equal(p, "another user's", made, true)

	first, err := p.db.ScheduledPage(p.ctx, "a", im.ScheduledPlace{}, 2)
	equal(p, "a page", ids(first, err), []byte{1, 2})
	equal(p, "the rest", ids(p.db.ScheduledPage(p.ctx, "a", first[1].Place(), 2)), []byte{0})
	_, err = p.db.ChangeScheduled(p.ctx, "b", id(1), notice(), func(*im.Scheduled) error { return nil })
	code("not theirs", err, im.CodeNotFound)
	_, err = p.db.ChangeScheduled(p.ctx, "a", id(1), notice(), func(*im.Scheduled) error { return im.Errorf(im.CodeMuted, "no") })
	code("refused", err, im.CodeMuted)
	before := len(p.pending())
	for range 2 { // the second time the answer of the first was lost
		_, err = p.db.ChangeScheduled(p.ctx, "a", id(1), notice(), func(s *im.Scheduled) error {
			s.At, s.Message.Body = at.Add(4*time.Hour), []byte{0x3a, 11}
			return nil
		})
		p.ok(err)
		equal(p, "told of the change", len(p.pending()), before+1)
	}
	scheduledReplies(p, one, notice)
	equal(p, "changed", ids(p.db.ScheduledPage(p.ctx, "a", im.ScheduledPlace{}, 9)), []byte{2, 0, 11})
	found, err := p.db.Scheduled(p.ctx, "a", id(0))
	equal(p, "one", ids([]im.Scheduled{found}, err), []byte{0})
	_, err = p.db.Scheduled(p.ctx, "nobody", id(0))
	code("another's", err, im.CodeNotFound)
	scheduledDue(p, id, ids, code, notice)
}

// scheduledReplies: in which thread a message is to be said is kept, and changed, with it.
func scheduledReplies(p *people, one func(im.UserID, byte, time.Duration) im.Scheduled, notice func() im.Promise) {
	p.users("c")
	s := one("c", 1, time.Hour)
	for _, want := range []struct {
		kind   im.EntryKind
		target uint64
	}{{im.EntryReply, 1 << 62}, {im.EntryMessage, 12}, {im.EntryMessage, 0}, {im.EntryReply, 3}} {
		before := len(p.pending())
		s.Message.Kind, s.Message.Target = want.kind, want.target
		s.Message.Hash++ // the thread is a part of it
		_, made, err := p.db.Schedule(p.ctx, s, 3, notice())
		p.ok(err)
		if !made {
			_, err = p.db.ChangeScheduled(p.ctx, "c", s.Message.ID, notice(), func(was *im.Scheduled) error {
				was.Message = s.Message
				return nil
			})
			p.ok(err)
		}
		equal(p, "told", len(p.pending()), before+1)
		kept, err := p.db.Scheduled(p.ctx, "c", s.Message.ID)
		p.ok(err)
		equal(p, "kind", kept.Message.Kind, want.kind)
		equal(p, "thread", kept.Message.Target, want.target)
	}
	p.ok(p.db.CancelScheduled(p.ctx, "c", s.Message.ID, notice()))
}

// scheduledDue is scheduled from when their time comes.
func scheduledDue(p *people, id func(byte) im.MessageID, ids func([]im.Scheduled, error) []byte, code func(string, error, im.Code), notice func() im.Promise) {
	due := func(now time.Time) bool {
		p.Helper()
		any, err := p.db.AnyDue(p.ctx, now)
		p.ok(err)
		return any
	}
	equal(p, "due too early", due(at), false)
	now := at.Add(3 * time.Hour)
	equal(p, "due", due(now), true)
	equal(p, "claimed before", ids(p.db.Claimed(p.ctx, im.ScheduledPlace{}, 9)), nil)
	p.ok(p.db.ClaimDue(p.ctx, now))
	claimed, err := p.db.Claimed(p.ctx, im.ScheduledPlace{}, 2)
	equal(p, "claimed", ids(claimed, err), []byte{0, 2})
	equal(p, "claimed next", ids(p.db.Claimed(p.ctx, claimed[1].Place(), 2)), []byte{0})
	_, err = p.db.ChangeScheduled(p.ctx, "a", id(0), notice(), func(*im.Scheduled) error { return nil })
	code("change what is sent", err, im.CodeTooLate)
	code("cancel what is sent", p.db.CancelScheduled(p.ctx, "a", id(0), notice()), im.CodeTooLate)
	code("cancel another's", p.db.CancelScheduled(p.ctx, "b", id(1), notice()), im.CodeNotFound)
	p.ok(p.db.CancelScheduled(p.ctx, "a", id(1), notice()))
	p.ok(p.db.FinishScheduled(p.ctx, "b", id(0)))
	p.ok(p.db.FailScheduled(p.ctx, "a", id(0), im.CodeNotFound, "gone", notice()))
	before := len(p.pending())
	p.ok(p.db.FailScheduled(p.ctx, "a", id(0), im.CodeMuted, "twice", notice()))
	p.ok(p.db.FinishScheduled(p.ctx, "a", id(0)))
	equal(p, "told twice", len(p.pending()), before)
	all, err := p.db.ScheduledPage(p.ctx, "a", im.ScheduledPlace{}, 9)
	equal(p, "left", ids(all, err), []byte{2, 0})
	equal(p, "why", [2]string{string(all[1].Code), all[1].Text}, [2]string{"not_found", "gone"})
	_, err = p.db.ChangeScheduled(p.ctx, "a", id(0), notice(), func(*im.Scheduled) error { return nil })
	p.ok(err)
	equal(p, "told that it waits again", len(p.pending()), before+1)
	equal(p, "claimed without the failed one", ids(p.db.Claimed(p.ctx, im.ScheduledPlace{}, 9)), []byte{2})
}
