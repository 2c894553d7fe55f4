package remote

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/bus"
)

// foreign is the bus of a node that speaks another version: what it says is of
// that version, and it hears only that.
type foreign struct {
	bus.Bus
	bus.Handler
	version byte
}

func (f *foreign) Publish(subject string, data []byte) {
	f.Bus.Publish(subject, append([]byte{f.version}, data[1:]...))
}

func (f *foreign) Message(subject string, data []byte) {
	switch {
	case len(data) > 0 && data[0] == f.version:
		data = append([]byte{version}, data[1:]...)
	case len(data) > 0 && data[0] == version:
		data = append([]byte{f.version}, data[1:]...)
	}
	f.Handler.Message(subject, data)
}

// addForeign starts a node that speaks another version.
func (w *world) addForeign(name string, v byte) {
	w.t.Helper()
	w.addWith(name, func(h bus.Handler) (bus.Bus, error) {
		f := &foreign{Handler: h, version: v}
		f.Bus = w.hub.Open(name, f)
		return f, nil
	}, nil, nil)
}

// Two halves that do not understand each other say so, once for every node, and
// everything that one stores is shown to the users of the other all the same.
func TestTwoVersionsOfTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer w.close()
		var said bytes.Buffer
		reg := prometheus.NewRegistry()
		w.addWith("gl1", nil, slog.New(slog.NewTextHandler(&said, nil)), reg)
		if got := w.nodes["gl1"].Warnings(); len(got) > 0 {
			t.Fatal(got)
		}
		w.addForeign("gl2", version+1)
		w.addForeign("gl3", version+1)
		w.addForeign("l4", version-1)
		for _, u := range []string{"gl1", "gl2"} {
			w.doors[u].online["b00"] = true
			w.nodes[u].UserHere("b00")
		}
		pass(3 * time.Second)
		for name, want := range map[string]byte{"gl2": version + 1, "gl3": version + 1, "l4": version - 1} {
			if n := strings.Count(said.String(), "peer="+name+" "); n != 1 || !strings.Contains(said.String(), fmt.Sprintf("peer=%s its_version=%d our_version=%d", name, want, version)) {
				t.Errorf("%s was named %d times in %s", name, n, &said)
			}
		}
		if got := w.nodes["gl1"].Warnings(); len(got) != 3 || !strings.Contains(got[0], fmt.Sprintf("node gl2 speaks version %d of the bus, this one %d", version+1, version)) {
			t.Errorf("warnings %q", got)
		}
		if got := gauge(t, reg, "skein_cluster_other_version_nodes"); got != 3 {
			t.Errorf("%v nodes of another version are counted", got)
		}
		if n := w.nodes["gl1"].peers.list(roleGateway | roleLogic); len(n) > 0 {
			t.Errorf("heard as nodes: %v", n)
		}
		// Each half stores, and shows what the other stored.
		for n := range 3 {
			a, b := w.send("gl1", "a00", dm(0)), w.send("gl2", "c00", dm(0))
			pass(2*compareEvery + 2*repairAgain)
			w.stored([]*sent{a})
			w.stored([]*sent{b})
			for _, node := range []string{"gl1", "gl2"} {
				if got := w.doors[node].head(dm(0)); got != uint64(2*n+2) {
					t.Errorf("head %d at %s after %d", got, node, 2*n+2)
				}
			}
		}
		// Gone, they are no reason to worry any more, and what they stored last is found.
		last := w.send("gl2", "c00", dm(0))
		pass(100 * time.Millisecond)
		w.stored([]*sent{last})
		for _, name := range []string{"gl2", "gl3", "l4"} {
			w.kill(name)
		}
		pass(2*deadAfter + repairAgain)
		if got := w.doors["gl1"].head(dm(0)); got != 7 {
			t.Errorf("head %d", got)
		}
		if got := w.nodes["gl1"].Warnings(); len(got) > 0 {
			t.Errorf("warnings %q", got)
		}
		verified := w.doors["gl1"].verifications()
		pass(4 * compareEvery)
		if got := w.doors["gl1"].verifications(); got != verified {
			t.Errorf("verified %d times more, with nobody there", got-verified)
		}
	})
}

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric " + name)
	return 0
}
