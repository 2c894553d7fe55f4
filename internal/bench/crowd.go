package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// CrowdReport is what connections that are in one group keep in the memory of a fresh
// server, after each of them sent and got messages that are long enough to be deflated,
// and what a message to all of them costs it. JSON, as most who ask for deflate.
type CrowdReport struct {
	Deflate bool `json:"deflate"`
	// Live is by how much the heap after a collection and the stacks grew for each,
	// RSS by how much the process did. RSS is 0 where the system does not tell.
	LivePerConnection int64 `json:"live_per_connection"`
	RSSPerConnection  int64 `json:"rss_per_connection"`
	// CPUPerDelivery is the server's time for each connection that a message of
	// crowdText bytes went to, in µs, 0 where the system does not tell; DownPerDelivery
	// the bytes.
	CPUPerDelivery  float64 `json:"cpu_us_per_delivery"`
	DownPerDelivery float64 `json:"down_per_delivery"`
}

const (
	crowdText   = 1000 // bytes of a message to all
	crowdRounds = 20   // such messages
	crowdPulls  = 20   // a frame of as many Pulls is long enough to be deflated
)

// crowdOf measures with a fresh server.
func crowdOf(ctx context.Context, o *Options, start Starter, deflate bool) (*CrowdReport, error) {
	s, err := start(ctx, fmt.Sprintf("groups.max_members=%d", max(10_000, o.Connections)))
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	users, err := s.register(ctx, o, o.Connections)
	if err != nil {
		return nil, err
	}
	group, _, err := s.group(ctx, "crowd", users)
	if err != nil {
		return nil, err
	}
	live, rss, err := s.memory(ctx)
	if err != nil {
		return nil, err
	}
	c := &crowd{s: s, group: group, all: make([]*talker, len(users)), texts: newTexts()}
	defer c.close()
	o.progress("  %d connections in a group, deflate %v", len(users), deflate)
	row := &BytesRow{Codec: "json", Deflate: deflate}
	err = each(ctx, len(users), 16, func(i int) (err error) {
		if c.all[i], err = talk(s, row, users[i], nil); err == nil {
			err = c.all[i].pulls(group)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &CrowdReport{Deflate: deflate}
	if err := c.rounds(ctx, r); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(o.Duration): // they park, and give their goroutines back
	}
	live2, rss2, err := s.memory(ctx)
	r.LivePerConnection = (live2 - live) / int64(len(users))
	r.RSSPerConnection = (rss2 - rss) / int64(len(users))
	return r, err
}

// crowd are connections in one group.
type crowd struct {
	s     *Server
	group string
	all   []*talker
	texts *texts
}

func (c *crowd) close() {
	for _, t := range c.all {
		if t != nil {
			t.Close()
		}
	}
}

// pulls asks for the beginning of the group a few times in one frame.
func (t *talker) pulls(group string) error {
	ask := &wire.Pulls{}
	for i := range crowdPulls {
		ask.Pulls = append(ask.Pulls, &wire.Pull{Number: uint32(i + 1), Conversation: group, Limit: 1})
	}
	if err := t.say(wire.NewClientFrame(ask)); err != nil {
		return err
	}
	left := crowdPulls
	return t.hear(func(f *wire.ServerFrame) bool {
		if f.GetRange() != nil {
			left--
		}
		return left == 0
	})
}

// rounds has one write to all, again and again, and counts what that costs.
func (c *crowd) rounds(ctx context.Context, r *CrowdReport) error {
	for _, t := range c.all {
		t.meter.reset()
	}
	from, err := c.s.usage(ctx)
	if err != nil {
		return err
	}
	ids := wire.NewIDSource(nil, nil)
	for range crowdRounds {
		if err := c.round(ctx, ids); err != nil {
			return err
		}
	}
	to, err := c.s.usage(ctx)
	if err != nil {
		return err
	}
	deliveries := float64(crowdRounds * (len(c.all) - 1))
	var down int64
	for _, t := range c.all[1:] {
		down += t.traffic().Down
	}
	r.CPUPerDelivery = float64((to.cpu - from.cpu).Microseconds()) / deliveries
	r.DownPerDelivery = float64(down) / deliveries
	return nil
}

// round is one message to all, and all have it.
func (c *crowd) round(ctx context.Context, ids *wire.IDSource) error {
	var text strings.Builder
	for text.Len() < crowdText {
		text.WriteString(c.texts.next().GetText() + ". ")
	}
	id := ids.Next()
	err := c.all[0].say(wire.NewClientFrame(&wire.Send{
		Conversation: c.group, Id: id[:], Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: text.String()[:crowdText]}},
	}))
	var seq uint64
	if err == nil {
		err = c.all[0].hear(func(f *wire.ServerFrame) bool { seq = f.GetSendAck().GetSeq(); return seq > 0 })
	}
	if err != nil {
		return err
	}
	return each(ctx, len(c.all)-1, 16, func(i int) error {
		return c.all[i+1].hear(func(f *wire.ServerFrame) bool {
			es := f.GetPush().GetEntries()
			return len(es) > 0 && es[len(es)-1].GetSeq() == seq
		})
	})
}

// memory is the server's: what a collection leaves of the heap and the stacks, and
// the size of the process.
func (s *Server) memory(ctx context.Context) (live, rss int64, err error) {
	if s.admin == "" {
		return 0, 0, errors.New("the server's private port is needed")
	}
	for range 2 { // pools hold what they have over one collection
		if live, err = s.live(ctx); err != nil {
			return 0, 0, err
		}
	}
	u, err := s.usage(ctx)
	return live, u.rss, err
}

// live collects, and returns the heap and the stacks in use.
func (s *Server) live(ctx context.Context) (bytes int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, bytesTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	found := 0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		for _, name := range []string{"# HeapAlloc = ", "# Stack = "} {
			rest, ok := strings.CutPrefix(lines.Text(), name)
			if !ok {
				continue
			}
			value, _, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0, err
			}
			bytes += n
			found++
		}
	}
	if err := lines.Err(); err != nil || found != 2 {
		return 0, errors.Join(err, fmt.Errorf("the profile of %s tells %d of 2 figures", s.admin, found))
	}
	return bytes, nil
}

// Table writes the report for people.
func (r *BytesReport) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "bytes down + up of a client, after the upgrade, WebSocket's frames included\n%-6s %-8s %22s %20s %16s\n",
		"codec", "deflate", fmt.Sprintf("hour of %d messages", r.Messages), fmt.Sprintf("resume of %d", r.Conversations), "page of 50")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "%-6s %-8v %22s %20s %16s\n", x.Codec, x.Deflate, x.Chat, x.Resume, x.History)
	}
	fmt.Fprintf(&b, "\n%d connections of one server, in one group, JSON; a message of %d bytes to all\n%-8s %20s %20s %16s %18s\n",
		r.Connections, crowdText, "deflate", "heap+stack each", "RSS each", "CPU/delivery", "bytes/delivery")
	for _, c := range r.Crowds {
		fmt.Fprintf(&b, "%-8v %18d B %18d B %13.1f µs %18.0f\n", c.Deflate, c.LivePerConnection, c.RSSPerConnection, c.CPUPerDelivery, c.DownPerDelivery)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Traffic) String() string { return fmt.Sprintf("%d + %d", t.Down, t.Up) }
