package app

import (
	"cmp"
	"context"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/singleflight"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/platform"
)

const (
	// healthFor is how long a look counts: however many ask, the stores are asked once.
	healthFor = time.Second
	// lookTime bounds a look: a store that hangs is told as its trouble.
	lookTime = 5 * time.Second
	// sampleEvery is how often what was stored is noted, and samplesKept how many of these
	// notes are: the rate that is told is of the time that they span.
	sampleEvery = 2 * time.Second
	samplesKept = 6
)

// health looks at what this process is and stands on, for administrators.
type health struct {
	looking singleflight.Group // the others wait, and get the same
	last    atomic.Pointer[lookedAt]

	rate sync.Mutex
	// samples are what was stored in all at times, the oldest first.
	samples []sample
}

// lookedAt is what was found at a time. Nobody changes it.
type lookedAt struct {
	health im.Health
	looked time.Time
}

type sample struct {
	at     time.Time
	stored float64
}

// startHealth begins to note how much is stored, and returns what ends that.
func (a *App) startHealth() (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			a.health.note(time.Now(), a.stored())
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(ended)
		running.Wait()
	}
}

func (h *health) note(at time.Time, stored float64) {
	h.rate.Lock()
	defer h.rate.Unlock()
	if len(h.samples) >= samplesKept {
		h.samples = slices.Delete(h.samples, 0, 1)
	}
	h.samples = append(h.samples, sample{at, stored})
}

// perSecond is how much was stored a second since the oldest note.
func (h *health) perSecond(at time.Time, stored float64) float64 {
	h.rate.Lock()
	defer h.rate.Unlock()
	if len(h.samples) == 0 {
		return 0
	}
	first := h.samples[0]
	if d := at.Sub(first.at).Seconds(); d > 0 {
		return max(stored-first.stored, 0) / d
	}
	return 0
}

// stored is how many entries this process stored.
func (a *App) stored() float64 {
	if a.messaging == nil {
		return 0
	}
	return float64(a.messaging.Accepted())
}

// Health is how the deployment is, as of at most a second ago: what cannot be looked at is told
// as the trouble of what it stands on. Who asks while somebody looks gets what they find.
func (a *App) Health(ctx context.Context) (im.Health, error) {
	h := &a.health
	found := h.looking.DoChan("", func() (any, error) {
		if l := h.last.Load(); l != nil && time.Since(l.looked) < healthFor {
			return l, nil
		}
		// Not by the call's time: others wait for it as well.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		l := &lookedAt{health: a.lookAtHealth(ctx)}
		l.looked = time.Now()
		h.last.Store(l)
		return l, nil
	})
	select {
	case f := <-found:
		return f.Val.(*lookedAt).health, nil
	case <-ctx.Done():
		return im.Health{}, im.Wrap(ctx.Err(), im.CodeUnavailable, "the server could not look in time how it is")
	}
}

func (a *App) lookAtHealth(ctx context.Context) (h im.Health) {
	now := a.now()
	r := a.readiness(ctx)
	h = im.Health{
		At: now, Version: cmp.Or(a.version, "unknown"), Go: runtime.Version(), Node: a.cfg.Node.Name, Started: now.Add(-time.Since(a.began)),
		Ready: r.Ready, Reasons: r.Reasons, Warnings: r.Details, Goroutines: runtime.NumGoroutine(),
	}
	if a.node != nil {
		h.Nodes = a.node.Nodes()
	} else {
		h.Nodes = []im.NodeHealth{{Name: "alone", Roles: a.roleNames(), Ready: r.Ready, Heard: now, Self: true}}
	}
	m, err := a.gathered()
	if err != nil {
		h.Warnings = append(h.Warnings, "some figures of this process cannot be read: "+err.Error())
	}
	h.Connections, h.Users = int(m.sum("skein_gateway_connections")), int(m.sum("skein_gateway_users"))
	h.Memory, h.Files, h.FilesMost = uint64(m.sum("process_resident_memory_bytes")), int(m.sum("process_open_fds")), int(min(m.sum("process_max_fds"), math.MaxInt32))
	h.Refused = m.byLabel("skein_messaging_rejected_total", "code")
	h.Stored = uint64(a.stored())
	h.StoredPerSecond = a.health.perSecond(time.Now(), a.stored())
	h.SendsWaiting, h.SendsMost = a.messaging.Waiting()
	h.Stores = a.storesHealth(m)
	q, err := a.directory.Queues(ctx, now)
	if err != nil {
		for i := range h.Stores {
			if s := &h.Stores[i]; s.Name == "directory" && s.Trouble == "" {
				s.Trouble = "what waits there cannot be read: " + im.Public(err).Message
			}
		}
	}
	h.Later = q.Later
	if a.push != nil {
		h.Push = &im.PushHealth{Subscriptions: q.Subscriptions, Waiting: q.PushWaiting, Failing: q.PushFailing, Oldest: q.PushOldest, Results: m.byLabel("skein_push_results_total", "result")}
	}
	h.Followers = a.followersHealth(ctx, m, q.Followers, now)
	h.Certificates = a.certificatesHealth(ctx)
	return h
}

func (a *App) roleNames() (names []string) {
	for _, r := range []string{config.RoleGateway, config.RoleLogic, config.RoleAPI} {
		if a.cfg.Is(r) {
			names = append(names, r)
		}
	}
	return names
}

