package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// markHorizon: a mark sent this long before an answered Ping is safe with the
// server, which writes marks within seconds.
const markHorizon = 10 * time.Second

// maxMarksDue sends the marks at once when so many conversations have moved.
const maxMarksDue = 256

// marks is the part of the core that tells what was received and read: a
// little late, so that many become one. SPEC §6.2, §6.3.
type marks struct {
	markDue map[*conv]struct{}
	marksAt time.Time
}

func (m *marks) init() { m.markDue = map[*conv]struct{}{} }

// markLater notes that a mark of the conversation moved.
func (k *core) markLater(cv *conv, delay time.Duration) {
	cv.rec.MarkedAtMs = k.o.now().UnixMilli()
	k.markDue[cv] = struct{}{}
	k.marksSoon(delay)
}

func (k *core) marksSoon(delay time.Duration) {
	if k.state != StateConnected {
		return
	}
	at := k.o.now()
	if len(k.markDue) < maxMarksDue && k.closeAt.IsZero() { // who closes waits for no others
		at = at.Add(delay)
	}
	k.marksAt = earliest(k.marksAt, at)
}

// flushMarks sends what moved. Everything in the records is stored by now.
func (k *core) flushMarks() {
	k.marksAt = time.Time{}
	if k.state != StateConnected {
		return
	}
	if k.proof != nil { // perhaps of a history that the server does not have
		k.marksAt = k.o.now().Add(k.o.readDelay)
		return
	}
	for cv := range k.markDue {
		if k.link.full() {
			k.marksAt = k.o.now().Add(k.o.readDelay)
			return
		}
		delete(k.markDue, cv)
		r := &cv.rec
		if k.convs[r.ID] != cv {
			continue
		}
		if r.Received > cv.sentReceived {
			cv.sentReceived = r.Received
			k.send(wire.NewClientFrame(&wire.Received{Conversation: r.ID, Seq: r.Received}))
		}
		if r.Read > cv.sentRead {
			cv.sentRead = r.Read
			k.send(wire.NewClientFrame(&wire.Read{Conversation: r.ID, Seq: r.Read}))
			if r.unnamed() {
				k.askMembership(cv) // the answer tells what is unread as well
			}
		}
	}
}

// repeatMarks sends again, on a new connection, those the server may have lost.
func (k *core) repeatMarks() {
	for _, cv := range k.convs {
		if cv.rec.MarkedAtMs >= k.meta.SettledAtMs && cv.rec.MarkedAtMs > 0 {
			cv.sentReceived, cv.sentRead = 0, 0
			k.markDue[cv] = struct{}{}
		}
	}
	if len(k.markDue) > 0 {
		k.marksSoon(k.o.readDelay)
	}
}

// readUpTo moves the user's own read mark.
func (k *core) readUpTo(cv *conv, seq, count uint64) {
	if seq <= cv.rec.Read {
		return
	}
	cv.rec.Read, cv.rec.ReadCount = seq, max(cv.rec.ReadCount, count)
	cv.rec.pass(seq)
	cv.rec.passRecalled(seq)
	cv.rec.passMentions(seq)
	k.markIsGone(cv)
	k.touch(cv, false)
}

// markRead is the program's MarkRead: stored, then told.
func (k *core) markRead(cv *conv, seq uint64) error {
	if seq > cv.rec.Head {
		return invalid("seq %d is beyond the last entry, %d", seq, cv.rec.Head)
	}
	if seq = cv.rec.before(min(seq, cv.rec.High) + 1); seq <= cv.rec.Read {
		return nil
	}
	count, known := k.countAt(cv, seq)
	k.readUpTo(cv, seq, count)
	if !known {
		k.askCount(cv, seq)
	}
	k.markLater(cv, k.o.readDelay)
	k.touch(cv, true)
	return nil
}

// onReceipt takes over somebody's marks; the user's own come from other devices.
func (k *core) onReceipt(f *wire.Receipt) {
	cv := k.convs[f.Conversation]
	if cv == nil {
		return
	}
	r := &cv.rec
	if f.User == k.meta.User {
		if f.Read > r.Read {
			count, known := k.countAt(cv, f.Read)
			if !known && f.ReadCount > 0 && !r.amidTimes(f.Read) {
				count, known = f.ReadCount, true
			}
			k.readUpTo(cv, f.Read, count)
			if !known {
				k.askCount(cv, f.Read)
			}
			cv.sentRead = max(cv.sentRead, f.Read)
			if r.unnamed() {
				k.askMembership(cv)
			}
		}
		cv.ownReceived = max(cv.ownReceived, f.Received, r.Received, r.Read)
		k.touch(cv, false)
		// All that is known, not the frame's: only the latest of these events waits.
		e := &ReceiptEvent{Conversation: f.Conversation, User: f.User, Received: cv.ownReceived, Read: r.Read}
		k.post(passingKey{"receipt", f.Conversation, f.User}, e)
	} else if peerOf(f.Conversation, k.meta.User) == f.User && f.User != "" {
		k.peerMarks(cv, f.User, f.Received, f.Read)
	}
}

// peerMarks takes over the marks of a dm's other side, as far as they are news.
func (k *core) peerMarks(cv *conv, user string, received, read uint64) {
	r := &cv.rec
	received = max(received, read)
	if received <= r.PeerReceived && read <= r.PeerRead {
		return
	}
	r.PeerReceived, r.PeerRead = max(r.PeerReceived, received), max(r.PeerRead, read)
	k.touch(cv, false)
	e := &ReceiptEvent{Conversation: r.ID, User: user, Received: r.PeerReceived, Read: r.PeerRead}
	k.post(passingKey{"receipt", r.ID, user}, e)
}

// countAt is the running count at seq, if it is known here: the one of the last entry
// up to it that amends nothing.
func (k *core) countAt(cv *conv, seq uint64) (uint64, bool) {
	r := &cv.rec
	switch {
	case seq == cv.countedTo:
		return r.HeadCount, true
	case seq < r.Low || seq > r.High:
		return r.ReadCount, false
	case seq == r.High && r.lastIsKept():
		return r.Last.Count, true
	}
	var last *wire.Entry
	for _, e := range k.batch.Entries {
		if e.Conversation == r.ID && e.Seq <= seq && e.Seq >= r.Low && e.Seq > last.GetSeq() {
			last = e
		}
	}
	es, err := k.o.store.Entries(context.Background(), r.ID, max(r.Low, last.GetSeq()), seq, 1)
	if err == nil && len(es) > 0 {
		last = es[0]
	}
	// What lies between and is not the user's may count.
	if last == nil || r.theirs(last.Seq, seq) != seq-last.Seq+1 {
		return r.ReadCount, false
	}
	return last.Count, true
}

// askCount asks the server for the count of a mark that is not known here, once there
// is a connection.
func (k *core) askCount(cv *conv, seq uint64) {
	cv.uncounted = true
	if k.state == StateConnected {
		k.pull(&request{kind: reqCount, cv: cv, from: seq, mark: seq}, false, 1)
	}
}

func (cv *conv) unread() uint64 {
	not := cv.rec.ReadCount + cv.rec.hidden() + uint64(len(cv.rec.Recalled)) + cv.rec.RecalledMore
	return cv.rec.HeadCount - min(not, cv.rec.HeadCount)
}
