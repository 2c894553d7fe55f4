package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// patience is how long anything may take that must come.
const patience = 16 * time.Second

// options are a walk's.
type options struct {
	operations, crashes int
	// every so many operations all views are compared.
	every int
	seed  uint64
	// only names the kinds of operations that are done; empty: all.
	only []string
	// disappear: lifetimes of conversations change.
	disappear bool
	log       func(format string, args ...any) // tells every operation
	progress  func(format string, args ...any) // tells how far it is
}

// user is somebody with devices.
type user struct {
	id, token string
	devices   []*device
}

// walk is a random walk: one step after the other is done to a server and to the model,
// and now and then all that anybody sees is compared with the model.
type walk struct {
	o      options
	server *server
	model  *model
	rng    *mathrand.Rand
	looks  *mathrand.Rand // what a comparison looks at: the steps do not depend on it
	kinds  []kind
	users  []*user
	words  int
	lastID [16]byte
	once   map[string]bool // recalls that were stored
	// crashed tells that the server was killed during this step.
	crashed bool
	recent  []string // steps
	report  report
}

// report is what a walk did.
type report struct {
	Seed       uint64         `json:"seed"`
	Store      string         `json:"store"`
	Operations int            `json:"operations"`
	Refused    int            `json:"refused_as_predicted"`
	Crashes    int            `json:"crashes"`
	Compared   int            `json:"views_compared"`
	Entries    uint64         `json:"entries"`
	Kinds      map[string]int `json:"operations_by_kind"`
	Seconds    float64        `json:"seconds"`
	Drift      string         `json:"drift,omitempty"`
}

// drift is a difference between the model and what somebody sees.
type drift struct{ text string }

func (d *drift) Error() string { return d.text }

