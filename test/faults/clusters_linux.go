package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// clusters makes the runs of all chosen faults, one after the other, inside a
// network namespace of their own.
func clusters(ctx context.Context, o options, out io.Writer) (err error) {
	faults, err := chosenFaults(o.fault)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := canPartition(); err != nil {
		return err
	}
	if !isInside() {
		return goInside(ctx, o, out)
	}
	net, err := newNetwork()
	if err != nil {
		return err
	}
	var results []*clusterResult
	var errs []error
	for _, f := range faults {
		r, err := hurtCluster(ctx, o, f, net)
		if err == nil {
			results = append(results, r.result)
			err = r.err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s (seed %d, files in %s): %w", f.name, o.seed, r.dir, err))
		}
		if r.result != nil && !o.json {
			if err := r.result.print(out); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append(errs, printClusters(out, results, o.json))...)
}

// hurt is a run that came to an end.
type hurt struct {
	result *clusterResult
	dir    string
	err    error // the verdict
}

func hurtCluster(ctx context.Context, o options, f *clusterFault, net *network) (hurt, error) {
	c := newCluster(o, f, net)
	if err := c.run(ctx); err != nil {
		return hurt{dir: c.dir, result: c.result()}, err
	}
	h := hurt{result: c.result(), dir: c.dir}
	h.err = h.result.verdict()
	switch {
	case h.err != nil:
		return h, nil
	case o.keep:
		fmt.Fprintln(os.Stderr, "kept", c.dir)
		return h, nil
	}
	return h, os.RemoveAll(c.dir)
}

// goInside builds the server, which may need the network, and does the rest in
// a process of its own.
func goInside(ctx context.Context, o options, out io.Writer) error {
	bin := o.bin
	if bin == "" {
		dir, err := os.MkdirTemp("", "skein-faults-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if bin, err = build(ctx, dir, o.tags); err != nil {
			return err
		}
	}
	next := o.next
	if next == "" && (o.fault == "upgrade" || o.fault == "all") {
		var remove func()
		var err error
		if next, remove, err = buildNext(ctx, o); err != nil {
			return err
		}
		defer remove()
	}
	args := []string{
		"cluster", "--bin", bin, "--next", next, "--fault", o.fault, "--rounds", strconv.Itoa(o.rounds), "--clients", strconv.Itoa(o.clients),
		"--rate", strconv.FormatFloat(o.rate, 'g', -1, 64), "--seed", strconv.FormatUint(o.seed, 10),
		"--json=" + strconv.FormatBool(o.json), "--keep=" + strconv.FormatBool(o.keep), "-v=" + strconv.FormatBool(o.verbose),
	}
	if err := inside(ctx, args, out); err != nil {
		return fmt.Errorf("%w (told above)", err)
	}
	return nil
}
