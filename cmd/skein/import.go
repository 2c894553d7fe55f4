package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/importing"
)

type importCmd struct {
	System string `arg:"" enum:"slack,mattermost,rocketchat" help:"slack, mattermost or rocketchat."`
	Export string `arg:"" help:"The export: a zip, a directory, or of Mattermost a .jsonl; docs/migration.md says how it is made." type:"existingpath"`

	settings  `embed:""`
	Workspace string `help:"Tells two exports of one system apart, which become one server: [a-z0-9._-]. Default: the system's name." placeholder:"NAME"`
	DryRun    bool   `help:"Read the export, say what would come over and what is wrong with it, and write nothing."`
	Map       string `help:"Who becomes who, as JSON. Without such a file it is written, to be looked at, edited, and given again." placeholder:"FILE" type:"path"`
	Report    string `help:"Write the report to a file, as JSON." placeholder:"FILE" type:"path"`
	JSON      bool   `name:"json" help:"Print the report as JSON on stdout, and no words."`
	Fetch     bool   `help:"Fetch the files and pictures that an export of Slack has only the addresses of, with the token in SKEIN_IMPORT_TOKEN."`
}

// Run imports an export.
func (c *importCmd) Run(ctx context.Context) (err error) {
	if c.Fetch && c.System != "slack" {
		return errors.New("--fetch is for exports of Slack: the others have their files with them")
	}
	if c.Workspace == "" {
		c.Workspace = c.System
	}
	if !im.ValidKey(c.Workspace) {
		return errors.New("--workspace must match [a-z0-9._-]{1,64}")
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if c.DryRun && cfg.Store == "" {
		if _, err := os.Stat(filepath.Join(cfg.Data, "directory.db")); errors.Is(err, fs.ErrNotExist) {
			dir, err := os.MkdirTemp("", "skein-import-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			cfg.Data = dir // there is no store yet, and a dry run makes none
		}
	}
	log, _ := newLogger(cfg.Log)
	store, err := app.OpenOffline(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	target, err := store.Target(ctx)
	if err != nil {
		return err
	}
	kept, err := store.MappingFile(c.Workspace)
	if err != nil {
		return err
	}
	o := importing.Options{System: c.System, Path: c.Export, Workspace: c.Workspace, By: whoRuns(), Spool: store.Spool(), DryRun: c.DryRun, Progress: teller(os.Stderr)}
	if o.Mapping, err = c.mapping(kept); err != nil {
		return err
	}
	o.Anew = o.Mapping == nil
	o.Planned = func(m *importing.Mapping) error { return c.planned(m, kept) }
	if c.Fetch {
		o.Fetch = &importing.Fetcher{Token: os.Getenv("SKEIN_IMPORT_TOKEN"), Spool: store.Spool()}
	}
	r, err := importing.Run(ctx, o, target)
	if r != nil {
		err = errors.Join(err, c.tell(r))
	}
	if errors.Is(err, importing.ErrMappingMissing) {
		return fmt.Errorf("%w: %s; copy it from where that import ran, or give it with --map", err, kept)
	}
	if err != nil && r != nil && (r.Written != importing.Things{}) {
		err = fmt.Errorf("%w (what was written is kept: the same command goes on)", err)
	}
	return err
}

// whoRuns is who runs the program, and where, as the audit log says it.
func whoRuns() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// mapping is the one that was given, or that an earlier run decided on.
func (c *importCmd) mapping(kept string) (*importing.Mapping, error) {
	earlier, err := importing.ReadMapping(kept)
	if err != nil || c.Map == "" {
		return earlier, err
	}
	given, err := importing.ReadMapping(c.Map)
	if err != nil || given == nil {
		return earlier, err
	}
	if earlier != nil { // what was made stays made
		if err := given.Follow(earlier); err != nil {
			return nil, fmt.Errorf("--map %w. See %s", err, kept)
		}
	}
	return given, nil
}

// planned keeps what was decided: of a dry run, where it may be edited; of another, also where
// the next run finds it.
func (c *importCmd) planned(m *importing.Mapping, kept string) error {
	if !c.DryRun {
		if err := m.Write(kept); err != nil {
			return err
		}
	}
	if c.Map == "" {
		return nil
	}
	if _, err := os.Stat(c.Map); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.Write(c.Map)
}

// tell prints the report.
func (c *importCmd) tell(r *importing.Report) (err error) {
	if c.Report != "" {
		f, err := os.OpenFile(c.Report, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // it has names, and words of the export
		if err != nil {
			return err
		}
		if at, err := f.Stat(); err == nil && at.Mode().IsRegular() { // one that was there
			if err := f.Chmod(0o600); err != nil {
				return errors.Join(err, f.Close())
			}
		}
		if err := errors.Join(reportJSON(f, r), f.Close()); err != nil {
			return err
		}
	}
	if c.JSON {
		return reportJSON(os.Stdout, r)
	}
	return printReport(os.Stdout, r)
}

func reportJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(x)
}

// shownProblems is how many problems are printed; the JSON has more.
const shownProblems = 50

func printReport(w io.Writer, r *importing.Report) (err error) {
	say := func(format string, args ...any) {
		_, fault := fmt.Fprintf(w, format, args...)
		err = errors.Join(err, fault)
	}
	things := func(t importing.Things) string {
		return fmt.Sprintf("%d users, %d conversations, %d messages (%d of them in threads), %d reactions, %d files", t.Users, t.Conversations, t.Messages, t.Replies, t.Reactions, t.Files)
	}
	say("Read:    %s.\n", things(r.Read))
	if !r.DryRun {
		say("Written: %s (%s), as %d groups and %d direct chats.\n", things(r.Written), megabytes(r.Written.FileBytes), r.Groups, r.Directs)
		say("Already there: %s.\n", things(r.Already))
	}
	for _, why := range r.Reasons() {
		say("Left out: %d, %s\n", r.LeftOut[why], why)
	}
	for i, p := range r.Problems {
		if i == shownProblems {
			say("… %d more: --report FILE has them\n", r.ProblemCount-i)
			break
		}
		say("%s: %s\n", p.Where, p.What)
	}
	if r.DryRun {
		say("Nothing was written: it was a dry run.\n")
	} else if r.Written.Messages > 0 {
		say("%.0f messages per second, read in %.1f s, written in %.1f s.\n", r.MessagesPerSecond, r.ReadSeconds, r.WriteSeconds)
	}
	return err
}

// teller tells once a second how far an import is.
func teller(w io.Writer) func(what string, done int64) {
	var told time.Time
	return func(what string, done int64) {
		if now := time.Now(); now.Sub(told) >= time.Second {
			told = now
			fmt.Fprintf(w, "%s: %d messages\n", what, done)
		}
	}
}
