// Package later sends messages at the time that their users chose.
//
// A scheduled message is a row of the directory with the message whole, its id included.
// It goes three steps, each of which a crash may follow:
//
//  1. when its time has come the row says so (claim): from then on its user can neither
//     change nor cancel it, so nobody is told that one was cancelled which is sent;
//  2. it is sent as its user's, and may be refused as any message is;
//  3. the row is removed, or says why it was refused for good.
//
// Whoever comes next begins at 2 with every row that was claimed. The id makes that
// harmless: (sender, id) is stored once in a conversation. So no node has to know what
// another one did, and a lease is only there to save work.
//
// Messages of one user to one conversation are sent one after the other, in the order of
// their times; where one is refused for now, those behind it wait for the next round.
//
// It must not know stores, sockets or what a message says.
//
// Goroutines: one, from Start to Close, that looks every second, and while it sends at
// most maxSenders more. It takes no lock.
package later

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// MaxOfUser is how many scheduled messages a user may have, those that failed too.
	MaxOfUser = 100
	// MaxAhead is how far ahead one may be scheduled.
	MaxAhead = 366 * 24 * time.Hour
)

// Store keeps scheduled messages. internal/directory is one.
type Store interface {
	// Schedule keeps one with the promise of its notice. made is false where the user has
	// one with its id, which is kept; too_large where they have as many as most.
	Schedule(ctx context.Context, s im.Scheduled, most int, notice im.Promise) (kept im.Scheduled, made bool, err error)
	// ChangeScheduled puts what change makes of one in its place; too_late when its time
	// has come, not_found when there is none.
	ChangeScheduled(ctx context.Context, u im.UserID, id im.MessageID, notice im.Promise, change func(*im.Scheduled) error) (im.Scheduled, error)
	// CancelScheduled removes one; its errors are those of ChangeScheduled.
	CancelScheduled(ctx context.Context, u im.UserID, id im.MessageID, notice im.Promise) error
	// Scheduled returns one of a user's; not_found when there is none.
	Scheduled(ctx context.Context, u im.UserID, id im.MessageID) (im.Scheduled, error)
	// ScheduledPage returns at most limit of a user behind a place, by their time.
	ScheduledPage(ctx context.Context, u im.UserID, after im.ScheduledPlace, limit int) ([]im.Scheduled, error)
}

// Due is what the one who sends asks of the store, and tells it.
type Due interface {
	// AnyDue tells whether one's time has come.
	AnyDue(ctx context.Context, now time.Time) (bool, error)
	// ClaimDue notes of all whose time has come that it has.
	ClaimDue(ctx context.Context, now time.Time) error
	// Claimed returns at most limit of those behind a place, in their order.
	Claimed(ctx context.Context, after im.ScheduledPlace, limit int) ([]im.Scheduled, error)
	// FinishScheduled removes one that was sent.
	FinishScheduled(ctx context.Context, u im.UserID, id im.MessageID) error
	// FailScheduled notes why one was refused for good, with the promise of its notice.
	FailScheduled(ctx context.Context, u im.UserID, id im.MessageID, code im.Code, text string, notice im.Promise) error
}

// Options of a Service. Those that are not told to be optional must be set.
type Options struct {
	Store Store
	Due   Due
	Lease Lease
	// MaySend decides whether a user may write in a conversation now.
	MaySend func(ctx context.Context, u im.UserID, c im.ConversationID) error
	// Send sends a message as im.Logic does.
	Send func(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error))
	// Name notes that a message which is about to be kept names uploads, if it does, or tells
	// which of them are not its sender's. Doubt notes that one may name them no more: whoever
	// throws uploads away asks then what is kept. Both may be called for nothing.
	Name, Doubt func(ctx context.Context, u im.UserID, m im.Message) error
	// Drive has what is promised to a conversation carried out, soon.
	Drive func(ctx context.Context, c im.ConversationID) error
	// Node names this process. Optional.
	Node string
	// Alone: no other process has the store.
	Alone  bool
	Now    func() time.Time // optional
	Random io.Reader        // optional
	Logger *slog.Logger     // optional
}

// Service schedules messages and sends them. Use New.
type Service struct {
	worker
	o Options
}

// New makes a service; Start begins to send.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.look, s.what, s.log = s.Look, "scheduled messages", o.Logger
	s.begin(sendsName, o.Lease, o.Node, o.Alone)
	return s
}

