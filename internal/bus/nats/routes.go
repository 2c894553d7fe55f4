package nats

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/bus"
)

// look is the time between two looks at the routes. The server has no event for
// them without its system account.
const look = 250 * time.Millisecond

// Subjects of the bus itself: bus.ValidSubject refuses the '$', so no user can
// name them. The id of the server that is meant follows; the data is the id of the
// one that asks, or answers, and the number of the route at the one that asks.
const (
	askSubject    = "$skein.ask."
	answerSubject = "$skein.answer."
)

// route is a connection to a peer.
type route struct {
	id   uint64 // of the connection
	peer string // the name of the server at the other end
}

// known is a route with what we know about it.
type known struct {
	route
	confirmed bool // the peer has our interest, and Lost was told
}

// routes notices routes that go and come, and tells the inbox: at once when one
// went, for its peer may have died with something unsaid; and when one came,
// once the peer knows our interest.
type routes struct {
	self  string
	inbox *bus.Inbox
	log   *slog.Logger

	mu    sync.Mutex
	peers map[string]known
}

func newRoutes(self string, inbox *bus.Inbox, log *slog.Logger) *routes {
	return &routes{self: self, inbox: inbox, log: log, peers: map[string]known{}}
}

func (r *routes) subjects() []string { return []string{askSubject + r.self, answerSubject + r.self} }

// watch compares the routes with those of the last look until stop.
func (r *routes) watch(current func() map[string]route, tell func(string, []byte), stop chan struct{}) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for id, n := range r.compare(current()) {
			tell(askSubject+id, fmt.Appendf(nil, "%s %d", r.self, n.id))
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// compare takes the routes that stand now and returns those whose peers are to be
// asked.
func (r *routes) compare(now map[string]route) (ask map[string]route) {
	ask = map[string]route{}
	r.mu.Lock()
	var gone []known
	for id, k := range r.peers {
		if n, ok := now[id]; !ok || n.id != k.id {
			delete(r.peers, id)
			gone = append(gone, k)
		}
	}
	for id, n := range now {
		if k, ok := r.peers[id]; !ok {
			r.peers[id] = known{route: n}
			ask[id] = n
		} else if !k.confirmed {
			ask[id] = n // the question, or the answer, found no interest yet
		}
	}
	r.mu.Unlock()
	for _, k := range gone {
		r.log.Warn("bus: route lost", "peer", k.peer)
		r.inbox.Lost("route to " + k.peer + " lost")
	}
	return ask
}

// message takes one of the bus's own messages.
func (r *routes) message(subject string, data []byte, tell func(string, []byte)) {
	id, number, _ := strings.Cut(string(data), " ")
	if strings.HasPrefix(subject, askSubject) {
		tell(answerSubject+id, []byte(r.self+" "+number))
		return
	}
	r.mu.Lock()
	k, ok := r.peers[id]
	// The answer to a question that an earlier route carried proves nothing.
	first := ok && !k.confirmed && number == strconv.FormatUint(k.id, 10)
	if first {
		k.confirmed = true
		r.peers[id] = k
	}
	r.mu.Unlock()
	if first {
		r.log.Info("bus: route", "peer", k.peer)
		r.inbox.Lost("route to " + k.peer)
	}
}
