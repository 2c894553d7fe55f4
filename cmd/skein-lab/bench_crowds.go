package main

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

type benchStormCmd struct {
	benchFlags `embed:""`
	Members    int           `default:"10000" help:"Members of the group, all online; an even number."`
	Rate       float64       `default:"200" help:"Entries per second in the group, each from another member."`
	Reactions  float64       `default:"1" help:"The share of them that are reactions to one message; the others are messages."`
	Direct     int           `default:"200" help:"Others who chat with each other; an even number."`
	DirectRate float64       `default:"100" help:"Messages per second of theirs, in all."`
	CrowdNice  int           `default:"0" help:"Have the group's members in load processes of their own that give way to all others by so much (nice, 0 to 19), as if they were on another machine."`
	Payload    int           `default:"100" help:"Bytes of a message's text."`
	Duration   time.Duration `default:"10s" help:"How long the storm lasts, and how long the direct chats are measured before it."`
	Warmup     time.Duration `default:"3s" help:"How long the direct chats go on before they are measured."`
}

func (c *benchStormCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Reactions < 0 || c.Reactions > 1 || c.Payload < 0 || c.Duration <= 0 || c.Warmup < 0 || c.CrowdNice < 0 || c.CrowdNice > 19 {
		return errors.New("bench storm: want a share between 0 and 1, a duration, a niceness of at most 19, nothing negative")
	}
	o.Connections, o.GroupSize, o.StormRate, o.Reactions = c.Members+c.Direct, c.Members, c.Rate, c.Reactions
	o.CrowdNice = c.CrowdNice
	o.Rate, o.Payload, o.Duration, o.Warmup = c.DirectRate, c.Payload, c.Duration, c.Warmup
	r, err := bench.Storm(ctx, o, c.start)
	return c.print(r, err)
}

type benchGroupCmd struct {
	benchFlags `embed:""`
	Members    int `default:"10000" help:"Members of the group, none of them online."`
	Rounds     int `default:"200" help:"How often each thing is done, one after the other."`
}

func (c *benchGroupCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	o.GroupSize, o.Rounds = c.Members, c.Rounds
	r, err := bench.Roster(ctx, o, c.start)
	return c.print(r, err)
}

type benchAmendCmd struct {
	benchFlags `embed:""`
	Members    int           `default:"10" help:"Members of the group, all online; an even number."`
	Rate       float64       `default:"500" help:"Entries per second, from all members."`
	Payload    int           `default:"100" help:"Bytes of a message's text."`
	Duration   time.Duration `default:"5s" help:"How long each kind goes on."`
}

func (c *benchAmendCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Payload < 0 || c.Duration <= 0 {
		return errors.New("bench amend: want a duration, nothing negative")
	}
	o.GroupSize, o.StormRate, o.Payload, o.Duration = c.Members, c.Rate, c.Payload, c.Duration
	r, err := bench.Amend(ctx, o, c.start)
	return c.print(r, err)
}

type benchSearchCmd struct {
	benchFlags `embed:""`
	Users      int           `default:"480" help:"Logged-in users, each with 15 conversations; a multiple of 16."`
	Stored     int           `default:"1000000" help:"Messages that are searched."`
	Asked      int           `default:"300" help:"Questions of each kind."`
	Rate       float64       `default:"1000" help:"Messages per second while it is looked how far the index is behind."`
	Rounds     int           `default:"3" help:"Runs with and without the index, at each rate, for what messages pay; 0: none."`
	Duration   time.Duration `default:"8s" help:"How long each rate is measured."`
	Warmup     time.Duration `default:"2s" help:"How long before that is not counted."`
}

func (c *benchSearchCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Duration <= 0 || c.Warmup < 0 || c.Asked < 1 {
		return errors.New("bench search: want a duration, a question, nothing negative")
	}
	o.Connections, o.Rate, o.Duration, o.Warmup, o.Rounds = c.Users, c.Rate, c.Duration, c.Warmup, c.Asked
	r, err := bench.Search(ctx, o, c.Stored, c.Rounds, c.start)
	return c.print(r, err)
}
