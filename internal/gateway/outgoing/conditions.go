package outgoing

// Condition is something about a queue that may be waited for the end of. It
// runs under mu.
type Condition func(o *Queue) bool

// Held: registered, before the Welcome.
func Held(o *Queue) bool { return o.hold }

// Ending: nothing more is taken, but answers to sends if it ends in peace.
func Ending(o *Queue) bool { return o.ending }

// Over: nothing at all is taken.
func Over(o *Queue) bool { return o.closed || o.ending && !o.graceful }

// Closed: nothing is written any more, but what a writer has in its hands.
func Closed(o *Queue) bool { return o.closed }

// InUse: it is not closed, or somebody still writes.
func InUse(o *Queue) bool { return !o.closed || o.writing }

// SendsOpen: some sends have no answer.
func SendsOpen(o *Queue) bool { return o.inflight > 0 && !o.closed }

// CallsOpen: some Calls have no answer.
func CallsOpen(o *Queue) bool { return o.calling > 0 && !o.closed }

// MarksOpen: some marks have no answer.
func MarksOpen(o *Queue) bool { return o.marking > 0 && !o.closed }

// Full: more waits to be written than may.
func Full(o *Queue) bool { return !o.closed && o.size() > o.sh.o.QueueBytes }

// Overcharged: more waits, or is without an answer, than may while more is read.
func Overcharged(o *Queue) bool {
	return Full(o) || !o.closed && (int(o.inflight) >= o.sh.o.InFlight || o.marking >= marksUnderway)
}

// Is tells whether c is so at this moment.
func (o *Queue) Is(c Condition) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return c(o)
}

// WaitWhile blocks while c is so.
func (o *Queue) WaitWhile(c Condition) {
	o.mu.Lock()
	for c(o) {
		if o.wake == nil {
			o.wake = make(chan struct{})
		}
		wake := o.wake
		o.mu.Unlock()
		<-wake
		o.mu.Lock()
	}
	o.mu.Unlock()
}