// notice tells a user's own devices, in their feed, to read what is scheduled anew.
func (s *Service) notice(u im.UserID, c im.ConversationID) (im.Promise, error) {
	var random [10]byte
	if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
		return im.Promise{}, fmt.Errorf("random: %w", err)
	}
	return im.Promise{
		ID: im.NewMessageID(s.o.Now(), random), Conversation: im.Me(u), Sender: u,
		Event: im.Event{Type: im.EventScheduledChanged, Conversation: c},
	}, nil
}

// drive carries a notice out. The outbox counts a failure and repeats it.
func (s *Service) drive(ctx context.Context, u im.UserID) { _ = s.o.Drive(ctx, im.Me(u)) }

// checkTime refuses what is too far ahead. What is over means at once.
func (s *Service) checkTime(at time.Time) error {
	if at.Sub(s.o.Now()) > MaxAhead {
		return im.Wrong("atMs", "is more than 366 days ahead")
	}
	return nil
}

// Schedule keeps a message to be sent at a time. The same one again is the same; another
// one with its id is id_conflict. Who may not write there now is refused, unless they
// are muted, which ends.
func (s *Service) Schedule(ctx context.Context, u im.UserID, m im.Message, at time.Time) error {
	switch m.Conversation.Kind() {
	case im.KindDM, im.KindGroup:
	default:
		return im.Errorf(im.CodePermissionDenied, "me feeds take entries from the server only")
	}
	if err := s.checkTime(at); err != nil {
		return err
	}
	if err := s.o.MaySend(ctx, u, m.Conversation); err != nil && im.CodeOf(err) != im.CodeMuted {
		return err
	}
	notice, err := s.notice(u, m.Conversation)
	if err != nil {
		return err
	}
	if err := s.o.Name(ctx, u, m); err != nil {
		return im.In("message", err)
	}
	kept, made, err := s.o.Store.Schedule(ctx, im.Scheduled{User: u, Message: m, At: at, Created: s.o.Now()}, MaxOfUser, notice)
	switch {
	case err != nil:
		return err
	case made:
		s.drive(ctx, u)
	case kept.Message.Conversation != m.Conversation || kept.Message.Hash != m.Hash || kept.At.UnixMilli() != at.UnixMilli():
		return im.Errorf(im.CodeIdConflict, "this id was used for another scheduled message")
	}
	return nil
}

// Change gives a scheduled message another time (zero: it stays) or other words (nil:
// they stay), to the same conversation. One that had failed waits again.
func (s *Service) Change(ctx context.Context, u im.UserID, id im.MessageID, m *im.Message, at time.Time) error {
	if err := s.checkTime(at); err != nil {
		return err
	}
	notice, err := s.notice(u, "")
	if err != nil {
		return err
	}
	if m != nil {
		// Before the change, so that a crash leaves nothing that is kept and not named.
		if err := s.doubt(ctx, u, id); err != nil {
			return err
		}
		if err := s.o.Name(ctx, u, *m); err != nil {
			return im.In("message", err)
		}
	}
	_, err = s.o.Store.ChangeScheduled(ctx, u, id, notice, func(was *im.Scheduled) error {
		if m != nil {
			if m.Conversation != was.Message.Conversation {
				return im.Wrong("message.conversation", "must be the one that it was scheduled for")
			}
			was.Message = *m
		}
		if !at.IsZero() {
			was.At = at
		}
		return nil
	})
	if err == nil {
		s.drive(ctx, u)
	}
	return err
}

// Cancel removes a scheduled message.
func (s *Service) Cancel(ctx context.Context, u im.UserID, id im.MessageID) error {
	notice, err := s.notice(u, "")
	if err != nil {
		return err
	}
	if err := s.doubt(ctx, u, id); err != nil {
		return err
	}
	if err := s.o.Store.CancelScheduled(ctx, u, id, notice); err != nil {
		return err
	}
	s.drive(ctx, u)
	return nil
}

// doubt has the uploads that a scheduled message names looked at anew.
func (s *Service) doubt(ctx context.Context, u im.UserID, id im.MessageID) error {
	was, err := s.o.Store.Scheduled(ctx, u, id)
	if im.CodeOf(err) == im.CodeNotFound {
		return nil // the store says so, in its own way
	}
	if err != nil {
		return err
	}
	return s.o.Doubt(ctx, u, was.Message)
}

// List returns at most limit scheduled messages of a user behind a place, by their time.
func (s *Service) List(ctx context.Context, u im.UserID, after im.ScheduledPlace, limit int) ([]im.Scheduled, error) {
	return s.o.Store.ScheduledPage(ctx, u, after, limit)
}
