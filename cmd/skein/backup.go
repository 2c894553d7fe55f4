package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/cmd/internal/command"
	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/backup"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/media/blob"
)

type backupCmd struct {
	To    backupToCmd    `cmd:"" default:"withargs" help:"Back up the embedded store, of a running server or a stopped one."`
	List  backupListCmd  `cmd:"" help:"List the backups of a repository."`
	Drill backupDrillCmd `cmd:"" help:"Restore a backup to a scratch directory, read all of it and compare; changes nothing else."`
	Prune backupPruneCmd `cmd:"" help:"Remove old backups and what only they held."`
}

// repository is where backups lie.
type repository struct {
	Repository string `arg:"" help:"A directory, or s3://bucket/prefix?endpoint=https://host&region=name with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment."`
}

func (r repository) open() (backup.Repository, error) { return backup.Open(r.Repository) }

type backupToCmd struct {
	repository `embed:""`
	settings   `embed:""`
	Keys       string `help:"Copy the server's keys to this other repository; without it they are not backed up." placeholder:"REPOSITORY"`
	Rate       int64  `help:"At most so many MB per second are read or written; 0: no bound." default:"50"`
	JSON       bool   `name:"json" help:"Print one JSON object on stdout at the end."`
}

// Run backs up a store. A running server makes a snapshot of itself and is not
// held up further; this process reads and copies it, with low priority.
func (c *backupToCmd) Run(ctx context.Context) (err error) {
	cfg, err := c.read()
	if err != nil {
		return err
	}
	if cfg.Store != "" {
		return errors.New("the store is PostgreSQL: back it up with its own means (docs/operations.md, Backups)")
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, "directory.db")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no embedded store. If it is a node's whose store is PostgreSQL, back that up with its own means (docs/operations.md, Backups); otherwise name the data directory with --data", cfg.Data)
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	if c.Keys != "" {
		if err := checkKeys(cfg.Data); err != nil {
			return err
		}
	}
	giveWay()
	dir, done, err := source(ctx, cfg)
	if err != nil {
		return err
	}
	lacks := "" // what is missing in it
	defer func() {
		if err = errors.Join(err, done()); err == nil && lacks != "" {
			err = command.PartError(lacks)
		}
	}()
	o := backup.Options{Server: version, BytesPerSecond: c.Rate << 20, Progress: told(os.Stderr), Apart: app.MediaDir(cfg), Media: func(string) (blob.Store, error) {
		return app.OpenMediaToRead(cfg, cfg.Data) // also of a snapshot
	}}
	s, err := backup.Make(ctx, dir, r, o)
	if err != nil {
		return err
	}
	if c.Keys != "" {
		if err := putKeys(ctx, cfg.Data, c.Keys, c.Repository); err != nil {
			return err
		}
	}
	if s.Media.Missing > 0 {
		lacks = fmt.Sprintf("backup %s is made, and lacks %d pictures or files that messages name", s.ID, s.Media.Missing)
	}
	if c.JSON {
		return printValue(s)
	}
	fmt.Printf("Backup %s: %d entries, %d users, %s in %d files, %s of them new. Read in %.1f s, copied in %.1f s, read back and found right in %.1f s.\n",
		s.ID, s.Contents.Entries.Rows, s.Contents.Tables["users"].Rows, megabytes(s.Bytes), s.Files, megabytes(s.NewBytes), s.ReadSeconds, s.CopySeconds, s.VerifySeconds)
	printMedia(&s.Media)
	if c.Keys == "" {
		fmt.Println("The server's keys are not in it (--keys copies them to a place of their own); without them a restored server starts only with --new-keys, which costs what they sealed.")
	}
	return nil
}

func printMedia(m *backup.MediaSummary) {
	if m.Blobs+m.Missing > 0 {
		fmt.Printf("Pictures and files: %d blobs, %s, %s in %d of them new. Copied and read back in %.1f s.\n", m.Blobs, megabytes(m.Bytes), megabytes(m.NewBytes), m.NewBlobs, m.Seconds)
	}
	if m.Missing == 0 {
		return
	}
	fmt.Printf("WARNING: %d blobs that messages name could not be backed up, because they are not where media.store says, or are damaged there:\n", m.Missing)
	for _, name := range m.Names {
		fmt.Println("  " + name)
	}
	if more := m.Missing - len(m.Names); more > 0 {
		fmt.Printf("  and %d more\n", more)
	}
}

// checkKeys makes sure that what is copied is a key: the copy that is there may be
// the last good one.
func checkKeys(data string) error {
	path := filepath.Join(data, app.AdminKeyFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--keys: %w", err)
	}
	return app.CheckAdminKey(path, raw)
}

// openKeys opens a repository that has a key.
func openKeys(ctx context.Context, name string) (backup.Repository, error) {
	r, err := backup.Open(name)
	if err != nil {
		return nil, err
	}
	raw, err := r.Get(ctx, app.AdminKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--keys %s: there is no key in that repository, and nothing was restored: %w", name, err)
	}
	if err := app.CheckAdminKey(name+"/"+app.AdminKeyFile, raw); err != nil {
		return nil, fmt.Errorf("nothing was restored: %w", err)
	}
	return r, nil
}

