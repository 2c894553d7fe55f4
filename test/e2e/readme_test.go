package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// stranger is somebody who has the README and nothing else: a terminal, and a home of
// their own.
type stranger struct {
	*program
	keys *os.File
	name string
}

// opens types a command of the README into a terminal, as it stands.
func opens(t *testing.T, p *process, command string) *stranger {
	t.Helper()
	words := strings.Fields(command)
	if len(words) < 3 || words[0] != "bin/skein" {
		t.Fatalf("%q is no command of this program", command)
	}
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	t.Cleanup(func() { _ = in.Close() })
	return &stranger{name: words[2], keys: keys, program: launchWith(t, skeinPath, in, []string{"HOME=" + t.TempDir(), "SKEIN_SERVER=" + p.HTTP()}, "", words[1:]...)}
}

func (s *stranger) types(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, text+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// recipes are the blocks of a page that begin with a pattern.
func recipes(t *testing.T, page, begin string) (lines []string) {
	t.Helper()
	raw := must(os.ReadFile(filepath.Join("../..", page)))(t)
	block := regexp.MustCompile("(?s)```\n(" + begin + ".*?)```").FindStringSubmatch(string(raw))
	if block == nil {
		t.Fatalf("%s has no recipe that begins with %q", page, begin)
	}
	return strings.Split(strings.TrimSpace(block[1]), "\n")
}

// TestReadmeForTwo: two strangers do what the README says, word by word, and each reads
// what the other wrote.
func TestReadmeForTwo(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	people := map[string]*stranger{}
	for _, command := range recipes(t, "README.md", "bin/skein chat") {
		s := opens(t, p, command)
		s.types("a password of " + s.name)
		s.out.expect(t, `You are @`+s.name)
		people[s.name] = s
	}
	said := 0
	for _, l := range recipes(t, "README.md", "bob:") {
		who, text, ok := strings.Cut(l, ":")
		s := people[who]
		if text = strings.TrimSpace(text); !ok || s == nil || text == "" {
			t.Fatalf("%q is no line of %v", l, people)
		}
		var other *stranger
		for name, o := range people {
			if name != who {
				other = o
			}
		}
		s.types(text)
		// The next line is typed when one sees on the screen what came of this one.
		switch command, _, _ := strings.Cut(text, " "); command {
		case "/add":
			other.out.expect(t, `wants to be your contact`)
		case "/accept":
			other.out.expect(t, `is your contact now`)
		case "/open":
			s.out.expect(t, `── @`)
		default:
			said++
			other.out.expect(t, regexp.QuoteMeta(text))
			s.out.expect(t, `✓ sent`)
		}
	}
	if said < 2 {
		t.Errorf("%d messages", said)
	}
	for _, s := range people {
		if out := s.out.String(); strings.Contains(out, "not sent") {
			t.Errorf("%s sees\n%s", s.name, out)
		}
		s.types("/quit")
		if code := s.exit(); code != 0 {
			t.Errorf("%s ended with %d: %s", s.name, code, &s.err)
		}
	}
}

// TestReadmeBot: the bot of the SDK's README answers the first stranger who adds it and
// writes to it.
func TestReadmeBot(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	out, _ := runs(t, "", 0, "token", "mint", "echo", "--server", p.HTTP(), "--data", p.dir)
	token := regexp.MustCompile(`sk[a-z]?_[A-Za-z0-9_-]{20,}`).FindString(out)
	if token == "" {
		t.Fatalf("no token in %q", out)
	}
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../sdk/go/examples/bot").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	b := launchWith(t, bot, nil, []string{"SKEIN_URL=ws" + strings.TrimPrefix(p.HTTP(), "http") + "/ws", "SKEIN_TOKEN=" + token}, t.TempDir())
	b.err.expect(t, `connected as echo`) // what came before it was there is history to it
	ann := join(t, p, "ann", 0)
	dm := ann.DM("echo").ID()
	if _, err := ann.Contacts().Request(t.Context(), "echo", "Hello"); err != nil {
		t.Fatal(err)
	}
	// Until it has accepted she may not.
	for ctx := deadline(t); ; {
		_, err := ann.Conversation(dm).Send(ctx, "Is anybody there?")
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%v\n%s", err, &b.err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	ann.reaches(dm, 2)
	if m := must(ann.Conversation(dm).History(t.Context(), 0, 2))(t); len(m) != 2 || m[1].Text != "You said: Is anybody there?" {
		t.Errorf("%v\n%s", m, &b.err)
	}
	ann.leave()
}

// TestChatSaysWhatIsWrong: `skein chat` with a wrong address, path or password ends within
// seconds, with a sentence.
func TestChatSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	private := regexp.MustCompile(`Private +(http://[0-9.:]+)/metrics`).FindStringSubmatch(p.out.String())
	if private == nil {
		t.Fatal(&p.out)
	}
	for _, c := range []struct {
		name, hint string
		args       []string
	}{
		{"nobody listens", "nothing listens there", []string{"--server", "http://127.0.0.1:1"}},
		{"the private port", "says 404 Not Found: a Skein server has", []string{"--server", private[1]}},
		{"the port of tcp://", "what listens there", []string{"--server", "http://" + p.at.Load().tcp}},
		{"https:// to http", "use http://", []string{"--server", "https" + strings.TrimPrefix(p.HTTP(), "http")}},
		{"no such user", "bad_credentials", []string{"--server", p.HTTP()}},
		{"a wrong path to connect to", "a Skein server has its connections at /ws", []string{"--server", p.HTTP(), "--register", "--connect", "ws" + strings.TrimPrefix(p.HTTP(), "http") + "/chat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, stderr := runs(t, "a password of ann\n", 1, append([]string{"chat", "ann", "--profile", t.TempDir()}, c.args...)...)
			if !strings.Contains(stderr, c.hint) || strings.Count(strings.TrimSpace(stderr), "\n") > 1 {
				t.Errorf("it says %q", stderr)
			}
		})
	}
}
