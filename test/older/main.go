// Command older runs a client of an older commit against a server of this one: what
// the protocol promises (SPEC §1.4) is shown with programs, not with frames alone.
//
//	go run ./test/older --bin bin/skein --commit <commit>
//
// It builds the SDK's example bot as that commit has it, with that commit's SDK, and
// talks to it with this one's: messages are answered; those that are sent while the bot
// is dead are answered when it is started again, each once. A bot that is told
// version_unsupported, in words, keeps the promise as well.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/bench"
	skein "github.com/skein-im/skein/sdk/go"
)

// away is how many messages are sent while the bot is dead: more than a SyncDelta
// tells of one conversation, so that the bot pulls.
const away = 120

func main() {
	bin := flag.String("bin", "bin/skein", "the server")
	commit := flag.String("commit", "", "the commit that the client is built from")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	told, err := run(ctx, *bin, *commit)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "older:", err)
		os.Exit(1)
	}
	fmt.Println(told)
}

func run(ctx context.Context, bin, commit string) (told string, err error) {
	dir, err := os.MkdirTemp("", "skein-older-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	bot, err := build(ctx, commit, dir)
	if err != nil {
		return "", err
	}
	s, err := bench.StartServer(ctx, bin, os.Stderr)
	if err != nil {
		return "", err
	}
	defer s.Stop()
	url, _, key := s.Addresses()
	p := &pair{ctx: ctx, bot: bot, dir: dir, url: "ws" + strings.TrimPrefix(url, "http") + "/ws"}
	var own string
	for user, token := range map[string]*string{"bot": &p.token, "person": &own} {
		if *token, err = mint(ctx, url, key, user); err != nil {
			return "", err
		}
	}
	c, err := skein.Dial(ctx, p.url, skein.WithToken(own))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }() // the process ends
	events := make(chan skein.Event)
	p.person, p.events = c, events
	go func() { // until ctx ends or the client is closed
		defer close(events)
		for e := range c.Events(ctx) {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	n, err := p.talk()
	if says := p.said.String(); err != nil && strings.Contains(says, "version_unsupported") {
		return "the client of " + commit + " is told so: " + says, nil
	} else if err != nil {
		return "", fmt.Errorf("%w; the bot says: %s", err, says)
	}
	return fmt.Sprintf("the client of %s works: %d messages answered, each once, %d of them sent while it was dead", commit, n, away), nil
}

// build makes the bot of a commit.
func build(ctx context.Context, commit, dir string) (string, error) {
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return "", err
	}
	tar := filepath.Join(dir, "tree.tar")
	bot := filepath.Join(dir, "bot")
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "git", "archive", "-o", tar, commit),
		exec.CommandContext(ctx, "tar", "-xf", tar, "-C", tree),
		exec.CommandContext(ctx, "go", "build", "-C", tree, "-o", bot, "./sdk/go/examples/bot"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
	return bot, nil
}

func mint(ctx context.Context, url, key, user string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/skein.v1.AdminService/MintToken", strings.NewReader(fmt.Sprintf(`{"user":%q}`, user)))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	var minted struct{ Tokens struct{ AccessToken string } }
	if err := json.Unmarshal(body, &minted); err != nil || minted.Tokens.AccessToken == "" {
		return "", fmt.Errorf("mint: %s: %s", answer.Status, body)
	}
	return minted.Tokens.AccessToken, nil
}

// pair is the bot and who talks to it.
type pair struct {
	ctx             context.Context
	bot, dir        string
	url, token      string
	said            output
	person          *skein.Client
	events          <-chan skein.Event
	answered, asked int
}

// talk asks the bot, kills it, asks on, and starts it again.
func (p *pair) talk() (int, error) {
	for round := range 2 {
		stop, err := p.start()
		if err != nil {
			return 0, err
		}
		if round == 0 {
			if err := p.meet(); err != nil {
				stop()
				return 0, err
			}
		}
		for range 5 {
			if err := p.ask(); err != nil {
				stop()
				return 0, err
			}
		}
		err = p.hear()
		stop()
		if err != nil {
			return 0, fmt.Errorf("run %d: %w", round+1, err)
		}
		if round > 0 {
			break
		}
		for range away {
			if err := p.ask(); err != nil {
				return 0, err
			}
		}
	}
	return p.answered, nil
}

func (p *pair) start() (stop func(), err error) {
	cmd := exec.CommandContext(p.ctx, p.bot)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &p.said, &p.said
	cmd.Env = append(os.Environ(), "SKEIN_URL="+p.url, "SKEIN_TOKEN="+p.token)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	}, nil
}

// meet says something until the bot is there and has answered: what is said before its
// first Sync is history to it. It ends when the bot has been silent for a while.
func (p *pair) meet() error {
	again, patience := time.NewTicker(500*time.Millisecond), time.NewTimer(time.Minute)
	defer again.Stop()
	defer patience.Stop()
	met := false
	for {
		select {
		case e, ok := <-p.events:
			if !ok {
				return errors.New("the events ended")
			}
			if m, isMessage := e.(*skein.MessageEvent); isMessage && !m.Message.Own {
				met = true
				patience.Reset(2 * time.Second)
			}
		case <-again.C:
			if !met {
				if _, err := p.person.DM("bot").Send(p.ctx, "are you there?"); err != nil {
					return err
				}
			}
		case <-patience.C:
			if met {
				return nil
			}
			return errors.New("the bot does not answer")
		}
	}
}

// ask says a message with a number of its own.
func (p *pair) ask() error {
	p.asked++
	_, err := p.person.DM("bot").Send(p.ctx, fmt.Sprintf("message %d", p.asked))
	return err
}

// hear waits until everything is answered, in order, each once, and nothing comes behind it.
func (p *pair) hear() error {
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		select {
		case e, ok := <-p.events:
			if !ok {
				return errors.New("the events ended")
			}
			m, isMessage := e.(*skein.MessageEvent)
			if !isMessage || m.Message.Own {
				continue
			}
			p.answered++
			if want := fmt.Sprintf("You said: message %d", p.answered); m.Message.Text != want {
				return fmt.Errorf("the bot answers %q, want %q", m.Message.Text, want)
			}
			if p.answered == p.asked {
				patience.Reset(2 * time.Second) // for one too many
			}
		case <-patience.C:
			if p.answered == p.asked {
				return nil
			}
			return fmt.Errorf("%d of %d messages are answered", p.answered, p.asked)
		}
	}
}

// output collects what a program writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
