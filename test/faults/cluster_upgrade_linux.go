package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// nextTag builds a program of the version after this one, as it may come: its
// stores have two more steps, one that expands and one that contracts
// (internal/schema).
const nextTag = "skein_next"

// upgrade exchanges the nodes of a cluster for those of the next version under
// load, one after the other, so that the first one's start changes the tables below
// the others. The nodes of before go on, and start again. Then, in turns, the
// exchange is taken back; or it is ended by contracting, which is refused while a
// node of before runs, and after which one of before is refused.
func (c *cluster) upgrade(ctx context.Context) error {
	before, err := c.ranges(ctx)
	if err != nil {
		return err
	}
	for i, n := range slices.Clone(c.nodes) {
		if i == len(c.nodes)-1 {
			if err := c.contract(ctx, "is in use by a process"); err != nil {
				return err
			}
		}
		if err := c.exchange(ctx, n, c.o.next); err != nil {
			return err
		}
		if i == 0 {
			now, err := c.ranges(ctx)
			if want := (ranges{before.Journal + 1, before.JournalLeast, before.Directory + 1, before.DirectoryLeast}); err != nil || now != want {
				return fmt.Errorf("the tables have %+v after the first node, want %+v (%w)", now, want, err)
			}
			// The last one starts on tables that are newer than it knows.
			if err := c.exchange(ctx, c.nodes[len(c.nodes)-1], c.o.bin); err != nil {
				return err
			}
		}
		if err := c.told(ctx); err != nil {
			return err
		}
	}
	if c.rounds%2 == 0 {
		if err := c.contracted(ctx, before); err != nil {
			return err
		}
	}
	for _, n := range slices.Clone(c.nodes) {
		if err := c.exchange(ctx, n, c.o.bin); err != nil {
			return err
		}
	}
	if c.rounds%2 == 0 {
		return nil
	}
	return c.takeBack(ctx, before)
}

// exchange restarts a node with a program.
func (c *cluster) exchange(ctx context.Context, n *node, bin string) error {
	version := map[string]string{c.o.bin: "this version", c.o.next: "the next version"}[bin]
	m := c.begin("restart "+n.name+" with "+version, n)
	if err := n.stop(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.bin = bin
	if err := c.again(ctx, n); err != nil {
		return err
	}
	return c.healed(ctx, m)
}

// told requires that the nodes of this version say what they stand on.
func (c *cluster) told(ctx context.Context) error {
	for _, n := range c.nodes {
		if n.bin != c.o.bin {
			continue
		}
		details, err := n.details(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		if !slices.ContainsFunc(details, func(s string) bool { return strings.Contains(s, "extended by a newer version") }) {
			c.trouble = append(c.trouble, fmt.Sprintf("%s does not say that the tables were extended: %q", n.name, details))
		}
	}
	return nil
}

// details are what /readyz?verbose names.
func (n *node) details(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.admin+"/readyz?verbose", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var r struct {
		Reasons, Details []string
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return nil, err
	}
	if len(r.Reasons) > 0 {
		return nil, fmt.Errorf("not ready: %q", r.Reasons)
	}
	return r.Details, nil
}

// contract takes the steps that shut this version out; refused, if not "", is what
// it must be refused with.
func (c *cluster) contract(ctx context.Context, refused string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.o.next, "migrate", "--contract", "--store", c.postgres.URL())
	cmd.Env = environ()
	out, err := cmd.CombinedOutput()
	c.say("contract: %v: %.300s", err, out)
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return err
	case refused == "" && err != nil:
		return fmt.Errorf("skein migrate --contract: %w: %s", err, out)
	case refused != "" && (err == nil || !strings.Contains(string(out), refused)):
		c.trouble = append(c.trouble, fmt.Sprintf("skein migrate --contract below a node of this version: %v: %.500s", err, out))
	}
	return nil
}

// contracted ends an upgrade, shows that this version is refused then, and makes the
// tables what they were before.
func (c *cluster) contracted(ctx context.Context, before ranges) error {
	if err := c.contract(ctx, ""); err != nil {
		return err
	}
	n := c.nodes[c.rng.IntN(len(c.nodes))]
	m := c.begin("start "+n.name+" with this version, which is shut out", n)
	if err := n.stop(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.bin = c.o.bin
	_, err := n.start(ctx)
	if err == nil || !strings.Contains(err.Error(), "was written by a newer version of skein, in a way that this version does not understand") {
		c.trouble = append(c.trouble, fmt.Sprintf("%s was started though it is shut out: %.1000v", n.name, err))
		n.kill()
	}
	n.bin = c.o.next
	if err := c.again(ctx, n); err != nil {
		return err
	}
	if err := c.healed(ctx, m); err != nil {
		return err
	}
	return c.takeBack(ctx, before)
}

// takeBack makes the tables those of this version again, as if nobody had
// extended them, for the next round.
func (c *cluster) takeBack(ctx context.Context, to ranges) error {
	sql := fmt.Sprintf(takeBackSQL, to.Journal, to.JournalLeast, to.Directory, to.DirectoryLeast)
	for tries := 0; ; tries++ {
		_, err := pgtest.Collect[struct{ N int }](ctx, c.postgres.URL(), sql)
		if err == nil || tries == 20 {
			return err
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// ranges are what the two stores say of themselves.
type ranges struct{ Journal, JournalLeast, Directory, DirectoryLeast int }

func (c *cluster) ranges(ctx context.Context) (r ranges, err error) {
	all, err := pgtest.Collect[ranges](ctx, c.postgres.URL(), `SELECT m.version, m.least, (SELECT max(version_id)::int FROM goose_db_version WHERE is_applied), d.least::int FROM journal_meta m, directory_compatible d`)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d rows tell the versions of the tables", len(all))
	}
	if err != nil {
		return r, err
	}
	return all[0], nil
}

// takeBackSQL undoes the steps of nextTag. It waits for no lock for longer than
// a migration does.
const takeBackSQL = `DO $$ BEGIN
	SET LOCAL lock_timeout = 400;
	DROP INDEX IF EXISTS journal_heads_next;
	ALTER TABLE journal_heads DROP COLUMN IF EXISTS next_note;
	ALTER TABLE journal_entries DROP COLUMN IF EXISTS next_note;
	UPDATE journal_meta SET version = %d, least = %d;
	DROP INDEX IF EXISTS memberships_next;
	ALTER TABLE memberships DROP COLUMN IF EXISTS next_note;
	ALTER TABLE users DROP COLUMN IF EXISTS next_note;
	DELETE FROM goose_db_version WHERE version_id > %d;
	UPDATE directory_compatible SET least = %d;
END $$`

// buildNext builds the program of the next version.
func buildNext(ctx context.Context, o options) (bin string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "skein-faults-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // a directory of our own
	tags := strings.Trim(o.tags+","+nextTag, ",")
	if bin, err = build(ctx, dir, tags); err != nil {
		remove()
		return "", nil, err
	}
	return bin, remove, nil
}
