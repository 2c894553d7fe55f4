package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/migrate"
)

type migrateCmd struct {
	Data string `help:"The stopped server's data directory." default:"./data" placeholder:"DIR"`
	To   string `required:"" help:"postgres://… of an empty database, or of one that an interrupted run was filling." placeholder:"URL" env:"SKEIN_STORE"`
	JSON bool   `name:"json" help:"Print one JSON object on stdout at the end."`
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
		return enc.Encode(s)
	}
	return c.print(os.Stdout, s, marker)
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
		"Start the server on it:\n  skein serve --data %s --store '…'\n"+
		"The old store is as it was; %s keeps a server from using it.\n",
		s.Target, s.Entries, how, s.Marks, s.Rows["users"], s.Rows["groups"], s.EntriesPerSecond, s.CopySeconds, s.CompareSeconds, c.Data, marker)
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
