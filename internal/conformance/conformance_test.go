package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

// start opens a whole server in this process.
func start(t *testing.T, settings []string) (*Server, error) {
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = t.TempDir(), "127.0.0.1:0", ""
	cfg.Listeners = []string{"tcp://127.0.0.1:0"}
	cfg.Gateway.DrainTime = 0
	cfg.Messaging.StreamStore = config.Duration(30 * time.Second) // a transcript that takes long has no further entries
	for _, kv := range settings {
		key, value, _ := strings.Cut(kv, "=")
		if err := cfg.Set(key, value); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	a, err := app.Open(ctx, cfg, app.Options{})
	if err != nil {
		stop()
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(cfg.Data, app.AdminKeyFile))
	if err != nil {
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	s := &Server{
		URL: a.URL(), TCP: a.ListenURLs()[0], Key: strings.TrimSpace(string(raw)), Own: true,
		Stop: func() error { stop(); return nil },
		Ended: func() error {
			err := <-ended
			ended <- nil
			return err
		},
	}
	t.Cleanup(func() {
		stop()
		if err := s.Ended(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s, nil
}

// starting gives each configuration a server in this process.
func starting(t *testing.T) *Servers {
	return Starting(func(_ context.Context, _ string, n Needs) (*Server, error) { return start(t, n.Settings()) })
}

var only = os.Getenv("CONFORMANCE_RUN") // a regular expression; all when empty

// TestConformance: Skein keeps what its protocol says, in every case, over each
// transport and codec.
func TestConformance(t *testing.T) {
	// The cases wait more than they compute.
	o := Options{Servers: starting(t), Parallel: 12}
	if only != "" {
		o.Only = regexp.MustCompile(only)
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if only == "" && (r.Passed < 200 || r.LeftOut > 0) {
		t.Errorf("only %d cases, and %d left out", r.Passed, r.LeftOut)
	}
	if r.Failed+r.LeftOut > 0 {
		var b strings.Builder
		_ = r.Table(&b) // it never fails
		t.Error(b.String())
	}
}

// TestScripts: each says what it proves, by sections that SPEC has.
func TestScripts(t *testing.T) {
	raw, err := os.ReadFile("../../proto/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "\n" + string(raw)
	all, err := readScripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if !strings.Contains(s.about, "SPEC ") {
			t.Errorf("%s: its first line names no section of SPEC", s.name)
		}
		for _, l := range s.lines() {
			for section := range strings.SplitSeq(l.sections, ", ") {
				if !strings.Contains(text, "\n**"+section) && !strings.Contains(text, "\n## "+section+" ") && !strings.Contains(text, "**"+section+" ") {
					t.Errorf("%s.txt:%d: SPEC has no section %q", s.name, l.number, section)
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "write the list of cases into README.md")

// TestReadme: the list of cases is that of the package.
// A server lets an address be wrong 30 times before it has to wait, and each transcript is
// played in four variants: there are few wrong passwords and codes in all of them together,
// and room for what is played again.
func TestFewWrongSecrets(t *testing.T) {
	files, err := transcripts.ReadDir("transcripts")
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, f := range files {
		raw, err := transcripts.ReadFile("transcripts/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		wrong += strings.Count(string(raw), `"code":"bad_credentials"`)
	}
	if wrong == 0 || wrong > 3 {
		t.Errorf("%d wrong secrets in all transcripts, and 30 ÷ 4 are free", wrong)
	}
}

func TestReadme(t *testing.T) {
	const mark = "<!-- cases: go test ./internal/conformance -run TestReadme -update -->\n"
	all, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| script | proves | cases | needs |\n|---|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", c.Name, strings.ReplaceAll(c.Proves, "SPEC ", "§"), c.Parts, strings.Join(c.Needs, ", "))
	}
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, list, ok := strings.Cut(string(raw), mark)
	if !ok {
		t.Fatal("README.md has no place for the list of cases")
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(text+mark+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if list != b.String() {
		t.Errorf("README.md lists other cases; write it with -update. It should be:\n%s", b.String())
	}
}

// TestNothingForgotten: every frame of the contract is said and heard, and
// every code that a connection can meet, somewhere in the transcripts.
func TestNothingForgotten(t *testing.T) {
	all, err := readScripts()
	if err != nil {
		t.Fatal(err)
	}
	var said, heard, codes []string
	for _, s := range all {
		a, b, c := s.spoken()
		said, heard, codes = append(said, a...), append(heard, b...), append(codes, c...)
	}
	elsewhere := map[string]string{
		"heads":  "tells of a lost push: test/e2e",
		"resync": "tells a slow reader: test/e2e",
		"floor":  "tells what is not kept any more, a minute later: test/e2e",
		// It goes to everybody who is connected to the server, other cases as well.
		"announcements": "test/e2e",
	}
	for _, name := range frames(&wire.ClientFrame{}) {
		if !slices.Contains(said, name) {
			t.Errorf("no transcript says %s", name)
		}
	}
	for _, name := range frames(&wire.ServerFrame{}) {
		if !slices.Contains(heard, name) && elsewhere[name] == "" {
			t.Errorf("no transcript hears %s", name)
		}
	}
	unseen := map[wire.Code]string{
		wire.CodeOverloaded: "internal/messaging", wire.CodeUnavailable: "internal/messaging", wire.CodeStorageFull: "test/e2e",
		wire.CodeUnknown: "internal/messaging", wire.CodeConflict: "internal/group", wire.CodeSlowConsumer: "internal/gateway",
		wire.CodeInternal: "internal/gateway", wire.CodeTokenReused: "internal/account", wire.CodeBanned: "nothing bans yet",
		wire.CodeTooLate: "internal/messaging", wire.CodeUnauthenticated: "HTTP only: internal/api",
		wire.CodeTotpRequired: "its code changes with time: internal/account, examples/tour",
		wire.CodeInfected:     "HTTP, and needs a scanner: test/e2e TestUploadScanned",
		wire.CodePartMissing:  "HTTP: streamed, and internal/messaging", wire.CodeUnprocessable: "internal/messaging", wire.CodeNotReady: "internal/gateway", wire.CodeOriginRefused: "internal/transport/ws",
	}
	for _, info := range wire.Codes() {
		if !slices.Contains(codes, string(info.Code)) && unseen[info.Code] == "" {
			t.Errorf("no transcript meets %s", info.Code)
		}
	}
}

// frames lists what a frame can carry, by its JSON name.
func frames(m interface{ ProtoReflect() protoreflect.Message }) (names []string) {
	fields := m.ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range fields.Len() {
		names = append(names, fields.Get(i).JSONName())
	}
	return names
}
