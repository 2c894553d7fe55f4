package main

import "github.com/skein-im/skein/cmd/internal/command"

// benchCmd is what is left of `skein bench`: the load generators are skein-lab's,
// and a server has none of them. Who still types it should not have to search.
type benchCmd struct {
	Args []string `arg:"" optional:""`
}

func (benchCmd) Run() error {
	return command.UsageError("bench is a program of its own: skein-lab bench …, with the same scenarios and flags; make build makes it beside skein")
}
