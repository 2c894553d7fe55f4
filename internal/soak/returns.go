package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Return is a time at which the server was put back to an older copy of itself.
// What was stored between the copy and the return is lost by that, and nothing
// else is; a history that went back goes on as another one, a line of its own.
type Return struct {
	What string `json:"what"`
	// CopyBegan and CopyEnded are when the copy was taken, by the machine's monotonic
	// clock: what was answered before it began is in it. Of is the line in which that
	// was: 0 is the first one, n the one that the nth return began.
	CopyBegan int64 `json:"copy_began"`
	CopyEnded int64 `json:"copy_ended"`
	Of        int   `json:"of"`
	// Over is when the server that knew more was gone. The one that was put back
	// began to start at Began, some time later, and served from Ready on.
	Over  int64 `json:"over"`
	Began int64 `json:"began"`
	Ready int64 `json:"ready"`
	// Stays: connections to the server outlive the return, as with the database of
	// many nodes. What a device is shown from Began on until it is reset may be of
	// either line, and what it says of its own may be refused; it forgets all of that.
	Stays bool `json:"stays,omitempty"`
	// End is the store as it was when its line was over, Kept as it was put back,
	// both read directly.
	End  View `json:"-"`
	Kept View `json:"-"`
}

// spotID is an entry in its place.
type spotID struct {
	conversation string
	seq          uint64
	id           string
}

// lines divides a run into the histories that followed each other, so that each
// is checked by itself: of a record it is known to which line it belongs, and of
// each line which records of earlier ones it has.
type lines struct {
	run *Run
	// of is the line of each record of each history, between those that stand between
	// two lines: see Return.Stays.
	of      [][]int
	between [][]bool
	// kept are the entries that each line began with; the first with none.
	kept []map[spotID]bool
}

func newLines(run *Run) *lines {
	l := &lines{run: run, kept: []map[spotID]bool{nil}}
	for i := range run.Returns {
		kept := map[spotID]bool{}
		for j := range run.Returns[i].Kept.Entries {
			e := &run.Returns[i].Kept.Entries[j]
			kept[spotID{e.Conversation, e.Seq, e.ID}] = true
		}
		l.kept = append(l.kept, kept)
	}
	for _, h := range run.Histories {
		of, between := l.place(h)
		l.of, l.between = append(l.of, of), append(l.between, between)
	}
	return l
}

// checkReturns checks each line, with what it has of earlier ones, and that the
// devices were told when one ended.
func checkReturns(run Run) *Report {
	l := newLines(&run)
	last := len(run.Returns)
	report := check(l.line(last))
	report.Returned, report.Resets = last, 0
	acked, sent := map[string]bool{}, 0
	for _, h := range run.Histories {
		for i := range h {
			switch h[i].Kind {
			case Invoked:
				sent++
			case OK:
				acked[h[i].Hash] = true
			case Reset:
				report.Resets++
			}
		}
	}
	report.Sent, report.WentBack = sent, len(acked)-report.Acked
	for n := range last {
		report.include(check(l.line(n)), fmt.Sprintf("before return %d: ", n+1))
	}
	l.checkTold(report)
	return report
}

// include takes over what was found in another line. What both have is found in
// both.
func (r *Report) include(other *Report, where string) {
	for i, n := range other.Broken {
		r.Broken[i] += n
	}
	for _, v := range other.Violations {
		same := func(o Violation) bool {
			return o.Invariant == v.Invariant && o.Conversation == v.Conversation && o.Seq == v.Seq && strings.HasSuffix(o.Detail, v.Detail)
		}
		if !slices.ContainsFunc(r.Violations, same) {
			v.Detail = where + v.Detail
			r.Violations = append(r.Violations, v)
		}
	}
	r.Lost, r.Gone = r.Lost+other.Lost, r.Gone+other.Gone
	r.Duplicated, r.Disordered = r.Duplicated+other.Duplicated, r.Disordered+other.Disordered
}

// at is the line in which something happened at the server.
func (l *lines) at(mono int64) int {
	n := 0
	for n < len(l.run.Returns) && mono >= l.run.Returns[n].Began {
		n++
	}
	return n
}

// bounds are from when and until when a line's server was there.
func (l *lines) bounds(n int) (from, to int64) {
	if n > 0 {
		from = l.run.Returns[n-1].Began
	}
	if n == len(l.run.Returns) {
		return from, 1<<63 - 1
	}
	return from, l.run.Returns[n].Over
}

