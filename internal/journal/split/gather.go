package split

import (
	"errors"
	"sync"
)

// part is what one shard is asked of a call, and what it answers.
type part[T, R any] struct {
	shard int
	at    []int // the places of the items in the call; nil: it is all of it
	in    []T
	out   []R
	err   error
}

// cut makes the parts of a call, in the order of their first items. Of says where an
// item belongs. Where all belong to one shard, nothing is copied.
func cut[T, R any](in []T, out []R, of func(T) int) []part[T, R] {
	if len(in) == 0 {
		return nil
	}
	first, i := of(in[0]), 1
	for i < len(in) && of(in[i]) == first {
		i++
	}
	if i == len(in) {
		return []part[T, R]{{shard: first, in: in, out: out}}
	}
	var parts []part[T, R]
	places := map[int]int{}
	for i := range in {
		shard := of(in[i])
		k, ok := places[shard]
		if !ok {
			k = len(parts)
			places[shard] = k
			parts = append(parts, part[T, R]{shard: shard})
		}
		p := &parts[k]
		p.at, p.in = append(p.at, i), append(p.in, in[i])
	}
	for k := range parts {
		parts[k].out = make([]R, len(parts[k].in))
	}
	return parts
}

// put copies what was answered to where it belongs.
func (p *part[T, R]) put(out []R) {
	for k, i := range p.at {
		out[i] = p.out[k]
	}
}

// together calls fn for 0 … n-1 at the same time, and returns when all have returned.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() { fn(i) })
	}
	if n > 0 {
		fn(0)
	}
	wg.Wait()
}

// gather asks each shard for its part of a question, and is answered when all were.
func gather[T, R any](in []T, out []R, of func(T) int, ask func(shard int, in []T, out []R) error) error {
	parts := cut(in, out, of)
	together(len(parts), func(k int) {
		p := &parts[k]
		p.err = ask(p.shard, p.in, p.out)
	})
	errs := make([]error, 0, len(parts))
	for k := range parts {
		errs = append(errs, parts[k].err)
		parts[k].put(out)
	}
	if len(parts) == 1 {
		return parts[0].err
	}
	return errors.Join(errs...)
}
