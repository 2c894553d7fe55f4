package main

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

type benchMediaCmd struct {
	benchFlags    `embed:""`
	Store         string        `help:"media.store of the server: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; default: a directory that is removed at the end." placeholder:"PLACE"`
	MB            int64         `name:"mb" default:"1024" help:"MB of the long upload."`
	Cuts          int           `default:"5" help:"How often it is cut and resumed."`
	Pictures      int           `default:"200" help:"Pictures that are uploaded at once."`
	Width         int           `default:"4000" help:"Of a picture, in pixels."`
	Height        int           `default:"3000" help:"Of a picture, in pixels."`
	PictureMemory string        `help:"media.picture_memory of the server; default: its own." placeholder:"SIZE"`
	Users         int           `default:"200" help:"Logged-in users, in pairs."`
	Rate          float64       `default:"200" help:"Messages per second of theirs in all."`
	Duration      time.Duration `default:"20s" help:"How long acks are measured without pictures, for the ratio."`
}

// Run measures uploads.
func (c *benchMediaCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.MB < 1 || c.Cuts < 0 || c.Pictures < 1 || c.Width < 1 || c.Height < 1 || c.Users < 2 || c.Rate <= 0 || c.Duration <= 0 {
		return errors.New("bench media: users must be 2 or more, mb, pictures, width, height, rate and duration positive, nothing negative")
	}
	o.Connections, o.Rate, o.Duration, o.Warmup, o.Window, o.Payload = c.Users, c.Rate, c.Duration, 5*time.Second, 1, 100
	r, err := bench.Media(ctx, o, bench.MediaOptions{
		Store: c.Store, Bytes: c.MB << 20, Cuts: c.Cuts, Pictures: c.Pictures, Width: c.Width, Height: c.Height, Memory: c.PictureMemory,
	}, c.start)
	return c.print(r, err)
}
