//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
	"os"
)

var errNoNamespaces = errors.New("clusters need Linux: every node gets a network namespace of its own")

func canPartition() error { return errNoNamespaces }
func isInside() bool      { return false }

func inside(context.Context, []string, io.Writer) error { return errNoNamespaces }

type network struct{}

func newNetwork() (*network, error) { return nil, errNoNamespaces }

func (n *network) machine() (*machine, error) { return nil, errNoNamespaces }

type machine struct{ addr string }

func (m *machine) close() error           { return nil }
func (m *machine) enter() error           { return errNoNamespaces }
func (m *machine) cut(...*machine) error  { return errNoNamespaces }
func (m *machine) join(...*machine) error { return errNoNamespaces }

func freeze(*os.Process) error { return errNoNamespaces }
func thaw(*os.Process) error   { return errNoNamespaces }
