package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

type healthCmd struct {
	Admin string `help:"Address of the private port." default:"127.0.0.1:8081" placeholder:"ADDR" env:"SKEIN_ADMIN_LISTEN"`
	Ready bool   `help:"Ask whether it serves, not only whether it lives."`
}

// Run asks a running server whether it is well: for a container's health check, where there is
// no other program that could ask. Not well is an error.
func (c *healthCmd) Run(ctx context.Context) error {
	path := "/livez"
	if c.Ready {
		path = "/readyz"
	}
	p := privatePort{Admin: c.Admin}
	status, body, err := p.get(ctx, path, false)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answered %d: %s", path, status, strings.TrimSpace(string(body)))
	}
	fmt.Println("ok")
	return nil
}
