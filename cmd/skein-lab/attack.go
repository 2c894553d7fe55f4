package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

type attackCmd struct {
	Skein     skeinPath     `help:"The server to attack, any build; default: skein beside this program, or on PATH." placeholder:"PATH"`
	Addresses int           `default:"200" help:"Addresses of this machine, 127.x.y.z, that guess passwords."`
	Each      time.Duration `default:"10s" help:"How long each attack takes."`
	Strangers int           `default:"12" help:"Strangers that make groups with a victim, and ask to be their contact."`
	Sockets   int           `default:"5000" help:"Connections that are opened and say nothing, or little."`
	Bad       int           `default:"10000" help:"Bad requests, of which the log is measured."`
	Set       []string      `help:"A further setting of the server; the others are as shipped, except that strangers may write to each other." placeholder:"KEY=VALUE"`
	JSON      bool          `name:"json" help:"Print one JSON object on stdout."`
}

// Run starts a server and attacks it.
func (c *attackCmd) Run(ctx context.Context) error {
	if c.Addresses < 1 || c.Addresses > 60_000 || c.Each < time.Second || c.Strangers < 1 || c.Strangers > 250 || c.Sockets < 1 || c.Bad < 1 {
		return errors.New("attack: want 1 to 60000 addresses, 1 to 250 strangers, a second or more each, and a connection and a bad request")
	}
	if err := bench.Attackable(); err != nil {
		return err
	}
	program, err := c.Skein.find()
	if err != nil {
		return err
	}
	said, err := versionOf(ctx, program)
	if err != nil {
		return err
	}
	r, err := bench.Attack(ctx, program, bench.AttackOptions{
		Addresses: c.Addresses, Each: c.Each, Strangers: c.Strangers, Sockets: c.Sockets, Bad: c.Bad, Set: c.Set,
	}, os.Stderr)
	if err != nil {
		return err
	}
	r.Version, r.Server = version, said
	return show(c.JSON, r)
}
