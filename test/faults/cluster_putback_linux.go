package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/soak"
)

// keptCopies is how many copies of the database are kept: an older one than the
// last return may be put back.
const keptCopies = 3

// putBack puts an older copy of the database in its place: a base backup, or its
// files as they were while it was stopped or after kill -9. The write-ahead log
// keeps its timeline, so nothing tells but what nodes and devices know.
func (c *cluster) putBack(ctx context.Context) error {
	copied, err := c.copyDatabase(ctx)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if err := wait(ctx, c.between(500*time.Millisecond, 3*time.Second)); err != nil {
		return err
	}
	back := copied
	if c.rng.IntN(4) == 0 {
		back = c.copies[c.rng.IntN(len(c.copies))]
	}
	m := c.begin("put back " + back.what)
	if err := c.endDatabase(); err != nil {
		return err
	}
	ret := soak.Return{What: back.what, CopyBegan: back.began, CopyEnded: back.ended, Of: back.line, Over: soak.Now(), Stays: true, Kept: back.kept}
	end := fmt.Sprint("end", c.rounds)
	if err := errors.Join(c.postgres.Aside(end), c.postgres.PutBack(back.dir)); err != nil {
		return err
	}
	if err := c.world.Heard(ctx, silence); err != nil {
		return err
	}
	c.world.WentBack(&ret)
	ret.Began = soak.Now()
	if err := c.postgres.Restart(); err != nil {
		return fmt.Errorf("start the database on %s: %w", back.what, err)
	}
	if err := c.healed(ctx, m); err != nil {
		return err
	}
	ret.Ready = soak.Now()
	ret.End, err = c.lookAt(ctx, end)
	c.returns = append(c.returns, ret)
	return errors.Join(err, c.postgres.Drop(end))
}

// endDatabase ends it in one way or the other.
func (c *cluster) endDatabase() error {
	if c.rng.IntN(2) == 0 {
		return c.postgres.Kill()
	}
	return c.postgres.Stop()
}

// copyDatabase takes a copy in one of the ways, in turn, and reads it.
func (c *cluster) copyDatabase(ctx context.Context) (n serverCopy, err error) {
	n = serverCopy{began: soak.Now(), line: len(c.returns), dir: fmt.Sprint("copy", c.rounds)}
	if c.rounds%2 == 1 {
		n.what = "base backup " + n.dir
		err = c.postgres.Save(n.dir)
	} else {
		n.what = "the files " + n.dir
		err = errors.Join(c.endDatabase(), c.postgres.Save(n.dir), c.postgres.Restart())
	}
	n.ended = soak.Now()
	if err != nil {
		return n, err
	}
	if n.kept, err = c.lookAt(ctx, n.dir); err != nil {
		return n, err
	}
	c.copies = append(c.copies, n)
	if len(c.copies) > keptCopies {
		err = c.postgres.Drop(c.copies[0].dir)
		c.copies = c.copies[1:]
	}
	return n, err
}

// lookAt reads the journal in a copy of the database.
func (c *cluster) lookAt(ctx context.Context, name string) (v soak.View, err error) {
	beside, err := c.postgres.Beside(name)
	if beside != nil {
		defer func() { err = errors.Join(err, beside.Kill(), c.postgres.Drop(name+"-beside")) }()
	}
	if err != nil {
		return v, err
	}
	v, wrong, err := readPostgres(ctx, beside.URL())
	for _, w := range wrong {
		c.trouble = append(c.trouble, name+": "+w)
	}
	return v, err
}