func putKeys(ctx context.Context, data, to, backups string) error {
	if to == backups {
		return errors.New("--keys: name a repository that is not the backups': who may read those need not have the keys")
	}
	r, err := backup.Open(to)
	if err != nil {
		return err
	}
	return backup.PutKeys(ctx, data, r)
}

// source is a store that stands still: the directory of a stopped server, or a
// snapshot of a running one. done lets it go.
func source(ctx context.Context, cfg config.Config) (dir string, done func() error, err error) {
	held, err := app.Hold(cfg.Data)
	if err == nil {
		return cfg.Data, held.Close, nil
	}
	if !errors.Is(err, app.ErrInUse) {
		return "", nil, err
	}
	if cfg.Admin.Listen == "" {
		return "", nil, errors.New("the running server has no private port (admin.listen), which it makes snapshots on: stop it, or give it one")
	}
	key, err := os.ReadFile(filepath.Join(cfg.Data, app.AdminKeyFile))
	if err != nil {
		return "", nil, fmt.Errorf("admin key: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	url := "http://" + reachable(cfg.Admin.Listen) + "/snapshot"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		cancel()
		return "", nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("the running server on %s does not answer (is --admin or --config that of the server?): %w", cfg.Data, err)
	}
	done = func() error {
		cancel() // the server removes the snapshot
		_ = resp.Body.Close()
		return nil
	}
	var s app.Snapshot
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || resp.StatusCode != http.StatusOK {
		return "", nil, errors.Join(fmt.Errorf("%s answered %s %s", url, resp.Status, s.Error), done())
	}
	if _, err := os.Stat(s.Path); err != nil {
		return "", nil, errors.Join(fmt.Errorf("the snapshot is not on this machine: run the command where the server runs: %w", err), done())
	}
	return s.Path, done, nil
}

// reachable is an address to dial for one that is listened on.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

type backupListCmd struct {
	repository `embed:""`
	JSON       bool `name:"json" help:"Print JSON."`
}

func (c *backupListCmd) Run(ctx context.Context) error {
	if !strings.Contains(c.Repository, "://") { // a name that is mistyped is no repository without backups
		if _, err := os.Stat(c.Repository); err != nil {
			return err
		}
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	all, damaged := backup.List(ctx, r) // those that can be read are told all the same
	type row struct {
		ID      string    `json:"id"`
		Created time.Time `json:"created"`
		Entries uint64    `json:"entries"`
		Users   uint64    `json:"users"`
		Bytes   int64     `json:"bytes"`
		Blobs   int       `json:"blobs"`
		Server  string    `json:"server"`
	}
	rows := make([]row, len(all))
	for i, m := range all {
		rows[i] = row{m.ID, m.Created, m.Contents.Entries.Rows, m.Contents.Tables["users"].Rows, m.Size(), 0, m.Server}
		if m.Media != nil {
			rows[i].Bytes += m.Media.Bytes
			rows[i].Blobs = m.Media.Blobs
		}
	}
	if c.JSON {
		return errors.Join(printValue(rows), damaged)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "BACKUP\tCREATED\tENTRIES\tUSERS\tMEDIA\tSIZE\tSERVER")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", r.ID, r.Created.Local().Format("2006-01-02 15:04:05"), r.Entries, r.Users, r.Blobs, megabytes(r.Bytes), r.Server)
	}
	return errors.Join(w.Flush(), damaged)
}

type backupDrillCmd struct {
	repository `embed:""`
	Backup     string `help:"Which backup." default:"latest" placeholder:"ID"`
	Scratch    string `help:"Where to restore to; a new directory in it, removed at the end (default: the system's for temporary files)." placeholder:"DIR"`
	Rate       int64  `help:"At most so many MB per second are read or written; 0: no bound." default:"0"`
	JSON       bool   `name:"json" help:"Print one JSON object on stdout at the end."`
}

func (c *backupDrillCmd) Run(ctx context.Context) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	m, err := backup.Load(ctx, r, c.Backup)
	if err != nil {
		return err
	}
	giveWay()
	begun := time.Now()
	if err := backup.Drill(ctx, r, m, c.Scratch, backup.Options{BytesPerSecond: c.Rate << 20, Progress: told(os.Stderr)}); err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	if c.JSON {
		return printValue(map[string]any{"id": m.ID, "contents": m.Contents, "bytes": m.Size(), "media": m.Media, "seconds": took})
	}
	media := "without media (it was made by an earlier version)"
	if m.Media != nil {
		media = fmt.Sprintf("%d blobs of pictures and files", m.Media.Blobs)
		if m.Media.Missing > 0 {
			media += fmt.Sprintf(" (%d more were missing when it was made)", m.Media.Missing)
		}
	}
	fmt.Printf("Backup %s was restored and is what was backed up: %d entries, %d users, %s. It took %.1f s.\n", m.ID, m.Contents.Entries.Rows, m.Contents.Tables["users"].Rows, media, took)
	return nil
}

