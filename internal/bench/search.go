package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// SearchReport is what the search of messages costs, and how fast it is.
type SearchReport struct {
	// Messages were stored as fast as they were answered, in FillSeconds; the index had
	// the last of them CatchUpSeconds after it was answered.
	Messages       uint64  `json:"messages"`
	FillSeconds    float64 `json:"fill_s"`
	CatchUpSeconds float64 `json:"catch_up_s"`
	// The embedded index was taken away, and made anew while the server runs.
	RebuildSeconds   float64 `json:"rebuild_s,omitempty"`
	RebuildPerSecond float64 `json:"rebuild_messages_per_s,omitempty"`
	IndexBytes       int64   `json:"index_bytes,omitempty"`
	BytesPerMessage  float64 `json:"index_bytes_per_message,omitempty"`
	// Beside: the same while messages are sent and searches are made.
	Beside *SearchRebuild `json:"rebuild_beside,omitempty"`
	// Queries are made one after the other over HTTP, by many users.
	Queries []SearchQuery `json:"queries"`
	// Lag is how old the newest message is that the index does not have, while Rate
	// messages a second are sent; in milliseconds.
	Rate float64 `json:"rate"`
	Lag  Latency `json:"lag_ms"`
	// Pays is what messages pay for the index: two servers, with and without it, in turns.
	Pays []SearchPays `json:"pays"`
}

// SearchQuery are questions of one kind.
type SearchQuery struct {
	Name string `json:"name"`
	CallCost
	Found float64 `json:"found"` // messages, of the 20 that are asked for, on average
}

// SearchPays are medians of the rounds of one rate, 0: saturation.
type SearchPays struct {
	Rate     float64 `json:"rate"`
	With     Compare `json:"with"`
	Without  Compare `json:"without"`
	CPURatio float64 `json:"cpu_ratio"`
	// RateRatio is that of the messages a second that were answered.
	RateRatio float64 `json:"rate_ratio"`
	AckP50    float64 `json:"ack_p50_ratio"`
	AckP99    float64 `json:"ack_p99_ratio"`
}

// Search stores messages in English and Chinese, has the index made, asks it, looks how
// far it is behind at o.Rate, and in so many rounds (0: not) what messages pay for it.
func Search(ctx context.Context, o Options, messages, rounds int, start Starter) (*Report, error) {
	o.Scenario, o.Friends, o.Corpus = ScenarioSearch, 15, true
	o.Connections &^= 15
	if o.Connections < 16 || o.Rate <= 0 || messages < 1000 || rounds < 0 {
		return nil, errors.New("search needs 16 users, a rate and 1,000 messages")
	}
	r, err := withServer(ctx, &o, start, func(r *run) error {
		s := &searches{run: r, x: &SearchReport{Rate: o.Rate}}
		r.r.Search = s.x
		return s.all(ctx, uint64(messages))
	})
	if err != nil {
		return nil, err
	}
	for _, rate := range []float64{200, o.Rate, 8000, 0} {
		if rounds == 0 {
			break
		}
		p, err := searchPays(ctx, o, rate, rounds, start)
		if err != nil {
			return nil, err
		}
		r.Search.Pays = append(r.Search.Pays, p)
	}
	return r, nil
}

type searches struct {
	*run
	x *SearchReport
}

func (s *searches) all(ctx context.Context, messages uint64) error {
	users, err := s.s.register(ctx, s.o, s.o.Connections)
	if err != nil {
		return err
	}
	if err := s.connect(ctx, users, nil, nil); err != nil {
		return err
	}
	if err := s.fill(ctx, messages); err != nil {
		return err
	}
	if s.s.data != "" && s.s.database == nil {
		if err := s.rebuild(ctx); err != nil {
			return err
		}
		if err := s.rebuildBeside(ctx, users); err != nil {
			return err
		}
	}
	for _, q := range queries {
		if err := s.ask(ctx, users, q); err != nil {
			return err
		}
	}
	return s.lag(ctx)
}

// fill stores messages as fast as they are answered, and waits for the index.
func (s *searches) fill(ctx context.Context, messages uint64) error {
	began := time.Now()
	if _, err := s.run.fill(ctx, messages); err != nil {
		return err
	}
	s.x.FillSeconds = time.Since(began).Seconds()
	if err := s.offer(ctx, 0.001, time.Second); err != nil { // what is under way is answered
		return err
	}
	n, err := s.totals(ctx, command{Do: doStats})
	if err != nil {
		return err
	}
	s.x.Messages = n.Acked
	began = time.Now()
	s.o.progress("the index catches up")
	if err := s.indexed(ctx, n.Acked); err != nil {
		return err
	}
	s.x.CatchUpSeconds = time.Since(began).Seconds() + 1
	return nil
}

