package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/migrate"
)

type migrateCmd struct {
	Data  string `help:"The stopped server's data directory." default:"./data" placeholder:"DIR"`
	To    string `required:"" help:"postgres://… of an empty database, or of one that an interrupted run was filling." placeholder:"URL" env:"SKEIN_STORE"`
	Media string `help:"Copy pictures and files as well, to what media.store will be for the nodes: a directory that they share, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME. Without it they stay where they are." placeholder:"PLACE"`
	From  string `name:"media-from" help:"Where they are now (default: media in --data)." placeholder:"PLACE"`
	JSON  bool   `name:"json" help:"Print one JSON object on stdout at the end."`
}

// Run copies the embedded store to PostgreSQL.
func (c *migrateCmd) Run(ctx context.Context) (err error) {
	if u, err := url.Parse(c.To); err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return errors.New("--to must be a URL like postgres://user:password@host/database")
	}
	held, err := app.Hold(c.Data)
	if err != nil {
		return fmt.Errorf("%w (a server must be stopped before its store is copied)", err)
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	p := &progress{w: os.Stderr, now: time.Now}
	media, err := c.copyMedia(ctx, held.Directory(), p.tell)
	if err != nil {
		return err
	}
	s, err := migrate.Run(ctx, migrate.Options{
		Directory: held.Directory(), Journal: held.Journal(), To: c.To, Progress: p.tell,
	})
	if err != nil {
		return err
	}
	marker, err := held.Migrated(s.Target, s.Timeline)
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			migrate.Summary
			Media *migrate.MediaSummary `json:"media,omitempty"`
		}{s, media})
	}
	return errors.Join(c.print(os.Stdout, s, marker), c.printMedia(os.Stdout, media))
}

// copyMedia copies pictures and files, if that is wanted: before the records, so that no
// server begins on a store whose media are not there.
func (c *migrateCmd) copyMedia(ctx context.Context, file string, tell func(migrate.Progress)) (*migrate.MediaSummary, error) {
	if c.Media == "" {
		return nil, nil
	}
	if c.From == "" {
		c.From = filepath.Join(c.Data, "media")
	}
	spool, err := os.MkdirTemp("", "skein-media-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(spool)
	from, err := blob.Open(c.From, spool)
	if err != nil {
		return nil, fmt.Errorf("--media-from: %w", err)
	}
	to, err := blob.Open(c.Media, spool)
	if err != nil {
		return nil, fmt.Errorf("--media: %w", err)
	}
	s, err := migrate.CopyMedia(ctx, file, from, to, tell)
	if err != nil {
		err = fmt.Errorf("%w (what was copied is kept: the same command goes on)", err)
	}
	return &s, err
}

func (c *migrateCmd) printMedia(w io.Writer, s *migrate.MediaSummary) (err error) {
	if s == nil {
		_, err = fmt.Fprintln(w, "Pictures and files stay where they are: --media copies them, or set media.store to that directory, which all nodes must reach.")
		return err
	}
	_, err = fmt.Fprintf(w, "Pictures and files copied to %s and found equal: %d blobs, %s (%d were there already). Start the server with --set media.store='%s'.\n", c.Media, s.Blobs, megabytes(s.Bytes), s.There, c.Media)
	if s.Missing > 0 {
		_, more := fmt.Fprintf(w, "WARNING: %d blobs that messages name are not at %s, or are damaged there:\n  %s\n", s.Missing, c.From, strings.Join(s.Names, "\n  "))
		err = errors.Join(err, more)
	}
	return err
}

func (c *migrateCmd) print(w io.Writer, s migrate.Summary, marker string) error {
	if s.Already {
		_, err := fmt.Fprintf(w, "All %d entries had been copied to %s already.\n", s.Entries, s.Target)
		return err
	}
	how := ""
	switch {
	case s.Resumed:
		how = fmt.Sprintf(" (%d of them by an earlier run)", s.EntriesBefore)
	case s.Anew:
		how = " (anew: a server had used the store since an earlier run)"
	}
	_, err := fmt.Fprintf(w, "Copied to %s and found equal: %d entries%s, %d marks, %d users, %d groups.\n"+
		"Entries per second: %.0f. Copied in %.1f s, compared in %.1f s.\n\n"+
		"Start the nodes on it, with node.secret and node.listen (docs/operations.md, Three nodes):\n  systemctl enable --now skein@n1\n"+
		"Their admin key is made of node.secret, so the first start lets go of what the old key sealed: push subscriptions (devices subscribe anew when they connect), and authenticator apps (users need a recovery code or a reset link). Its log says of how many.\n"+
		"The old store is as it was; %s keeps a server from using it.\n",
		s.Target, s.Entries, how, s.Marks, s.Rows["users"], s.Rows["groups"], s.EntriesPerSecond, s.CopySeconds, s.CompareSeconds, marker)
	return err
}

// progress tells about each thing when it begins, and once a second.
type progress struct {
	w     io.Writer
	now   func() time.Time
	what  string
	begun time.Time
	first uint64
	told  time.Time
}

func (p *progress) tell(now migrate.Progress) {
	t := p.now()
	if now.What != p.what {
		p.what, p.begun, p.first, p.told = now.What, t, now.Done, time.Time{}
	}
	if t.Sub(p.told) < time.Second && (now.Total == 0 || now.Done < now.Total) {
		return
	}
	p.told = t
	line := fmt.Sprintf("%s: %d", now.What, now.Done)
	if now.Total > 0 {
		line += fmt.Sprintf(" of %d (%d%%)", now.Total, now.Done*100/now.Total)
	}
	if took := t.Sub(p.begun).Seconds(); took > 0 && now.Done > p.first {
		line += fmt.Sprintf(", %.0f/s", float64(now.Done-p.first)/took)
	}
	fmt.Fprintln(p.w, line)
}
