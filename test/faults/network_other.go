//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

type clusterFault struct{ name, does string }

func clusterFaults() []*clusterFault { return nil }

func clusters(context.Context, options, io.Writer) error {
	return errors.New("clusters need Linux: every node gets a network namespace of its own")
}

func isInside() bool { return false }
