package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

// CallCost is what calls of one kind took, one after the other over HTTP, in protobuf.
type CallCost struct {
	Calls int     `json:"calls"`
	MS    Latency `json:"ms"`
	// Bytes are of an answer's body, on average; CPUMicros the server's for a call.
	Bytes     float64 `json:"answer_bytes"`
	CPUMicros float64 `json:"server_cpu_us"`
}

// each makes n calls. Waiting for a rate is not counted.
func (r *run) each(ctx context.Context, n int, one func(i int) (answered, error)) (x CallCost, err error) {
	from, err := r.s.usage(ctx)
	if err != nil {
		return x, err
	}
	var took histogram
	size := 0
	for i := range n {
		a, err := one(i)
		if err != nil {
			return x, err
		}
		took.record(a.took)
		size += a.size
	}
	to, err := r.s.usage(ctx)
	if err != nil {
		return x, err
	}
	of := float64(max(n, 1))
	return CallCost{Calls: n, MS: took.latency(), Bytes: float64(size) / of, CPUMicros: (to.cpu - from.cpu).Seconds() * 1e6 / of}, nil
}

// answered is how long an answer took, and its size.
type answered struct {
	took time.Duration
	size int
}

// timed makes a call in protobuf, again as often as the rate sends it away, and measures
// the last time.
func (s *Server) timed(ctx context.Context, token, method string, in, out proto.Message) (a answered, err error) {
	body, err := proto.Marshal(in)
	if err != nil {
		return a, err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api+"/api/skein.v1."+method, bytes.NewReader(body))
		if err != nil {
			return a, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/proto")
		began := time.Now()
		resp, err := apiClient.Do(req)
		if err != nil {
			return a, err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		a = answered{time.Since(began), len(raw)}
		switch {
		case err != nil:
			return a, err
		case resp.StatusCode == http.StatusOK:
			return a, proto.Unmarshal(raw, out)
		case resp.StatusCode != http.StatusTooManyRequests:
			return a, fmt.Errorf("%s: %s: %s", method, resp.Status, raw)
		}
		wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil {
			return a, fmt.Errorf("%s: %s without a time to wait", method, resp.Status)
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(time.Duration(wait) * time.Second):
		}
	}
}