func newWalk(ctx context.Context, s *server, o options) (*walk, error) {
	w := &walk{o: o, server: s, rng: newRand(o.seed), looks: newRand(o.seed + 1), once: map[string]bool{}, report: report{Seed: o.seed, Kinds: map[string]int{}}}
	for _, k := range kinds {
		lives := k.name != replyKind && k.name != withdrawKind
		if len(o.only) == 0 && (o.disappear && lives || !o.disappear && k.name != lifetimeKind) || slices.Contains(o.only, k.name) {
			w.kinds = append(w.kinds, k)
		}
	}
	if len(w.kinds) == 0 {
		return nil, fmt.Errorf("no operation is called %v", o.only)
	}
	var ids []string
	for i, devices := range []int{2, 2, 1} {
		u := &user{id: fmt.Sprintf("u%d", i)}
		var resp wire.MintTokenResponse
		req := &wire.MintTokenRequest{User: u.id, LifetimeMs: (366 * 24 * time.Hour).Milliseconds()}
		if err := skein.Post(ctx, s.url(), "skein.v1.AdminService/MintToken", s.adminKey(), req, &resp); err != nil {
			return nil, err
		}
		u.token = resp.Tokens.AccessToken
		for n := range devices {
			if err := skein.Post(ctx, s.url(), "skein.v1.AdminService/MintToken", s.adminKey(), req, &resp); err != nil {
				return nil, err
			}
			u.devices = append(u.devices, &device{name: fmt.Sprintf("%s/%d", u.id, n), user: u, n: n, token: resp.Tokens.AccessToken})
		}
		w.users, ids = append(w.users, u), append(ids, u.id)
	}
	w.model = newModel(ids)
	for _, u := range w.users {
		// What a new user is by default is not the model's business.
		req := &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE, GroupPolicy: wire.GroupPolicy_GROUP_POLICY_ANYONE, DisplayName: proto.String("name of " + u.id)}
		if err := w.post(ctx, u, "UserService/UpdateProfile", req, &wire.UpdateProfileResponse{}); err != nil {
			return nil, err
		}
		w.model.event(w.model.feed(u.id), u.id, wire.EventType_EVENT_TYPE_PROFILE_CHANGED, []string{u.id}, req.GetDisplayName(), "")
		for _, d := range u.devices {
			if err := d.open(ctx, w, true); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func (w *walk) close() {
	for _, u := range w.users {
		for _, d := range u.devices {
			if d.client != nil {
				_ = d.client.Close()
			}
		}
	}
}

// tellEvery is after how many operations a walk tells how far it is.
const tellEvery = 10_000

// run makes all steps. Its error is a *drift if the model and a view differ.
func (w *walk) run(ctx context.Context) error {
	began := time.Now()
	defer func() { w.report.Seconds = time.Since(began).Seconds() }()
	for i := range w.o.operations {
		// So many crashes are left for so many steps.
		crash := w.rng.IntN(w.o.operations-i) < w.o.crashes-w.report.Crashes
		if err := w.step(ctx, crash); err != nil {
			return fmt.Errorf("step %d: %w\nthe last steps:\n%s", i+1, err, strings.Join(w.recent, "\n"))
		}
		w.report.Operations++
		n := i + 1
		if n%tellEvery == 0 && w.o.progress != nil {
			w.o.progress("%d operations, %d crashes, %.0f s", n, w.report.Crashes, time.Since(began).Seconds())
		}
		if n%w.o.every == 0 || n == w.o.operations {
			full := n == w.o.operations || n/w.o.every%40 == 0
			if err := w.compare(ctx, full); err != nil {
				return fmt.Errorf("after step %d: %w\nthe last steps:\n%s", n, err, strings.Join(w.recent, "\n"))
			}
		}
	}
	for _, c := range w.model.convs {
		w.report.Entries += c.head()
	}
	return nil
}

// step does one operation, and kills the server during it.
func (w *walk) step(ctx context.Context, crash bool) error {
	w.crashed = crash
	name, o := w.pick()
	w.report.Kinds[name]++
	line := o.text
	if crash {
		line += " (the server is killed)"
	}
	if w.recent = append(w.recent, line); len(w.recent) > 40 {
		w.recent = w.recent[1:]
	}
	if w.o.log != nil {
		w.o.log("%s -> %s", line, o.want)
	}
	restarted := make(chan error, 1)
	if crash {
		w.report.Crashes++
		after := time.Duration(w.rng.IntN(4000)) * time.Microsecond
		go func() {
			time.Sleep(after)
			w.server.kill()
			restarted <- w.server.start(ctx)
		}()
	} else {
		restarted <- nil
	}
	within, cancel := context.WithTimeout(ctx, patience)
	err := o.do(within)
	cancel()
	if failed := <-restarted; failed != nil {
		return failed
	}
	code := okay
	if e := (*skein.Error)(nil); errors.As(err, &e) {
		code = string(e.Code)
	} else if err != nil {
		return fmt.Errorf("%s: %w", o.text, err)
	}
	if crash && o.want == okay {
		code = okay // a repeat may be told that there is nothing left to do; the views tell
	}
	switch {
	case code != o.want:
		return &drift{fmt.Sprintf("%s: the server says %q (%v), the model %q", o.text, code, err, o.want)}
	case code != okay:
		w.report.Refused++
		return nil
	}
	if err := o.done(); err != nil {
		return &drift{o.text + ": " + err.Error()}
	}
	return nil
}

// device returns one of the user's that is connected, nil if none is.
func (w *walk) device(u *user) *device {
	for range 4 {
		if d := u.devices[w.rng.IntN(len(u.devices))]; d.client != nil {
			return d
		}
	}
	return nil
}

// post calls a method over HTTP until it is answered. What is repeated has a new
// idempotency key: it has to be harmless by itself.
func (w *walk) post(ctx context.Context, u *user, method string, req, resp proto.Message) error {
	for {
		err := skein.Post(ctx, w.server.url(), "skein.v1."+method, u.token, req, resp)
		if err == nil || final(err) || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// final tells that an error is an answer, and the same when it is asked again.
func final(err error) bool {
	var e *skein.Error
	if !errors.As(err, &e) {
		return false
	}
	// Requests are not limited here, so this is about a contact who refused.
	return e.Code.Info().Number >= 4400 || e.Code == wire.CodeRateLimited
}

// either is a call over a connection or over HTTP.
func (w *walk) either(u *user, method string, req, resp proto.Message) func(context.Context) error {
	// While the server is killed calls of a client would wait for their keys.
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		return func(ctx context.Context) error { return d.client.Call(ctx, "skein.v1."+method, req, resp) }
	}
	return func(ctx context.Context) error { return w.post(ctx, u, method, req, resp) }
}

// newID makes a UUIDv7 greater than the last one.
func (w *walk) newID() []byte {
	for {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		ms := w.server.clock.Now().UnixMilli()
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
		if string(id[:]) > string(w.lastID[:]) {
			w.lastID = id
			return id[:]
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
