package soak

import (
	"cmp"
	"slices"
)

// applied is how far a device has come in a conversation.
type applied struct {
	last   uint64
	seqs   map[uint64]struct{}
	hashes map[string]uint64
}

// checkApplied follows one device: each entry once, in order, without a hole. A
// process that begins again may be told once more what the one before was told
// last: all of that, in the same order, before anything new.
func (c *checker) checkApplied(h []Record) {
	runs := map[string]*applied{}
	told := &telling{at: map[spotOf]int{}}
	for i := range h {
		rec := &h[i]
		switch rec.Kind {
		case Reset:
			clear(runs)
			told = &telling{at: map[spotOf]int{}}
		case Started:
			told.start()
		case Applied:
			repeated, wrong := told.repeat(rec)
			if wrong != "" {
				c.report.add(Misordered, rec.Conversation, rec.Seq, "%s/%s began again: %s", rec.User, rec.Device, wrong)
			}
			if repeated {
				c.report.ToldAgain++
				c.report.MostAgain = max(c.report.MostAgain, told.again)
				if told.again == mostToldAgain+1 {
					c.report.add(AppliedTwice, rec.Conversation, rec.Seq, "%s/%s began again, and was told more than the last %d once more", rec.User, rec.Device, mostToldAgain)
				}
				continue
			}
			a := runs[rec.Conversation]
			if a == nil {
				a = &applied{last: rec.Seq - 1, seqs: map[uint64]struct{}{}, hashes: map[string]uint64{}}
				runs[rec.Conversation] = a
			}
			c.apply(a, rec)
		case Gap:
			// Who comes back to a group begins anew there.
			if rec.Timeline == c.final && !c.member.begins(rec.User, rec.Conversation, rec.Count+1) {
				c.report.add(Hole, rec.Conversation, rec.Seq, "%s/%s went on behind %d", rec.User, rec.Device, rec.Count)
			}
		case Cursor:
			a := runs[rec.Conversation]
			if a != nil && rec.Timeline == c.final && rec.Seq > a.last && !c.theirs(rec.User, rec.Conversation, a.last+1, rec.Seq) {
				a.last = rec.Seq // the rest amends what was applied
			}
			if a == nil || rec.Seq > a.last {
				c.report.add(Hole, rec.Conversation, rec.Seq, "%s/%s claims to hold what it has not applied", rec.User, rec.Device)
			}
		}
	}
}

func (c *checker) apply(a *applied, rec *Record) {
	by := rec.User + "/" + rec.Device
	_, again := a.seqs[rec.Seq]
	other, moved := a.hashes[rec.Hash]
	switch {
	case again:
		c.report.add(AppliedTwice, rec.Conversation, rec.Seq, "%s applied it again", by)
	case moved && isMessage(rec.Hash):
		c.report.add(AppliedTwice, rec.Conversation, rec.Seq, "%s applied message %s at %d before", by, rec.ID, other)
	case rec.Seq < a.last:
		c.report.add(Misordered, rec.Conversation, rec.Seq, "%s applied it after %d", by, a.last)
	case rec.Seq > a.last+1 && !c.mayJump(rec, a.last):
		c.report.add(Hole, rec.Conversation, a.last+1, "%s applied %d after %d", by, rec.Seq, a.last)
	}
	a.seqs[rec.Seq] = struct{}{}
	a.hashes[rec.Hash] = rec.Seq
	a.last = max(a.last, rec.Seq)
}

// mayJump: only what the user may not see is passed over. Who comes back to a
// group begins anew there, even if the end of the earlier time was missed.
func (c *checker) mayJump(rec *Record, last uint64) bool {
	if rec.Timeline != c.final {
		return false // who was a member then is not known
	}
	return c.member.begins(rec.User, rec.Conversation, rec.Seq) ||
		!c.theirs(rec.User, rec.Conversation, last+1, rec.Seq-1)
}

// checkRealTime: who sends after an acknowledgement stands after it.
func (c *checker) checkRealTime() {
	stored := func(s *send) bool { return s.stored != 0 }
	for conv, sends := range byConversation(c.order, stored) {
		acked := slices.DeleteFunc(slices.Clone(sends), func(s *send) bool { return s.acked == 0 })
		slices.SortFunc(acked, func(a, b *send) int { return cmp.Compare(a.acked, b.acked) })
		slices.SortFunc(sends, byInvoked)
		var before *send // the one that stands last of those acknowledged before
		for _, s := range sends {
			for len(acked) > 0 && acked[0].acked < s.invoked {
				if before == nil || acked[0].stored > before.stored {
					before = acked[0]
				}
				acked = acked[1:]
			}
			if before != nil && s.stored < before.stored {
				c.report.add(RealTime, conv, s.stored, "%v was sent after %v had been acknowledged as %d", s, before, before.stored)
			}
		}
	}
}

// checkSenderOrder: what a device sent in a conversation stands in the order
// of sending, also those that were turned away for now and sent again (SPEC §5.9).
func (c *checker) checkSenderOrder() {
	type line struct{ user, device, conversation string }
	lines := map[line][]*send{}
	for _, s := range c.order {
		if s.stored != 0 && !s.anew {
			l := line{s.user, s.device, s.conversation}
			lines[l] = append(lines[l], s)
		}
	}
	for l, sends := range lines {
		slices.SortFunc(sends, byInvoked)
		for i := 1; i < len(sends); i++ {
			if a, b := sends[i-1], sends[i]; a.stored > b.stored {
				c.report.add(SenderOrder, l.conversation, b.stored, "%v was sent after the one at %d", b, a.stored)
			}
		}
	}
}

// shown is a moment at which something was known to exist.
type shown struct {
	at  int64
	seq uint64
	ack bool
	by  string
}

// checkHeads: an answer shows everything that had been acknowledged or shown,
// to anybody, before it was asked for.
func (c *checker) checkHeads() {
	type key struct{ timeline, conversation string }
	known := map[key][]shown{}
	asked := map[key][]*Record{}
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			k := key{rec.Timeline, rec.Conversation}
			by := rec.User + "/" + rec.Device
			switch rec.Kind {
			case OK:
				known[k] = append(known[k], shown{rec.Mono, rec.Seq, true, by})
			case Received, Applied, Head:
				known[k] = append(known[k], shown{rec.Mono, rec.Seq, false, by})
			}
			if rec.Kind == Head && rec.Since != 0 {
				asked[k] = append(asked[k], rec)
			}
		}
	}
	for k, questions := range asked {
		facts := known[k]
		slices.SortFunc(facts, func(a, b shown) int { return cmp.Compare(a.at, b.at) })
		slices.SortFunc(questions, func(a, b *Record) int { return cmp.Compare(a.Since, b.Since) })
		var floor shown
		for _, q := range questions {
			for len(facts) > 0 && facts[0].at < q.Since {
				if facts[0].seq > floor.seq {
					floor = facts[0]
				}
				facts = facts[1:]
			}
			if q.Seq >= floor.seq || !c.member.mayAny(q.User, k.conversation, q.Seq+1, floor.seq) {
				continue // who left is answered as far as they may see
			}
			broken := HeadBack
			if floor.ack {
				broken = StaleRead
			}
			c.report.add(broken, k.conversation, q.Seq, "%s/%s was answered so after %s had seen %d", q.User, q.Device, floor.by, floor.seq)
		}
	}
}
