package importing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
)

// Journal is what of a store's journal an import needs.
type Journal interface {
	AppendDated(ctx context.Context, batch []im.Append, at []time.Time, out []im.Appended) error
	Lookup(ctx context.Context, batch []im.Append, out []im.Appended) error
	Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error)
	Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error
	SetMarks(ctx context.Context, marks []im.Mark, w im.MarkWait) error
	Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, recent bool) error
}

// Target is the store that is written to. Nobody else uses it meanwhile.
type Target struct {
	Directory *directory.DB
	Journal   Journal
	// Media takes files, without a quota. nil: the server takes none.
	Media *media.Service
	// DM and Find are what new accounts begin with.
	DM   im.DMPolicy
	Find im.FindPolicy
	Now  func() time.Time
}

// Options say what is imported, and how.
type Options struct {
	// System is slack, mattermost or rocketchat, Path the export.
	System, Path string
	// Workspace tells two exports of one system apart. Default: the system's name.
	Workspace string
	// Mapping is who becomes who, if somebody said so; Planned is told what was decided,
	// before anything is written.
	Mapping *Mapping
	Planned func(*Mapping) error
	// Anew: no mapping of an earlier run is known, so there must have been none.
	Anew bool
	// By is who imports, for the audit log.
	By string
	// Spool is a directory for what does not fit into memory.
	Spool  string
	DryRun bool
	// Fetch fetches files that the export has only the addresses of; nil: they are left out.
	Fetch *Fetcher
	// Progress is told how many messages were read, or written. May be nil.
	Progress func(what string, done int64)
	// sortBytes overrides sortBytes, for tests.
	sortBytes int
}

// Systems are those whose exports are known.
func Systems() []string { return []string{"slack", "mattermost", "rocketchat"} }

// open opens an export.
func open(o *Options, problem func(where, what string)) (Source, *archive, error) {
	lines := ""
	at := o.Path
	if o.System == "mattermost" && filepath.Ext(at) == ".jsonl" {
		at, lines = filepath.Dir(at), filepath.Base(at)
	}
	a, err := openArchive(at, problem)
	if err != nil {
		return nil, nil, err
	}
	switch o.System {
	case "slack":
		return &slack{archive: a}, a, nil
	case "rocketchat":
		return &rocketchat{archive: a}, a, nil
	case "mattermost":
		if lines == "" {
			if lines, err = findLines(a); err != nil {
				return nil, nil, errors.Join(err, a.Close())
			}
		}
		return &mattermost{archive: a, file: lines}, a, nil
	}
	return nil, nil, errors.Join(fmt.Errorf("%q is no system whose exports are known: %v", o.System, Systems()), a.Close())
}

// writer is one run.
type writer struct {
	o      Options
	t      Target
	from   Source
	c      *Collector
	r      *Report
	people map[string]*person
	lists  map[string]*conversation
	now    *conversation // whose messages are being written
}