type backupPruneCmd struct {
	repository `embed:""`
	Keep       int  `required:"" help:"How many backups stay, the newest."`
	JSON       bool `name:"json" help:"Print JSON."`
}

func (c *backupPruneCmd) Run(ctx context.Context) error {
	if c.Keep < 1 {
		return errors.New("--keep must be 1 or more")
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	p, err := backup.Prune(ctx, r, c.Keep, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return printValue(p)
	}
	fmt.Printf("Removed %d backups, and %s that no other holds.\n", len(p.Backups), megabytes(p.Bytes))
	return nil
}

type restoreCmd struct {
	repository `embed:""`
	Backup     string `help:"Which backup; skein backup list shows them." default:"latest" placeholder:"ID"`
	File       string `name:"config" short:"c" help:"The restored server's TOML file: media.store says where pictures and files go (default: media in --data)." type:"path" env:"SKEIN_CONFIG"`
	Data       string `help:"The data directory to make; it must be empty or not exist (default: ./data, or what the file says)." placeholder:"DIR"`
	Keys       string `help:"Repository that backup --keys wrote; without it the server wants --new-keys at its start." placeholder:"REPOSITORY"`
	JSON       bool   `name:"json" help:"Print one JSON object on stdout at the end."`
}

// Run restores a backup.
func (c *restoreCmd) Run(ctx context.Context) error {
	at := settings{File: c.File, Data: c.Data}
	cfg, err := at.read()
	if err != nil {
		return err
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	m, err := backup.Load(ctx, r, c.Backup)
	if err != nil {
		return err
	}
	var keys backup.Repository
	if c.Keys != "" {
		if keys, err = openKeys(ctx, c.Keys); err != nil {
			return err
		}
	}
	begun := time.Now()
	media, err := backup.Restore(ctx, r, m, cfg.Data, backup.Options{Progress: told(os.Stderr), Media: func(data string) (blob.Store, error) { return app.OpenMedia(cfg, data) }})
	if err != nil {
		return err
	}
	if keys != nil {
		if _, err := backup.GetKeys(ctx, keys, cfg.Data); err != nil {
			return fmt.Errorf("the store was restored to %s, its keys were not: %w", cfg.Data, err)
		}
	}
	newKeys := ""
	if keys == nil {
		newKeys = " --new-keys"
	}
	took := time.Since(begun).Seconds()
	if c.JSON {
		return printValue(map[string]any{"id": m.ID, "created": m.Created, "data": cfg.Data, "contents": m.Contents, "bytes": m.Size(), "media": media, "seconds": took})
	}
	fmt.Printf("Restored backup %s of %s to %s in %.1f s: %d entries, %d users%s. It is a new timeline: clients sync anew, and send what they have not sent.\nWhat came after the backup is not in it.\n\n  skein serve%s --data %s\n",
		m.ID, m.Created.Local().Format("2006-01-02 15:04:05"), cfg.Data, took, m.Contents.Entries.Rows, m.Contents.Tables["users"].Rows, restoredMedia(m, &media), newKeys, cfg.Data)
	if newKeys != "" {
		fmt.Println("\nIts keys were not restored: put keys/admin.key of before into that directory, or have new ones made by --new-keys, once. The server says what that costs.")
	}
	return nil
}

// restoredMedia says what became of pictures and files.
func restoredMedia(m *backup.Manifest, s *backup.Restored) string {
	text := ""
	switch {
	case m.Media == nil:
		return "; it has no pictures and files: an earlier version made it"
	case s.Off:
		return fmt.Sprintf("; its %d blobs of pictures and files were left out, because media.store is off", m.Media.Blobs)
	case s.Blobs > 0:
		text = fmt.Sprintf(", %d blobs of pictures and files (%d were there already)", s.Blobs, s.There)
	}
	if s.Missing > 0 {
		text += fmt.Sprintf(" (%d were missing when it was made)", s.Missing)
	}
	return text
}

// giveWay lets everything else on the machine go first.
func giveWay() {
	runtime.GOMAXPROCS(1)
	lowPriority()
}

func printValue(v any) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// told prints progress when something begins, and every two seconds.
func told(w io.Writer) func(backup.Progress) {
	var what string
	var at time.Time
	return func(p backup.Progress) {
		if p.What == what && time.Since(at) < 2*time.Second {
			return
		}
		what, at = p.What, time.Now()
		line := p.What
		if p.Total == 0 && p.Done > 0 {
			line += ": " + megabytes(p.Done)
		}
		if p.Total > 0 {
			line += fmt.Sprintf(": %s of %s (%d%%)", megabytes(p.Done), megabytes(p.Total), p.Done*100/p.Total)
		}
		fmt.Fprintln(w, line)
	}
}
