package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/trace"
)

// privatePort is how commands reach the private port of a running server.
type privatePort struct {
	Admin    string `help:"Address of the private port." default:"127.0.0.1:8081" placeholder:"ADDR" env:"SKEIN_ADMIN_LISTEN"`
	adminKey `embed:""`
}

// get asks for a path, with the admin key if keyed.
func (p *privatePort) get(ctx context.Context, path string, keyed bool) (status int, body []byte, err error) {
	at := p.Admin
	if !strings.Contains(at, "://") {
		at = "http://" + reachable(at)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(at, "/")+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if keyed {
		key, err := p.read()
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("does the server run, and is --admin its private port? %w", err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	return resp.StatusCode, body, err
}

type traceCmd struct {
	privatePort `embed:""`
	Message     string `arg:"" help:"CONVERSATION#SEQ or CONVERSATION/ID, as dm:ann:bob#7."`
	JSON        bool   `name:"json" help:"Print one JSON object on stdout."`
}

// Run tells who has a message.
func (c *traceCmd) Run(ctx context.Context) error {
	status, body, err := c.get(ctx, "/trace?message="+url.QueryEscape(c.Message), true)
	if err != nil {
		return err
	}
	var t app.Traced
	if err := json.Unmarshal(body, &t); err != nil {
		return fmt.Errorf("%s is no private port of a server that knows traces: it answered %d", c.Admin, status)
	}
	if t.Report == nil {
		return errors.New(t.Error)
	}
	if c.JSON {
		return printValue(t.Report)
	}
	return printTrace(os.Stdout, t.Report)
}

func printTrace(out io.Writer, r *trace.Report) error {
	from := string(r.Sender)
	if from == "" {
		from = "the server"
	}
	fmt.Fprintf(out, "#%d of %s, a %s by %s (id %s)\n", r.Seq, r.Conversation, r.Kind, from, r.ID)
	fmt.Fprintf(out, "made by the device %s, stored %s, now %s; the last entry is #%d\n", r.Made.Local().Format(time.DateTime), r.Stored.Local().Format(time.DateTime), r.Now, r.Head)
	for _, n := range r.Notes {
		fmt.Fprintln(out, n)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "USER\tSTATE\tWHY")
	for i := range r.Users {
		u := &r.Users[i]
		fmt.Fprintf(w, "%s\t%s\t%s\n", u.User, u.State, u.Why)
		for _, d := range u.Devices {
			name := d.ID
			if d.Name != "" {
				name = strings.TrimSpace(d.Name + " " + d.ID)
			}
			if name == "" {
				name = "(not connected yet)"
			}
			fmt.Fprintf(w, "\t\t  %s, seen %s\n", name, d.Seen.Local().Format(time.DateTime))
		}
	}
	if r.More {
		fmt.Fprintf(w, "…\t\tmore than %d members; these are the first\n", trace.MaxMembers)
	}
	return w.Flush()
}
