package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func figuresOf(t *testing.T, at time.Time, text string) *figures {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return &figures{at: at, all: all, ready: "ready"}
}

const topBefore = `# TYPE skein_build_info gauge
skein_build_info{version="1.2",goversion="go1"} 1
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 10
# TYPE skein_messaging_accepted_total counter
skein_messaging_accepted_total 1000
# TYPE skein_messaging_rejected_total counter
skein_messaging_rejected_total{code="rate_limited"} 5
skein_messaging_rejected_total{code="overloaded"} 5
# TYPE skein_messaging_send_duration_seconds histogram
skein_messaging_send_duration_seconds_bucket{le="0.005"} 900
skein_messaging_send_duration_seconds_bucket{le="0.05"} 1000
skein_messaging_send_duration_seconds_bucket{le="+Inf"} 1000
skein_messaging_send_duration_seconds_sum 1
skein_messaging_send_duration_seconds_count 1000
`

// The figures are those of the interval, not since the start, and what a server does not
// have is left open.
func TestTop(t *testing.T) {
	now := strings.NewReplacer("process_cpu_seconds_total 10", "process_cpu_seconds_total 11", "accepted_total 1000", "accepted_total 3000", `"overloaded"} 5`, `"overloaded"} 25`,
		`le="0.005"} 900`, `le="0.005"} 2880`, `le="0.05"} 1000`, `le="0.05"} 3000`, `le="+Inf"} 1000`, `le="+Inf"} 3000`, "_count 1000", "_count 3000").Replace(topBefore)
	at := time.Now()
	a, b := figuresOf(t, at, topBefore), figuresOf(t, at.Add(2*time.Second), now)
	if got := quantile(0.99, a, b, "skein_messaging_send_duration_seconds"); got != 0.005 {
		t.Errorf("p99 %v: 1,980 of 2,000 took 5 ms", got)
	}
	if got := quantile(0.5, a, a, "skein_messaging_send_duration_seconds"); !math.IsNaN(got) {
		t.Errorf("nothing was sent, and took %v", got)
	}
	var out bytes.Buffer
	printTop(&out, a, b)
	for _, want := range []string{"version 1.2", "CPU 50%", "stored 1000/s", "refused 10/s", "p99 ≤ 5 ms", "open –", "is ready"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "\n"); n > 20 {
		t.Errorf("%d lines are more than a screen", n)
	}
}
