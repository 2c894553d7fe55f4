package e2e

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// tracesSeen is a collector: spans by the name of the node.
type tracesSeen struct {
	mu    sync.Mutex
	spans []spanSeen
}

type spanSeen struct{ node, trace, id, parent, name string }

func (c *tracesSeen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body) // what is cut off is no JSON
	var q struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID, Name string }
			}
		}
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range q.ResourceSpans {
		node := ""
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.instance.id" {
				node = a.Value.StringValue
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, spanSeen{node, s.TraceID, s.SpanID, s.ParentSpanID, s.Name})
			}
		}
	}
}

// TestTracedOverNodes: one message's way through five nodes is one trace, under the
// message's id, and each part is found below the one that it is a part of.
func TestTracedOverNodes(t *testing.T) {
	t.Parallel()
	var c tracesSeen
	srv := httptest.NewServer(&c)
	t.Cleanup(srv.Close)
	w := split(t, terms{settings: map[string]string{"tracing.endpoint": srv.URL, "tracing.sample": "1", "accounts.dm_policy": "everyone"}})
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	m := ann.says(ann.DM("bob").ID(), "Where have you been?")
	bob.reaches(ann.DM("bob").ID(), m.Seq)
	want := []string{"dispatch deliver", "gateway push", "gateway receive", "journal append", "logic send"}
	var mine []spanSeen
	for ctx := deadline(t); ; {
		c.mu.Lock()
		mine = slices.DeleteFunc(slices.Clone(c.spans), func(s spanSeen) bool { return s.trace != hex.EncodeToString(m.ID[:]) })
		c.mu.Unlock()
		var names []string
		for _, s := range mine {
			names = append(names, s.name)
		}
		slices.Sort(names)
		if slices.Equal(slices.Compact(names), want) {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%v", mine)
		case <-time.After(50 * time.Millisecond):
		}
	}
	ids, role := map[string]bool{}, map[string]string{}
	for _, s := range mine {
		ids[s.id] = true
		role[s.name] = s.node
	}
	for _, s := range mine {
		if s.parent != "" && !ids[s.parent] {
			t.Errorf("the parent of %+v is not there: %v", s, mine)
		}
		if s.parent == "" != (s.name == "gateway receive") {
			t.Errorf("%+v", s)
		}
	}
	if role["gateway receive"][:7] != "gateway" || role["logic send"][:5] != "logic" || role["journal append"] != role["logic send"] {
		t.Errorf("%v", role)
	}
	ann.leave()
	bob.leave()
}
