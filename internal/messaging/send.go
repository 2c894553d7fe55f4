package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// maxIDAhead is how far ahead of the server's clock an id may be (SPEC §2).
const maxIDAhead = 24 * time.Hour

// Send queues a member's message; see im.Logic.
//
// message path 3/6: check, admit, commit, settle
func (s *Service) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	now := s.now()
	entry := im.Entry{Conversation: m.Conversation, ID: m.ID, Sender: from.User}
	if err := s.guarded("check", &entry, func() error { return checkMessage(&m, now) }); err != nil {
		s.metrics.reject(err)
		reply(im.Ack{}, err)
		return
	}
	if from.Order.Behind(from.Connection, m.Conversation, from.Turn) {
		err := im.ErrBehind()
		s.metrics.reject(err)
		reply(im.Ack{}, err)
		return
	}
	had := now
	if !from.Had.IsZero() && from.Had.Before(now) {
		had = from.Had // who passed it on counts from then (staleAfter)
	}
	it := s.items.get()
	*it = item{
		ctx:   ctx,
		actor: from,
		entry: im.Entry{
			Conversation: m.Conversation, ID: m.ID, Sender: from.User, Kind: m.Kind,
			Target: m.Target, Body: m.Body,
		},
		hash:    m.Hash,
		replyTo: m.ReplyTo,
		reply:   reply,
		queued:  had,
	}
	if m.Kind.Said() || m.Kind == im.EntryEdit {
		asks := entrycodec.AsksOf(m.Body)
		it.everybody, it.streaming = asks.Everybody, asks.Streaming
		it.media, it.copied, it.sticker = asks.Media, asks.Copied, asks.Sticker && !asks.Copied
		if asks.Mentions {
			it.labels = entrycodec.Labels(&it.entry)
		}
		s.breaks(it)
	}
	if err := s.queue.put(it); err != nil {
		it.refused(err)
		s.metrics.reject(err)
		reply(im.Ack{}, err)
	}
}

// AppendEvent stores an entry of the server's own making and returns its seq.
// apply, if not nil, runs once the entry is durable, before it or anything behind it
// in its conversation is delivered or answered; it must be idempotent, because a promise
// that was stored before is applied again. An error of apply is returned; the
// entry is stored all the same and the promise must be driven again.
func (s *Service) AppendEvent(ctx context.Context, p im.Promise, apply func(seq uint64) error) (uint64, error) {
	type result struct {
		ack im.Ack
		err error
	}
	got := make(chan result, 1)
	ev := p.Event
	it := &item{
		entry:     im.Entry{Conversation: p.Conversation, ID: p.ID, Sender: p.Sender, Kind: im.EntryEvent, Event: &ev, Body: entrycodec.Event(&ev)},
		event:     true,
		ifRoster:  p.IfRoster,
		setRoster: p.SetRoster,
		apply:     apply,
		reply:     func(a im.Ack, err error) { got <- result{a, err} },
		queued:    s.now(),
	}
	if err := s.queue.put(it); err != nil {
		return 0, err
	}
	select {
	case r := <-got:
		return r.ack.Seq, r.err
	case <-ctx.Done():
		return 0, im.Wrap(ctx.Err(), im.CodeUnknown, "the change may or may not have been made")
	}
}

// checkMessage refuses what can be refused without looking anything up.
func checkMessage(m *im.Message, now time.Time) error {
	switch m.Conversation.Kind() {
	case im.KindDM, im.KindGroup:
	case im.KindMe:
		return im.Errorf(im.CodePermissionDenied, "me feeds take entries from the server only")
	default:
		return im.Wrong("conversation", "is malformed")
	}
	switch m.Kind {
	case im.EntryMessage:
	case im.EntryRecall, im.EntryEdit, im.EntryReaction, im.EntryVote, im.EntryPollEnd, im.EntryPin, im.EntryStream, im.EntryReply:
		if m.Target == 0 {
			return im.Wrong("target", "is missing")
		}
	default:
		return im.Wrong("kind", "is none of messages and amendments, which is what members send")
	}
	if m.ID.Time().Sub(now) > maxIDAhead {
		return im.Errorf(im.CodeClockSkew, "the id's time is more than %s ahead of the server's %s", maxIDAhead, now.UTC().Format(time.RFC3339))
	}
	return nil
}
