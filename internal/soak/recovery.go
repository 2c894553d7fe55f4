package soak

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Moment is one fault, by the machine's monotonic clock.
type Moment struct {
	Began  int64 `json:"began"`
	Healed int64 `json:"healed"`
	// Gone are the addresses of gateways that ended.
	Gone []string `json:"gone,omitempty"`
	What string   `json:"what"`
}

// Times are some durations.
type Times struct {
	N   int           `json:"n"`
	P50 time.Duration `json:"p50_ns"`
	Max time.Duration `json:"max_ns"`
}

func timesOf(all []time.Duration) Times {
	if len(all) == 0 {
		return Times{}
	}
	slices.Sort(all)
	return Times{len(all), all[len(all)/2], all[len(all)-1]}
}

// Recovery is how soon it went on after faults.
type Recovery struct {
	// Any is from a fault's beginning to the first acknowledgement of anything that
	// was sent after it; Conversation the same for each conversation, from when somebody
	// waited for an acknowledgement in it: a conversation in which nobody writes is not
	// one that cannot be written to.
	Any          Times `json:"any"`
	Conversation Times `json:"conversation"`
	// Back is from the end of a gateway until each of its devices is connected again.
	Back Times `json:"back"`
	// Whole is from a fault's end until every device has everything that was
	// acknowledged before.
	Whole Times `json:"whole"`
	// Never counts the devices and conversations that did not get there at all.
	Never int `json:"never"`
}

// Recover measures a run; of one whose server was put back, what followed the last
// return.
func Recover(run Run, faults []Moment) Recovery {
	var r Recovery
	if n := len(run.Returns); n > 0 {
		faults = slices.DeleteFunc(slices.Clone(faults), func(m Moment) bool { return m.Healed < run.Returns[n-1].Began })
		run = newLines(&run).line(n)
	}
	acks := acksOf(run.Histories)
	var any, each, back, whole []time.Duration
	for _, f := range faults {
		first := int64(0)
		for _, as := range acks {
			at, ok := as.after(f.Began)
			if !ok {
				continue
			}
			each = append(each, time.Duration(at-as.waited(f.Began)))
			if first == 0 || at < first {
				first = at
			}
		}
		if first != 0 {
			any = append(any, time.Duration(first-f.Began))
		}
		for _, h := range run.Histories {
			if took, was, ok := backAfter(h, f); was && ok {
				back = append(back, took)
			} else if was {
				r.Never++
			}
		}
	}
	held := heldOf(run, acks)
	for _, f := range faults {
		took, never := held.after(f.Healed)
		whole = append(whole, took)
		r.Never += never
	}
	r.Any, r.Conversation, r.Back, r.Whole = timesOf(any), timesOf(each), timesOf(back), timesOf(whole)
	return r
}

// ackOf is a message that was acknowledged.
type ackOf struct {
	invoked, acked int64
	seq            uint64
}

// acks are those of a conversation, in the order of the acknowledgements.
type acks []ackOf

func acksOf(histories [][]Record) map[string]acks {
	invoked := map[string]int64{}
	out := map[string]acks{}
	for _, h := range histories {
		for i := range h {
			switch rec := &h[i]; rec.Kind {
			case Invoked:
				invoked[rec.Hash] = rec.Mono
			case OK:
				out[rec.Conversation] = append(out[rec.Conversation], ackOf{invoked[rec.Hash], rec.Mono, rec.Seq})
			}
		}
	}
	for _, as := range out {
		slices.SortFunc(as, func(a, b ackOf) int { return cmp.Compare(a.acked, b.acked) })
	}
	return out
}

// after is when the first message that was sent after t was acknowledged.
func (as acks) after(t int64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(as, t, func(a ackOf, t int64) int { return cmp.Compare(a.acked, t) })
	for ; i < len(as); i++ {
		if as[i].invoked > t {
			return as[i].acked, true
		}
	}
	return 0, false
}

// waited is from when after t somebody waited for an acknowledgement.
func (as acks) waited(t int64) int64 {
	first := int64(math.MaxInt64)
	for _, a := range as {
		if a.acked > t {
			first = min(first, max(t, a.invoked))
		}
	}
	return first
}

// backAfter tells how long a device was away that was connected to what ended.
func backAfter(h []Record, f Moment) (took time.Duration, was, ok bool) {
	for i := range h {
		rec := &h[i]
		switch {
		case rec.Kind == Connected && rec.Mono <= f.Began:
			was = slices.Contains(f.Gone, rec.At)
		case rec.Kind == Disconnected && rec.Mono <= f.Began:
			was = false
		case rec.Kind == Connected && was:
			return time.Duration(rec.Mono - f.Began), true, true
		case rec.Mono > f.Began && !was:
			return 0, false, false
		}
	}
	return 0, was, false
}

// reach is how far a device has come in a conversation, over the time.
type reach struct {
	user, conversation string
	at                 []int64
	seq                []uint64
}

type held struct {
	acks    map[string]acks
	highest map[string][]uint64 // of acks, up to each
	devices []*reach
	member  *membership
}

func heldOf(run Run, all map[string]acks) *held {
	d := &held{acks: all, highest: map[string][]uint64{}, member: membershipOf(run.Views)}
	for c, as := range all {
		high := uint64(0)
		for _, a := range as {
			high = max(high, a.seq)
			d.highest[c] = append(d.highest[c], high)
		}
	}
	for _, h := range run.Histories {
		mine := map[string]*reach{}
		for i := range h {
			rec := &h[i]
			if rec.Kind != Applied {
				continue
			}
			x := mine[rec.Conversation]
			if x == nil {
				x = &reach{user: rec.User, conversation: rec.Conversation}
				mine[rec.Conversation] = x
				d.devices = append(d.devices, x)
			}
			if n := len(x.seq); n == 0 || rec.Seq > x.seq[n-1] {
				x.at, x.seq = append(x.at, rec.Mono), append(x.seq, rec.Seq)
			}
		}
	}
	return d
}

// after tells how long after t the last device had what was acknowledged before
// t, and how many never did. Who joins and leaves all the time is left out.
func (d *held) after(t int64) (took time.Duration, never int) {
	for _, x := range d.devices {
		as := d.acks[x.conversation]
		i, _ := slices.BinarySearchFunc(as, t, func(a ackOf, t int64) int { return cmp.Compare(a.acked, t) })
		if i == 0 || strings.HasPrefix(x.conversation, "grp:") && len(d.member.spans(x.user, x.conversation)) != 1 {
			continue
		}
		want := d.highest[x.conversation][i-1]
		if !d.member.may(x.user, x.conversation, want) {
			continue
		}
		k, _ := slices.BinarySearch(x.seq, want)
		if k == len(x.seq) {
			never++
			continue
		}
		took = max(took, time.Duration(x.at[k]-t))
	}
	return took, never
}

// Refused counts the messages that were refused for good although their sender
// was a member all the time.
func Refused(run Run) (n int) {
	if len(run.Returns) > 0 {
		run = newLines(&run).line(len(run.Returns))
	}
	member := membershipOf(run.Views)
	for _, h := range run.Histories {
		for i := range h {
			rec := &h[i]
			if rec.Kind != Failed {
				continue
			}
			if s := member.spans(rec.User, rec.Conversation); len(s) == 1 && s[0].to == 0 {
				n++
			}
		}
	}
	return n
}
