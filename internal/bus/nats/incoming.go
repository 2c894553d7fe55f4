package nats

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"

	natsd "github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
)

const (
	// incomingRoom is how many messages fit between the client and the pump.
	incomingRoom = 8192
	// incomingHigh is how many may wait while more is read. The client reads 32 KiB
	// at a time; a message has at least 15 bytes ("MSG a 1 0", two line ends), so one
	// read adds 2,185 at most. TLS may hold back one more record of 16 KiB.
	incomingHigh = incomingRoom / 2
)

// incoming is the channel that all subscriptions of a client share. The client
// drops what does not fit into it, without a word that could be relied on, so its
// connection is not read while it is half full. As the pump never waits for
// anybody, that is a matter of microseconds.
type incoming struct {
	messages chan *client.Msg
	waiting  atomic.Bool   // the reader waits
	room     chan struct{} // one token: there is room again
	stopped  chan struct{}
	once     sync.Once
}

func newIncoming() *incoming {
	return &incoming{
		messages: make(chan *client.Msg, incomingRoom),
		room:     make(chan struct{}, 1),
		stopped:  make(chan struct{}),
	}
}

func (in *incoming) stop() { in.once.Do(func() { close(in.stopped) }) }

// took is called by the pump after each message.
func (in *incoming) took() {
	if in.waiting.Load() && len(in.messages) <= incomingHigh {
		select {
		case in.room <- struct{}{}:
		default:
		}
	}
}

// wait returns when there is room for what one read brings.
func (in *incoming) wait() {
	for len(in.messages) > incomingHigh {
		in.waiting.Store(true)
		// The pump may have passed the mark before it could see that we wait.
		if len(in.messages) > incomingHigh {
			select {
			case <-in.room:
			case <-in.stopped:
				return
			}
		}
		in.waiting.Store(false)
	}
}

// throttled is a connection that is read while there is room.
type throttled struct {
	net.Conn
	in *incoming
}

func (t throttled) Read(p []byte) (int, error) {
	t.in.wait()
	return t.Conn.Read(p)
}

// inProcess connects a client to an embedded server.
type inProcess struct {
	server *natsd.Server
	in     *incoming
}

func (i inProcess) InProcessConn() (net.Conn, error) {
	conn, err := i.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return throttled{conn, i.in}, nil
}

// dialer connects a client to an external server.
type dialer struct{ in *incoming }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, writeDeadline)
	if err != nil {
		return nil, err
	}
	return throttled{conn, d.in}, nil
}

func splitURLs(s string) (urls []string) {
	for u := range strings.SplitSeq(s, ",") {
		if u = strings.TrimSpace(u); u != "" {
			urls = append(urls, u)
		}
	}
	return urls
}