// place tells the line of each record of a device. What the server answered
// belongs to the line of that time. What the device shows belongs to the line that
// it was reset to last; a device that was not reset in a line is in it from its
// beginning, as one may be that had nothing else.
func (l *lines) place(h []Record) (of []int, between []bool) {
	reset := map[int]bool{}
	for i := range h {
		if h[i].Kind == Reset {
			reset[l.at(h[i].Mono)] = true
		}
	}
	of, between = make([]int, len(h)), make([]bool, len(h))
	now := 0
	for i := range h {
		rec := &h[i]
		n := l.at(rec.Mono)
		if n > now && (!reset[n] || rec.Kind == Reset) {
			now = n
		}
		switch rec.Kind {
		case Received, Applied, Cursor, ReadSet, Head, Mark, Unread, Gap, Synced, Reset, Misbehaved:
			of[i] = now
		default:
			of[i] = n
		}
		between[i] = n > now && l.run.Returns[n-1].Stays && (of[i] < n || rec.Kind == Misbehaved)
	}
	return of, between
}

// holds tells whether a line began with the entry that a record names.
func (l *lines) holds(n int, rec *Record) bool {
	return rec.ID != "" && l.kept[n][spotID{rec.Conversation, rec.Seq, rec.ID}]
}

// survives tells whether line n has what was so in line of: a message that was
// lost and is sent again may come to stand in the same place by chance.
func (l *lines) survives(rec *Record, of, n int) bool {
	for n > of {
		r := &l.run.Returns[n-1]
		if of == r.Of {
			return rec.Mono < r.CopyBegan || l.holds(n, rec)
		}
		n = r.Of
	}
	return n == of
}

func lineName(n int) string { return fmt.Sprintf("line %d", n) }

// line is the run as it was in line n alone: the views are those of its end, and
// what earlier lines had and this one does not never was.
func (l *lines) line(n int) Run {
	out := Run{MinAck: l.run.MinAck, Crashes: l.run.Crashes}
	out.began, _ = l.bounds(n)
	for i, h := range l.run.Histories {
		out.Histories = append(out.Histories, l.history(h, l.of[i], l.between[i], n))
	}
	if n < len(l.run.Returns) {
		out.Views = []View{l.run.Returns[n].End}
	} else {
		out.Views = slices.Clone(l.run.Views)
	}
	final := ""
	for i := range out.Views {
		if out.Views[i].Source == SourceJournal {
			final = out.Views[i].Timeline
		}
	}
	for i := range out.Views {
		if v := &out.Views[i]; v.Timeline == final {
			v.Timeline = lineName(n)
		}
	}
	return out
}

// history is what a device saw of line n.
func (l *lines) history(h []Record, of []int, between []bool, n int) []Record {
	gone := l.gone(h, of, n)
	// Marks that a program sets may lie beyond all that the device has been shown since
	// it was reset: they are from before.
	shown := map[string]uint64{}
	var out []Record
	for i := range h {
		rec := h[i]
		if of[i] > n || between[i] {
			continue
		}
		rec.Timeline = lineName(n)
		if until, ok := gone[rec.Hash]; ok && rec.Hash != "" {
			switch rec.Kind {
			case Invoked, OK, Failed, Retry, Unknown, Resent:
				if i <= until {
					continue
				}
				if rec.Kind == Resent { // sent anew: nobody has it
					rec.Kind, rec.Seq = Invoked, 0
					delete(gone, rec.Hash)
				}
			}
		}
		switch rec.Kind {
		case Reset:
			clear(shown)
			out = append(out, l.anew(h, of, i, gone)...)
		case Misbehaved:
			if _, over := l.bounds(of[i]); rec.Mono >= over && strings.HasPrefix(rec.Code, toldOf) {
				continue // what the device said was of a history that is gone, and it could not know
			}
		case Invoked, Accepted, Resent, Retry, Unknown, Connected, Disconnected, Started, Recalling, Editing, Asked:
		case ReadSet:
			if of[i] != n || rec.Seq > shown[rec.Conversation] {
				continue
			}
		case Unread:
			if of[i] != n {
				continue
			}
		default:
			if !l.survives(&rec, of[i], n) {
				continue
			}
		}
		if rec.Kind == Applied {
			shown[rec.Conversation] = max(shown[rec.Conversation], rec.Seq)
		}
		out = append(out, rec)
	}
	return out
}

// sentAnew marks an Invoked of which nobody knows when it is sent: no program asked for it, or
// the one before it may still be under way.
const sentAnew = "sent anew"

