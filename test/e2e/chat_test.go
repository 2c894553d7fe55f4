package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// terminal is a `skein chat` on pipes.
type terminal struct {
	*program
	keys *os.File
}

// openChat starts the terminal client of a user with a profile of their own.
func openChat(t *testing.T, p *process, user, profile string, args ...string) *terminal {
	t.Helper()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"chat", user, "--server", p.HTTP(), "--profile", profile}, args...)
	c := &terminal{program: launch(t, in, args...), keys: keys}
	t.Cleanup(func() { _ = keys.Close() })
	_ = in.Close() // the program has it
	return c
}

// types writes lines, as a person or a script does.
func (c *terminal) types(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// sees waits for a line that matches and returns it.
func (c *terminal) sees(pattern string) string {
	c.t.Helper()
	return c.out.expect(c.t, pattern)
}

func (c *terminal) quits() {
	c.t.Helper()
	c.types("/quit")
	if code := c.exit(); code != 0 {
		c.t.Errorf("%v ended with %d: %s", c.cmd.Args, code, &c.err)
	}
}

// TestTerminalChat is the walk of a newcomer: register, become contacts, chat
// over tcp in protobuf and ws in JSON, see ticks, make a group of three, recall,
// be away and come back, lose the server and get it back.
func TestTerminalChat(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	home := t.TempDir()
	profile := func(user string) string { return filepath.Join(home, user) }

	ann := openChat(t, p, "ann", profile("ann"), "--register", "--connect", "tcp://"+p.at.Load().tcp, "--codec", "pb")
	ann.types("correct horse")
	ann.sees(`You are @ann\.`)
	ann.sees(`No conversation yet`)
	bob := openChat(t, p, "bob", profile("bob"), "--register", "--codec", "json")
	bob.types("battery staple")
	bob.sees(`You are @bob\.`)

	// Contacts.
	ann.types("/add @bob It's me")
	ann.sees(`· asked`)
	bob.sees(`● @ann wants to be your contact: It's me`)
	bob.types("/accept @ann")
	bob.sees(`· done`)
	ann.sees(`● @bob is your contact now`)
	ann.types("/contacts")
	ann.sees(`@bob +contact`)

	// A chat, and its ticks.
	ann.types("/open @bob", "Hello 🌻")
	ann.sees(`── @bob ──`)
	bob.sees(`● @ann in @ann: Hello 🌻 +\(1 unread\)`)
	ann.sees(`#1 ✓ sent`)
	ann.sees(`#1 ✓✓ delivered`)
	bob.types("/list", "/open 1")
	bob.sees(`1  @ann \(1 unread\) .*Hello 🌻`)
	bob.sees(`── @ann ──\n.*@ann  Hello 🌻  #1`)
	ann.sees(`#1 ✓✓ read`)
	bob.types("/reply 1 Hi Ann")
	ann.sees(`@bob  ↳ #1 Hi Ann  #2`)

	groupAndRecall(t, p, profile, ann, bob)

	// The server is away: what is written waits, and comes.
	p.Stop(t)
	ann.sees(`no connection`)
	ann.types("while it was down")
	ann.sees(`🕓 waiting`)
	ann.quits()
	p.Start(t)
	ann = openChat(t, p, "ann", profile("ann"), "--connect", "tcp://"+p.at.Load().tcp)
	ann.sees(`You are @ann\.`)
	ann.quits()
	bob.quits()
	bob = openChat(t, p, "bob", profile("bob"), "--codec", "json")
	bob.types("/open @ann", "/history 5")
	bob.sees(`@ann  while it was down  #\d`)
	bob.quits()
	for _, x := range []*terminal{ann, bob} {
		if s := x.err.String(); s != "" {
			t.Errorf("%v says on stderr: %s", x.cmd.Args, s)
		}
	}
}

// groupAndRecall: a third one joins, a slip is taken back, and who was away
// finds all of it.
func groupAndRecall(t *testing.T, p *process, profile func(string) string, ann, bob *terminal) {
	t.Helper()
	cem := openChat(t, p, "cem", profile("cem"), "--register", "--codec", "json")
	cem.types("tr0ub4dor&3", "/add @ann")
	ann.sees(`● @cem wants to be your contact`)
	ann.types("/accept @cem", "/group Tea @bob @cem", "A group of three")
	ann.sees(`── Tea ──`)
	cem.sees(`● Tea: @ann made the group “Tea” with @bob, @cem`)
	cem.sees(`● @ann in Tea: A group of three`)
	bob.sees(`● @ann in Tea: A group of three`)
	cem.types("/list", "/open 1", "/members", "This is a slip")
	cem.sees(`@ann +owner`)
	slip := ann.sees(`@cem  This is a slip  #\d+`)
	number := regexp.MustCompile(`\d+$`).FindString(slip)

	// Cem goes; Ann writes on.
	cem.types("/recall " + number)
	ann.sees(fmt.Sprintf(`· @cem took back #%s`, number))
	cem.quits()
	ann.types("Cem is away", "for a while")
	ann.sees(`#\d+ ✓ sent\n.*#\d+ ✓ sent`)

	// Cem comes back, without a password: it is all there, the slip is not.
	cem = openChat(t, p, "cem", profile("cem"))
	cem.sees(`You are @cem\.`)
	cem.sees(`1  Tea \(2 unread\)`)
	cem.types("/open 1")
	cem.sees(fmt.Sprintf(`@cem  \(taken back\)  #%s`, number))
	cem.sees(`@ann  Cem is away  #\d+`)
	cem.sees(`@ann  for a while  #\d+`)
	cem.types("/sessions", "/nonsense", "/leave")
	cem.sees(`skein-chat/.*\(this one\)`)
	cem.sees(`unknown command /nonsense`)
	ann.sees(`· @cem left`)
	cem.quits()
	if strings.Contains(cem.out.String(), "slip") {
		t.Errorf("a new screen shows what was taken back:\n%s", &cem.out)
	}
	ann.types("/open @bob")
	ann.sees(`── @bob ──`)
}

// TestTerminalLogsInAgain: a session that an administrator ended is said to have ended, with
// what to do, and the next start asks for the password. What was written meanwhile goes out.
func TestTerminalLogsInAgain(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	home := t.TempDir()
	chat := func(user string, args ...string) *terminal {
		return openChat(t, p, user, filepath.Join(home, user), args...)
	}
	ann, bob := chat("ann", "--register"), chat("bob", "--register")
	ann.types("correct horse")
	bob.types("battery staple")
	ann.sees(`You are @ann\.`)
	bob.sees(`You are @bob\.`)
	ann.types("/add @bob")
	bob.sees(`● @ann wants to be your contact`)
	bob.types("/accept @ann")
	ann.sees(`● @bob is your contact now`)
	ann.types("/open @bob")
	ann.sees(`── @bob ──`)
	bob.quits()
	p.Stop(t)
	ann.sees(`no connection`)
	ann.types("I will be late")
	ann.sees(`🕓 waiting`)
	ann.quits()
	p.Start(t)
	runs(t, "", 0, "user", "kick", "@ann", "--server", p.HTTP(), "--data", p.dir)

	ann = chat("ann")
	if code := ann.exit(); code != 1 || !strings.Contains(ann.err.String(), "skein: the session of ann has ended (the session was ended): start skein chat ann again to log in") {
		t.Fatalf("it ended with %d and says %q and %q", code, &ann.err, &ann.out)
	}
	ann = chat("ann")
	ann.types("correct horse")
	ann.sees(`You are @ann\.`)
	bob = chat("bob")
	bob.types("/open @ann", "/history 5")
	bob.sees(`@ann  I will be late`)
	ann.quits()
	bob.quits()
}

// TestTerminalRefuses: what cannot work is said, and how it could.
func TestTerminalRefuses(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{"chat", "--server", p.HTTP()}, "", "which user?"},
		{[]string{"chat", "ann", "--server", "nowhere"}, "", "--server"},
		{[]string{"chat", "ann", "--server", p.HTTP(), "--profile", t.TempDir()}, "wrong password\n", "bad_credentials"},
		{[]string{"chat", "ann", "--server", p.HTTP(), "--register", "--profile", t.TempDir()}, "short\n", "invalid_argument"},
		{[]string{"chat", "ann", "--server", "http://127.0.0.1:1", "--profile", t.TempDir()}, "some password\n", "skein: http://127.0.0.1:1: nothing listens there"},
	} {
		if _, stderr := runs(t, c.stdin, 1, c.args...); !strings.Contains(stderr, c.want) {
			t.Errorf("skein %s says %q, want %q", strings.Join(c.args, " "), stderr, c.want)
		}
	}
}
