package filter

import (
	"context"
	"io"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// maxWaiting is how many reports wait to be written.
	maxWaiting = 1024
	// perDay is how many messages of one author are reported within a day.
	perDay = 100
	// tries is how often is tried to write one, writeTime bounds each.
	tries     = 5
	writeTime = 10 * time.Second
)

// Report has moderators told that a stored entry breaks a rule. It does not wait.
func (s *Service) Report(e im.Entry, r *im.FilterRule) {
	var random [10]byte
	if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
		s.o.Logger.Error("filter: a message that breaks a rule was not reported", "conversation", e.Conversation, "seq", e.Seq, "err", err)
		return
	}
	now := s.o.Now()
	seq := e.Seq
	if e.Kind == im.EntryEdit || e.Kind == im.EntryStream {
		seq = e.Target
	}
	report := im.Report{
		ID: im.NewMessageID(now, random), Conversation: e.Conversation, Seq: seq, Author: e.Sender, Reason: im.ReportFilter,
		Text: "breaks the rule: " + r.Pattern, Said: saidBy(e.Body), Created: now, State: im.ReportOpen,
	}
	select {
	case s.reports <- report:
	default:
		s.o.Logger.Error("filter: too many reports wait, one is lost", "conversation", e.Conversation, "seq", e.Seq)
	}
}

func saidBy(body []byte) string {
	var w wire.Entry
	if entrycodec.Decode(body, &w) != nil {
		return ""
	}
	return entrycodec.Said(w.GetContent())
}

// write writes reports, one after the other, until Close, and then what waits.
func (s *Service) write() {
	for {
		select {
		case r := <-s.reports:
			s.writeOne(r)
		case <-s.life.Done():
			s.drain()
			return
		}
	}
}

// drain writes what waits at Close, as far as that is done within writeTime.
func (s *Service) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	for {
		select {
		case r := <-s.reports:
			s.written(r, s.put(ctx, r))
		default:
			return
		}
	}
}

// writeOne writes a report, and tries again where that may help.
func (s *Service) writeOne(r im.Report) {
	var err error
	for n := range tries {
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		err = s.put(ctx, r)
		cancel()
		if code := im.CodeOf(err); code != im.CodeUnavailable && code != im.CodeInternal {
			break
		}
		select {
		case <-time.After(time.Second << n):
		case <-s.life.Done():
			select {
			case s.reports <- r: // for drain
			default:
				s.written(r, err)
			}
			return
		}
	}
	s.written(r, err)
}

func (s *Service) put(ctx context.Context, r im.Report) error {
	return s.o.Reports.PutReport(ctx, r, r.Created.Add(-24*time.Hour), perDay)
}

// written notes in the log that a report is lost. It is not where the author has many in the
// queue already, or is gone.
func (s *Service) written(r im.Report, err error) {
	switch im.CodeOf(err) {
	case "", im.CodeRateLimited, im.CodeNotFound, im.CodeAccountDeleted:
		return
	}
	s.o.Logger.Error("filter: a message that breaks a rule was not reported", "conversation", r.Conversation, "seq", r.Seq, "err", err)
}