// followersHealth tells of those that work here by their figures, and of those that work
// elsewhere by what they noted last. Each node has figures of all followers of the deployment;
// what else is noted beside them follows no journal (who sends later, and the like).
func (a *App) followersHealth(ctx context.Context, m families, notes []im.FollowerNote, now time.Time) []im.FollowerHealth {
	all := map[string]*im.FollowerHealth{}
	for _, x := range m["skein_feed_working"].GetMetric() {
		name := labelOf(x, "follower")
		all[name] = &im.FollowerHealth{Name: name}
	}
	var head uint64
	if f, err := a.journal.After(ctx, im.Place{}, 0); err == nil {
		head = f.Now.Pos
	}
	for i := range notes {
		n := &notes[i]
		f := all[n.Name]
		if f == nil {
			continue
		}
		f.SetAside += n.SetAside
		if behind := head - min(n.Place.Pos, head); behind > 0 {
			f.Behind, f.Lag = behind, max(f.Lag, now.Sub(n.Updated))
		}
	}
	for _, x := range m["skein_feed_working"].GetMetric() {
		if x.GetGauge().GetValue() == 0 {
			continue
		}
		name := labelOf(x, "follower")
		f := all[name]
		f.Here = true
		f.Behind, f.Lag = uint64(m.sum("skein_feed_lag_positions", "follower", name)), 0
		if f.Behind > 0 {
			f.Lag = time.Duration(m.sum("skein_feed_lag_seconds", "follower", name) * float64(time.Second))
		}
	}
	out := make([]im.FollowerHealth, 0, len(all))
	for _, f := range all {
		if strings.HasPrefix(f.Name, "search") { // with the version of its tokens behind it
			f.Name = "search"
		}
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b im.FollowerHealth) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// storesHealth tells what the stores take, as far as this process sees it.
func (a *App) storesHealth(m families) (all []im.StoreHealth) {
	journal, directory := im.StoreHealth{Name: "journal"}, im.StoreHealth{Name: "directory"}
	if t, ok := a.journal.(troubled); ok {
		journal.Trouble, _ = t.Trouble()
	}
	if a.shared != nil {
		journal.Kind, directory.Kind = "postgres", "postgres"
		journal.Durability = "committed by PostgreSQL, as its synchronous_commit says"
		directory.Durability = journal.Durability
	} else {
		free, _ := platform.Free(a.cfg.Data) // 0: not known
		journal.Kind, directory.Kind = "pebble", "sqlite"
		journal.Bytes, journal.Free = uint64(m.sum("skein_journal_disk_bytes")), free
		directory.Bytes, directory.Free = sizeOf(a.data.file("directory.db"), a.data.file("directory.db-wal")), free
		journal.Durability = "fsync of the log on this machine's disk"
		directory.Durability = "fsync of the log on this machine's disk"
	}
	all = append(all, journal, directory)
	if a.index != nil {
		s := im.StoreHealth{Name: "search", Kind: "postgres", Durability: "none: it is made again from the journal"}
		if a.shared == nil {
			s.Kind, s.Bytes, s.Free = "sqlite", sizeOf(a.data.file(searchFile), a.data.file(searchFile+"-wal")), directory.Free
		}
		all = append(all, s)
	}
	if a.media != nil {
		s := im.StoreHealth{Name: "media", Kind: "s3", Durability: "as the bucket's"}
		if dir := mediaPath(&a.cfg, a.cfg.Data); dir != "" {
			s.Kind, s.Durability = "directory", "fsync of each upload"
			s.Free, _ = platform.Free(dir)
		}
		all = append(all, s)
	}
	return all
}

func sizeOf(files ...string) (n uint64) {
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			n += uint64(st.Size())
		}
	}
	return n
}

func (a *App) certificatesHealth(ctx context.Context) (all []im.CertificateHealth) {
	if f := a.live.certificate.Load(); f != nil {
		c := im.CertificateHealth{Source: a.cfg.TLS.Cert}
		h, err := f.Held()
		if err != nil {
			c.Trouble = err.Error()
		}
		c.Names, c.NotAfter = h.Names, h.NotAfter
		all = append(all, c)
	}
	if a.acme != nil {
		for _, domain := range a.acme.Domains() {
			c := im.CertificateHealth{Names: []string{domain}, Source: "acme"}
			h, err := a.acme.Held(ctx, domain)
			if err != nil {
				c.Trouble = err.Error()
			} else {
				c.Names, c.NotAfter = h.Names, h.NotAfter
			}
			all = append(all, c)
		}
	}
	return all
}

// families are this process's metrics of a moment, by name.
type families map[string]*dto.MetricFamily

// gathered reads them: with an error there may be some that could be read.
func (a *App) gathered() (families, error) {
	all, err := a.metrics.Gather()
	m := make(families, len(all))
	for _, f := range all {
		m[f.GetName()] = f
	}
	return m, err
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// sum adds up the values of a metric, of those that have a label, if one is given.
func (m families) sum(name string, label ...string) (v float64) {
	for _, x := range m[name].GetMetric() {
		if len(label) == 2 && labelOf(x, label[0]) != label[1] {
			continue
		}
		v += x.GetGauge().GetValue() + x.GetCounter().GetValue()
	}
	return v
}

// byLabel are the values of a metric that are not 0, by a label.
func (m families) byLabel(name, label string) (all []im.CodeCount) {
	for _, x := range m[name].GetMetric() {
		if v := x.GetGauge().GetValue() + x.GetCounter().GetValue(); v > 0 {
			all = append(all, im.CodeCount{Code: labelOf(x, label), Count: uint64(v)})
		}
	}
	slices.SortFunc(all, func(a, b im.CodeCount) int { return strings.Compare(a.Code, b.Code) })
	return all
}
