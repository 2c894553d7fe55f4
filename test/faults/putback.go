package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/backup"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/soak"
)

// putback puts older copies of the whole data directory in the server's place
// while its clients send and wait to send. Every device has to find out, and no
// message that is acknowledged after that may be skipped by anybody.
func putback(ctx context.Context, o options, out io.Writer) error {
	return judgeRun(ctx, o, out, &run{o: o, name: "put back", strike: (*run).putBack}, func(dir string) (fault, error) { return killing{dir}, nil })
}

// serverCopy is an older state of the server.
type serverCopy struct {
	what         string
	began, ended int64
	line         int // in which it was taken
	// dir is a copy of the data; otherwise id is a backup. kept is what was read in it.
	dir, id string
	kept    soak.View
}

// silence is for how long nobody hears anything between the end of a server and the
// start of the next one: what the old one had said is read and written down then.
const silence = 3 * time.Second

// putBack is one round: load, a copy, more load, the end, and the copy in its place.
func (r *run) putBack(ctx context.Context, _ fault, rng *rand.Rand) error {
	copied, err := r.copy(ctx, r.struck%4)
	if err != nil {
		return fmt.Errorf("copy %d: %w", r.struck, err)
	}
	r.copies = append(r.copies, copied)
	if err := wait(ctx, between(rng, 200*time.Millisecond, 1500*time.Millisecond)); err != nil {
		return err
	}
	// Mostly the newest, now and then one that an earlier return had made too old.
	back := copied
	if rng.IntN(4) == 0 {
		back = r.copies[rng.IntN(len(r.copies))]
	}
	if rng.IntN(2) == 0 {
		r.server.kill()
	} else if err := r.server.stop(ctx); err != nil {
		return err
	}
	ret := soak.Return{What: back.what, CopyBegan: back.began, CopyEnded: back.ended, Of: back.line, Over: soak.Now()}
	if ret.End, err = readStore(ctx, r.server.data); err != nil {
		return fmt.Errorf("what was: %w", err)
	}
	if err := r.bring(ctx, back); err != nil {
		return fmt.Errorf("put back %s: %w", back.what, err)
	}
	if ret.Kept, err = readStore(ctx, r.server.data); err != nil {
		return fmt.Errorf("what was put back: %w", err)
	}
	if err := r.world.Heard(ctx, silence); err != nil {
		return err
	}
	// Who talks where has to be known before anybody can talk.
	r.world.WentBack(&ret)
	ret.Began = soak.Now()
	took, err := r.server.start(ctx)
	if err != nil {
		return fmt.Errorf("start on %s: %w", back.what, err)
	}
	ret.Ready = soak.Now()
	r.say("put back %s", back.what)
	r.returns, r.restarts = append(r.returns, ret), append(r.restarts, took)
	return nil
}

// copy takes one, in the ways in which people do in turn.
func (r *run) copy(ctx context.Context, way int) (c serverCopy, err error) {
	n := len(r.copies)
	c = serverCopy{began: soak.Now(), line: len(r.returns), dir: filepath.Join(r.dir, fmt.Sprint("copy", n))}
	switch way {
	case 1:
		c.what = fmt.Sprint("a snapshot of the disk ", n)
		err = r.snapshot(ctx, c.dir)
		c.ended = soak.Now()
		return c, err
	case 2:
		c.what, c.dir = fmt.Sprint("backup ", n), ""
		c.id, err = r.backUp(ctx)
		c.ended = soak.Now()
		return c, err
	case 3:
		c.what = fmt.Sprint("the files after a stop ", n)
		err = r.server.stop(ctx)
	default:
		c.what = fmt.Sprint("the files after kill -9 ", n)
		r.server.kill()
	}
	c.ended = soak.Now()
	if err == nil {
		err = copyDir(ctx, r.server.data, c.dir)
	}
	if err == nil {
		_, err = r.server.start(ctx)
	}
	return c, err
}

// snapshot copies the files as they are at one moment, as a snapshot of the disk
// does. The server goes on and hears nothing of it; its clients stay connected.
func (r *run) snapshot(ctx context.Context, to string) error {
	p := r.server.cmd.Process
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := copyDir(ctx, r.server.data, to)
	return errors.Join(err, p.Signal(syscall.SIGCONT))
}

// bring makes the data directory what a copy is.
func (r *run) bring(ctx context.Context, c serverCopy) error {
	keys := filepath.Join(r.dir, "keys")
	if err := os.RemoveAll(r.server.data); err != nil {
		return err
	}
	if c.id == "" {
		return copyDir(ctx, c.dir, r.server.data)
	}
	repository, err := backup.Open(filepath.Join(r.dir, "backups"))
	if err != nil {
		return err
	}
	m, err := backup.Load(ctx, repository, c.id)
	if err != nil {
		return err
	}
	if _, err := backup.Restore(ctx, repository, m, r.server.data, backup.Options{}); err != nil {
		return err
	}
	repository, err = backup.Open(keys)
	if err != nil {
		return err
	}
	_, err = backup.GetKeys(ctx, repository, r.server.data)
	return err
}

// backUp is `skein backup` of the running server.
func (r *run) backUp(ctx context.Context) (id string, err error) {
	key, err := r.server.adminKey()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel() // the server removes its snapshot
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.server.admin+"/snapshot", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var s app.Snapshot
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || s.Path == "" {
		return "", fmt.Errorf("the server makes no snapshot: %s %s: %w", resp.Status, s.Error, err)
	}
	repository, err := backup.Open(filepath.Join(r.dir, "backups"))
	if err != nil {
		return "", err
	}
	made, err := backup.Make(ctx, s.Path, repository, backup.Options{Server: "faults"})
	if err != nil {
		return "", err
	}
	if repository, err = backup.Open(filepath.Join(r.dir, "keys")); err != nil {
		return "", err
	}
	return made.ID, backup.PutKeys(ctx, r.server.data, repository)
}

func copyDir(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// readStore reads the journal of a data directory that no server uses, and
// changes nothing in it.
func readStore(ctx context.Context, data string) (v soak.View, err error) {
	v.Source = soak.SourceJournal
	j, err := pebble.OpenReader(filepath.Join(data, "journal"), pebble.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	v.Timeline = j.Timeline()
	heads := map[im.ConversationID]uint64{}
	err = j.Entries(ctx, nil, func(_ []byte, e *im.Entry, _ uint64) error {
		heads[e.Conversation] = max(heads[e.Conversation], e.Seq)
		v.Entries = append(v.Entries, soak.EntryOf(contract.Entry(e)))
		return nil
	})
	for c, seq := range heads {
		v.Standings = append(v.Standings, soak.Standing{Conversation: string(c), First: 1, Last: seq, Member: true})
	}
	slices.SortFunc(v.Standings, func(a, b soak.Standing) int { return strings.Compare(a.Conversation, b.Conversation) })
	return v, err
}

// between is a random time.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}