// Run imports an export. What the report says of what was written is so, also with an error:
// the same again goes on.
func Run(ctx context.Context, o Options, t Target) (r *Report, err error) {
	if o.Workspace == "" {
		o.Workspace = o.System
	}
	if !im.ValidKey(o.Workspace) {
		return nil, errors.New("the name of a workspace must match [a-z0-9._-]{1,64}")
	}
	if o.Progress == nil {
		o.Progress = func(string, int64) {}
	}
	if t.Now == nil {
		t.Now = time.Now
	}
	r = &Report{System: o.System, Workspace: o.Workspace, DryRun: o.DryRun, LeftOut: map[string]int64{}, Problems: []Problem{}}
	from, a, err := open(&o, r.problem)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	spool, err := os.MkdirTemp(o.Spool, "import-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(spool)) }()
	w := &writer{o: o, t: t, from: from, r: r, people: map[string]*person{}, lists: map[string]*conversation{}}
	w.c = newCollector(r, spool, a.has, t.Now())
	defer func() { err = errors.Join(err, w.c.sorter.close()) }()
	if o.sortBytes > 0 {
		w.c.sorter.bytes = o.sortBytes
	}
	return r, w.run(ctx)
}

func (w *writer) run(ctx context.Context) error {
	begun := w.t.Now()
	if err := w.from.Read(ctx, w.c); err != nil {
		return err
	}
	w.c.settle()
	w.r.ReadSeconds = w.t.Now().Sub(begun).Seconds()
	w.o.Progress("read", w.r.Read.Messages)
	if w.o.Anew {
		if err := w.anew(ctx); err != nil {
			return err
		}
	}
	mapping, err := w.plan(ctx, w.o.Mapping)
	if err != nil {
		return err
	}
	if w.o.Planned != nil {
		if err := w.o.Planned(mapping); err != nil {
			return err
		}
	}
	if w.o.DryRun {
		return nil
	}
	begun = w.t.Now()
	err = w.act(ctx, func() error { return w.write(ctx, mapping) })
	w.r.WriteSeconds = w.t.Now().Sub(begun).Seconds()
	if w.r.WriteSeconds > 0 {
		w.r.MessagesPerSecond = float64(w.r.Written.Messages) / w.r.WriteSeconds
	}
	if err != nil {
		return err
	}
	return w.r.Check()
}

func (w *writer) write(ctx context.Context, m *Mapping) error {
	for _, key := range w.c.order {
		if err := w.makeUser(ctx, w.people[key], m.UsersMade); err != nil {
			return fmt.Errorf("user %q: %w", key, err)
		}
	}
	if m.UsersMade = true; w.o.Planned != nil {
		if err := w.o.Planned(m); err != nil {
			return err
		}
	}
	if err := w.c.sorter.each(func(m *Message) error {
		if err := w.message(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", m.Where, err)
		}
		return ctx.Err()
	}); err != nil {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	for _, v := range w.c.inOrder { // those without messages
		if _, err := w.conversation(ctx, v.Key, 0); err != nil {
			return fmt.Errorf("%s: %w", v.Where, err)
		}
	}
	return nil
}

// makeUser makes an account, unless it is there, or was and is deleted. made: an earlier run
// made all accounts, and they are their users' own since.
func (w *writer) makeUser(ctx context.Context, p *person, made bool) error {
	if p.there && (p.given || made || p.now.Deleted) {
		w.r.Already.Users++
		return nil
	}
	if !p.there {
		err := w.t.Directory.CreateUser(ctx, im.Credentials{User: im.User{
			ID: p.id, Username: p.username, DisplayName: p.display, DMPolicy: w.t.DM, FindPolicy: w.t.Find, Created: w.t.Now(),
		}})
		if err != nil {
			return err
		}
		w.r.Written.Users++
	} else {
		w.r.Already.Users++
	}
	change := im.ProfileChange{}
	if about := cut(cleaned(p.About), maxAbout); about != "" && p.now.Profile.About == "" {
		change.About = &about
	}
	if p.now.Profile.Picture == "" {
		picture, err := w.picture(ctx, p)
		if err != nil {
			return err
		}
		if picture != "" {
			change.Picture = &picture
			w.r.Pictures++
		}
	}
	if change.About != nil || change.Picture != nil {
		if _, err := w.t.Directory.UpdateUser(ctx, p.id, change); err != nil {
			return err
		}
	}
	if p.Gone && !p.now.Barred.Disabled {
		yes := true
		if _, _, err := w.t.Directory.Bar(ctx, im.BarChange{User: p.id, By: im.ServerOwner, Disable: &yes, At: w.t.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// User and Conversation are Names: what keys came to.
func (w *writer) User(key string) (id, name string, ok bool) {
	u := w.c.user(key)
	if u == nil {
		return "", "", false
	}
	p := w.people[u.Key]
	return string(p.id), p.mentioned(), true
}

func (w *writer) Conversation(key string) (string, bool) {
	v := w.c.convs[key]
	if v == nil || v.Name == "" {
		return "", false
	}
	return v.Name, true
}