// nodesHave is how long after its answer a node may have another request for a message,
// which a gateway gave to two.
const nodesHave = 30 * time.Second

// anew are the messages that a client may send once more when it is reset: their
// acknowledgement is gone, and it had not come so far as to apply them (SPEC §7.3:
// it keeps its outbox). Where nodes outlive a return, one of them may still have had
// the request, and store it in the history that is there now (SPEC §7.8). Nobody says
// when, and in which order.
func (l *lines) anew(h []Record, of []int, reset int, gone map[string]int) (out []Record) {
	applied, later := map[string]bool{}, map[string]bool{}
	for i := range h {
		switch {
		case h[i].Kind == Applied && i < reset:
			applied[h[i].Hash] = true
		case h[i].Kind == Resent && i > reset:
			later[h[i].Hash] = true // then it is known when
		}
	}
	began, _ := l.bounds(of[reset])
	had := func(acked int64) bool {
		n := of[reset]
		return n > 0 && l.run.Returns[n-1].Stays && acked > l.run.Returns[n-1].Over-int64(nodesHave)
	}
	for hash, until := range gone {
		if until > reset || applied[hash] && !had(h[until].Mono) || later[hash] {
			continue
		}
		rec := h[until]
		rec.Kind, rec.Seq, rec.Count, rec.Mono, rec.Code = Invoked, 0, 0, began, sentAnew
		out = append(out, rec)
	}
	return out
}

// gone are the messages that were acknowledged in an earlier line as what line n
// is without: up to where of the history nothing of them counts. Who sends one
// again, sends it anew.
func (l *lines) gone(h []Record, of []int, n int) map[string]int {
	gone, kept := map[string]int{}, map[string]bool{}
	for i := range h {
		hash := h[i].Hash
		if h[i].Kind != OK || of[i] > n || kept[hash] {
			continue
		}
		if l.survives(&h[i], of[i], n) {
			kept[hash] = true
		} else {
			gone[hash] = i
		}
	}
	return gone
}

// checkTold: who had something that the history has no more is reset, soon.
func (l *lines) checkTold(r *Report) {
	over := Run{}
	for n := range len(l.run.Returns) + 1 {
		began := int64(0)
		if n > 0 {
			began = l.run.Returns[n-1].Ready
		}
		over.Lines = append(over.Lines, Line{lineName(n), began})
	}
	for i, h := range l.run.Histories {
		named := slices.Clone(h)
		for k := range named {
			named[k].Timeline = lineName(l.of[i][k])
		}
		over.Histories = append(over.Histories, named)
	}
	c := &checker{run: &over, report: r}
	c.checkLines()
	for i, h := range l.run.Histories {
		l.checkNeedless(r, h)
		for n := range l.run.Returns {
			l.checkReset(r, h, l.of[i], n+1)
		}
	}
}

// checkNeedless: nobody is reset in a history that did not go back, and nobody
// twice for the same return, unless by two answers on one connection.
func (l *lines) checkNeedless(r *Report, h []Record) {
	told, since := 0, false // the line of the last reset; a connection ended since
	for i := range h {
		rec := &h[i]
		switch n := l.at(rec.Mono); {
		case rec.Kind == Disconnected:
			since = true
		case rec.Kind != Reset:
		case n == told && (n == 0 || since):
			r.add(NeedlessReset, "", 0, "%s/%s was told to forget everything after return %d, once more or without need", rec.User, rec.Device, n)
		default:
			told, since = n, false
		}
	}
}

// checkReset: a device that had something which line n has not, and was there in
// line n for long enough, was reset in it.
func (l *lines) checkReset(r *Report, h []Record, of []int, n int) {
	from, to := l.bounds(n)
	var had *Record
	for i := range h {
		rec := &h[i]
		switch {
		case rec.Kind == Reset && rec.Mono < from:
			had = nil
		case rec.Kind == Reset && rec.Mono < to:
			return
		case rec.Kind == Applied && rec.Mono < from && !l.survives(rec, of[i], n):
			had = rec
		}
	}
	if had == nil {
		return
	}
	soon := l.run.Returns[n-1].Ready + int64(toldWithin)
	there := slices.IndexFunc(h, func(rec Record) bool {
		return rec.Mono > soon && rec.Mono < to && (rec.Kind == Applied || rec.Kind == Synced)
	})
	if there >= 0 {
		r.add(NotReset, had.Conversation, had.Seq, "%s/%s had %s and was not told within %v that it is gone by return %d",
			had.User, had.Device, had.ID, time.Duration(toldWithin), n)
	}
}