// indexed waits until the index has so many messages.
func (s *searches) indexed(ctx context.Context, messages uint64) error {
	for told := time.Now(); ; {
		have, err := s.s.gauge("skein_search_documents")
		if err != nil || have >= float64(messages) {
			return err
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			s.o.progress("  %.0f of %d", have, messages)
		}
		if err := s.wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// query is a kind of question: what of a message that there is, a text of characters or
// of words, it asks for.
type query struct {
	name    string
	chinese bool
	of      func(text []rune, words []string) string
	here    bool // in its conversation alone, or in all of the user's
}

func stretch(n int) func([]rune, []string) string {
	return func(text []rune, _ []string) string {
		from := rand.IntN(max(len(text)-n, 0) + 1)
		return string(text[from:min(from+n, len(text))])
	}
}

func oneWord(_ []rune, words []string) string { return words[rand.IntN(len(words))] }

func begun(_ []rune, words []string) string {
	w := words[rand.IntN(len(words))]
	return w[:min(len(w), 3)]
}

func threeWords(_ []rune, words []string) string {
	return strings.Join(words[:min(3, len(words))], " ")
}

var queries = func() (all []query) {
	for _, here := range []bool{true, false} {
		where := "in one conversation"
		if !here {
			where = "in all of a user's"
		}
		all = append(all,
			query{"one character, " + where, true, stretch(1), here}, query{"two characters, " + where, true, stretch(2), here}, query{"six characters, " + where, true, stretch(6), here},
			query{"a word, " + where, false, oneWord, here}, query{"the beginning of a word, " + where, false, begun, here}, query{"three words, " + where, false, threeWords, here})
	}
	return all
}()

// ask asks as users do: for what was said in one of their conversations.
func (s *searches) ask(ctx context.Context, users []userPlan, q query) error {
	type question struct {
		token string
		*wire.SearchMessagesRequest
	}
	var questions []question
	for range s.o.Rounds {
		at := rand.IntN(len(users))
		friend := at ^ (1 + rand.IntN(15))
		text, err := s.said(ctx, users[at], users[friend], q)
		if err != nil {
			return err
		}
		req := &wire.SearchMessagesRequest{Query: text, Limit: 20}
		if q.here {
			req.Conversation = dmName(users[at].ID, users[friend].ID)
		}
		questions = append(questions, question{users[at].Token, req})
	}
	found := 0
	cost, err := s.each(ctx, len(questions), func(i int) (answered, error) {
		var resp wire.SearchMessagesResponse
		a, err := s.s.timed(ctx, questions[i].token, "MessageService/SearchMessages", questions[i].SearchMessagesRequest, &resp)
		if err == nil && (len(resp.Found) == 0 || !resp.Complete) {
			err = fmt.Errorf("%s: %q was said and is not found (%d found, complete %v)", q.name, questions[i].Query, len(resp.Found), resp.Complete)
		}
		found += len(resp.Found)
		return a, err
	})
	s.x.Queries = append(s.x.Queries, SearchQuery{Name: q.name, CallCost: cost, Found: float64(found) / float64(max(len(questions), 1))})
	return err
}

// said is what two users said, as far as a query asks for it.
func (s *searches) said(ctx context.Context, u, friend userPlan, q query) (string, error) {
	var resp wire.ListEntriesResponse
	_, err := s.s.timed(ctx, u.Token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: dmName(u.ID, friend.ID), From: 1, Limit: 50}, &resp)
	if err != nil {
		return "", err
	}
	for _, i := range rand.Perm(len(resp.Entries)) {
		_, text, _ := strings.Cut(resp.Entries[i].GetContent().GetText(), " ") // behind the time
		if text == "" || (text[0] >= 0x80) != q.chinese {
			continue
		}
		words := strings.Fields(text)
		run := []rune(strings.Split(text, "，")[0])
		return q.of(run, words), nil
	}
	return "", fmt.Errorf("%s: %s and %s said nothing of the kind", q.name, u.ID, friend.ID)
}

// lag looks how far the index is behind while messages are sent.
func (s *searches) lag(ctx context.Context) error {
	s.o.progress("%g messages a second, and how far the index is behind", s.o.Rate)
	if err := s.offer(ctx, s.o.Rate, s.o.Warmup); err != nil {
		return err
	}
	from, err := s.s.usage(ctx)
	if err != nil {
		return err
	}
	before, err := s.totals(ctx, command{Do: doCount})
	if err != nil {
		return err
	}
	var lag histogram
	for end := time.Now().Add(s.o.Duration); time.Now().Before(end); {
		seconds, err := s.s.gauge(`skein_feed_lag_seconds{follower="search`)
		if err != nil {
			return err
		}
		lag.record(time.Duration(seconds * float64(time.Second)))
		if err := s.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	s.x.Lag = lag.latency()
	after, err := s.totals(ctx, command{Do: doRest})
	if err != nil {
		return err
	}
	to, err := s.s.usage(ctx)
	if err != nil {
		return err
	}
	s.measured(from, to, before, after)
	return s.account(ctx)
}

// gauge reads the figure of /metrics whose name and labels begin so.
func (s *Server) gauge(name string) (float64, error) {
	resp, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if line := sc.Text(); strings.HasPrefix(line, name) {
			return strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		}
	}
	return 0, errors.Join(sc.Err(), fmt.Errorf("the server tells no %s", name))
}

// searchPays has messages sent at a rate to servers with and without the index, in turns.
func searchPays(ctx context.Context, o Options, rate float64, rounds int, start Starter) (p SearchPays, err error) {
	p.Rate = rate
	var p50, p99 [2][]float64
	for round := range rounds {
		order := []string{"on", "off"}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, index := range order {
			o.Rate, o.GapMax = rate, 0
			r, err := Chat(ctx, o, func(ctx context.Context, set ...string) (*Server, error) {
				if index == "off" {
					set = append(set, "search.index=off")
				}
				return start(ctx, set...)
			}, false)
			if err != nil {
				return p, err
			}
			if broken := r.Failed(); broken != "" {
				return p, errors.New(broken)
			}
			x, i := &p.With, 0
			if index == "off" {
				x, i = &p.Without, 1
			}
			x.CPU, x.Allocs, x.Rate = append(x.CPU, r.Server.CPUMicrosPerMessage), append(x.Allocs, r.Server.Allocs), append(x.Rate, r.AckedPerS)
			p50[i], p99[i] = append(p50[i], r.Ack.P50), append(p99[i], r.Ack.P99)
			o.progress("%g msg/s  index %s: %.1f µs of CPU per message, %.0f msg/s", rate, index, r.Server.CPUMicrosPerMessage, r.AckedPerS)
		}
	}
	p.CPURatio, p.RateRatio = median(p.With.CPU)/median(p.Without.CPU), median(p.With.Rate)/median(p.Without.Rate)
	p.AckP50, p.AckP99 = median(p50[0])/median(p50[1]), median(p99[0])/median(p99[1])
	return p, nil
}

// searched writes what was found.
func (r *Report) searched(line func(name, format string, args ...any)) {
	x := r.Search
	if x == nil {
		return
	}
	line("messages", "%10d in %.1f s; the index had the last one %.1f s later", x.Messages, x.FillSeconds, x.CatchUpSeconds)
	if x.RebuildSeconds > 0 {
		line("index made anew", "%10.1f s, %.0f messages a second; %.0f MB, %.0f bytes a message", x.RebuildSeconds, x.RebuildPerSecond, float64(x.IndexBytes)/1e6, x.BytesPerMessage)
	}
	if b := x.Beside; b != nil {
		line("the same at "+strconv.FormatFloat(b.Rate, 'g', -1, 64)+" msg/s", "%10.1f s, %.0f messages a second; acks %.2f / %.2f ms p50/p99, with an index that is there %.2f / %.2f: %.2f and %.2f of that; of %d searches %d were answered, %d of them said that something may be missing", b.Seconds, b.PerSecond,
			b.During.P50, b.During.P99, b.Before.P50, b.Before.P99, b.P50Ratio, b.P99Ratio, b.Asked, b.Answered, b.Incomplete)
	}
	for _, q := range x.Queries {
		line(q.Name, "%10.2f / %.2f ms p50/p99, %.0f µs of CPU, %.1f found", q.MS.P50, q.MS.P99, q.CPUMicros, q.Found)
	}
	line("index behind", "%10.0f / %.0f ms p50/p99 at %g msg/s, max %.0f", x.Lag.P50, x.Lag.P99, x.Rate, x.Lag.Max)
	for _, p := range x.Pays {
		name := fmt.Sprintf("at %g msg/s", p.Rate)
		if p.Rate == 0 {
			name = "at saturation"
		}
		line(name, "%10.1f µs of CPU a message with it, %.1f without: %.2f; ack p50 %.2f, p99 %.2f of that; rate %.2f", median(p.With.CPU), median(p.Without.CPU), p.CPURatio, p.AckP50, p.AckP99, p.RateRatio)
	}
}
