package app

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/remote"
	"github.com/skein-im/skein/internal/tracing"
)

// Tracing stands around the seams: each part of the server is wrapped where it is handed to
// the next one, if tracing.endpoint is set, and is itself otherwise. So no part knows of it,
// and nothing lies in a message's way when it is off.

// startTracing begins to trace, if that is set.
func (a *App) startTracing(version string) {
	if c := &a.cfg.Tracing; c.Endpoint != "" {
		a.tracer = tracing.New(tracing.Options{Endpoint: c.Endpoint, Sample: c.Sample, Node: a.cfg.Node.Name, Version: version, Logger: a.log, Registerer: a.metrics})
	}
}

// tracedAsk is what the gateway asks.
func (a *App) tracedAsk(l im.Logic) im.Logic {
	if a.tracer == nil {
		return l
	}
	return &tracedLogic{l, a.tracer, tracing.Receive, "", false}
}

// tracedLogic tells of sends from their arrival to their answer.
type tracedLogic struct {
	im.Logic
	t            *tracing.Tracer
	part, parent string
	here         bool
}

func (l *tracedLogic) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	l.Logic.Send(ctx, from, m, replied(l.t, tracing.Span{Message: m.ID, Part: l.part, Parent: l.parent, ParentHere: l.here}, reply))
}

// replied tells of a message when it is answered.
func replied(t *tracing.Tracer, s tracing.Span, reply func(im.Ack, error)) func(im.Ack, error) {
	if !t.Samples(s.Message) {
		return reply
	}
	return telling(t, s, reply)
}

// telling is apart from replied so that what is not sampled is not kept either.
func telling(t *tracing.Tracer, s tracing.Span, reply func(im.Ack, error)) func(im.Ack, error) {
	s.Start = time.Now()
	return func(ack im.Ack, err error) {
		s.End, s.Seq, s.Code = time.Now(), ack.Seq, im.CodeOf(err)
		t.Tell(s)
		reply(ack, err)
	}
}

// tracedSends is messaging as it is sent to, by whichever door.
type tracedSends struct {
	*messaging.Service
	t *tracing.Tracer
}

func (s *tracedSends) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	span := tracing.Span{Message: m.ID, Part: tracing.Send}
	if from.Connection != "" { // a gateway tells of it, too
		span.Parent = tracing.Receive
	}
	s.Service.Send(ctx, from, m, replied(s.t, span, reply))
}

// tracedSender is messaging as it is sent to.
func (a *App) tracedSender() api.Messages {
	if a.tracer == nil {
		return a.messaging
	}
	return &tracedSends{a.messaging, a.tracer}
}

// tracedJournal is the journal that messaging appends to.
func (a *App) tracedJournal() im.Journal {
	if a.tracer == nil {
		return a.journal
	}
	return &tracedAppends{a.journal, a.tracer}
}

type tracedAppends struct {
	im.Journal
	t *tracing.Tracer
}

func (j *tracedAppends) Append(ctx context.Context, batch []im.Append, out []im.Appended) error {
	began := time.Now()
	err := j.Journal.Append(ctx, batch, out)
	ended := time.Now()
	for i := range batch {
		if j.t.Samples(batch[i].Entry.ID) {
			s := tracing.Span{Message: batch[i].Entry.ID, Part: tracing.Append, Parent: tracing.Send, ParentHere: true, Start: began, End: ended, Code: im.CodeOf(err)}
			if err == nil {
				s.Seq = out[i].Seq
			}
			j.t.Tell(s)
		}
	}
	return err
}

// tracedDeliverer is what messaging hands stored entries to.
func (a *App) tracedDeliverer(d messaging.Deliverer) messaging.Deliverer {
	if a.tracer == nil {
		return d
	}
	return &tracedDeliveries{d, a.tracer}
}

type tracedDeliveries struct {
	messaging.Deliverer
	t *tracing.Tracer
}

func (d *tracedDeliveries) Deliver(batch []im.Delivery) {
	began := time.Now()
	d.Deliverer.Deliver(batch)
	ended := time.Now()
	for i := range batch {
		if e := &batch[i].Entry; d.t.Samples(e.ID) {
			d.t.Tell(tracing.Span{Message: e.ID, Part: tracing.Deliver, Parent: tracing.Send, ParentHere: true, Start: began, End: ended, Seq: e.Seq})
		}
	}
}

// tracedGateway is this process's gateway as other nodes push to it.
func (a *App) tracedGateway() remote.Gateway {
	if a.tracer == nil {
		return a.gateway
	}
	return &tracedHere{a.gateway, tracedPushes{a.gateway, a.tracer}}
}

// tracedDispatch is the gateways as they are pushed to by this process: alone, its own.
// Among others each tells for itself.
func (a *App) tracedDispatch(d im.Dispatch) im.Dispatch {
	if a.tracer == nil || a.node != nil {
		return d
	}
	return tracedPushes{d, a.tracer}
}

type tracedPushes struct {
	im.Dispatch
	t *tracing.Tracer
}

func (d tracedPushes) ToUsers(users []im.UserID, p im.Parcel) {
	began := time.Now()
	d.Dispatch.ToUsers(users, p)
	d.tell(began, len(users), p.Entries)
}

func (d tracedPushes) ToGroup(c im.ConversationID, p im.Parcel) {
	began := time.Now()
	d.Dispatch.ToGroup(c, p)
	d.tell(began, 0, p.Entries)
}

func (d tracedPushes) tell(began time.Time, users int, entries []im.Entry) {
	for i := range entries {
		if e := &entries[i]; d.t.Samples(e.ID) {
			d.t.Tell(tracing.Span{Message: e.ID, Part: tracing.Push, Parent: tracing.Receive, Start: began, End: time.Now(), Seq: e.Seq, Users: users})
		}
	}
}

// tracedHere is the gateway with its pushes traced.
type tracedHere struct {
	*gateway.Gateway
	pushes tracedPushes
}

func (g *tracedHere) ToUsers(users []im.UserID, p im.Parcel)   { g.pushes.ToUsers(users, p) }
func (g *tracedHere) ToGroup(c im.ConversationID, p im.Parcel) { g.pushes.ToGroup(c, p) }
