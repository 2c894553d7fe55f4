package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// run runs the program with these arguments.
func run(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	env := []string{asProgram + "=1"}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SKEIN_") {
			env = append(env, kv)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = &told, &errs, env, t.TempDir()
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("skein %v: %v\n%s", args, err, &errs)
	}
	return cmd.ProcessState.ExitCode(), told.String(), errs.String()
}

// TestFailedStartIsALineOfTheLog: where the log is JSON, so is the reason why a server did
// not start, once and on one line, whatever it is; where people read it, it is a sentence.
func TestFailedStartIsALineOfTheLog(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "skein.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"wrong settings":        {[]string{"-c", file("[http]\nlissen = \":1\"\nlisten = 8080\n[log]\nformat = \"json\"\n")}, []string{`line 2: unknown key "http.lissen"`, "line 3: http.listen"}},
		"no TOML":               {[]string{"-c", file("this is not toml\n")}, []string{"line 1: "}},
		"no file":               {[]string{"-c", filepath.Join(t.TempDir(), "none.toml")}, []string{"none.toml", "no such file"}},
		"wrong format":          {[]string{"--set", "log.format=jsno"}, []string{"log.format"}},
		"a flag that is wrong":  {[]string{"--set", "log.format=json", "--set", "gateway.send_rat=1"}, []string{`did you mean "gateway.send_rate"?`}},
		"no certificate":        {[]string{"--set", "tls.cert=/nowhere.pem", "--set", "tls.key=/nowhere.pem"}, []string{"tls.cert", "/nowhere.pem"}},
		"all at once":           {[]string{"--http", "8080", "--set", "gateway.send_rat=1", "--set", "tls.cert=/nowhere.pem", "--set", "tls.key=/nowhere.pem"}, []string{"http.listen", "gateway.send_rat", "/nowhere.pem"}},
		"the port is in use":    {[]string{"--http", port, "--set", "admin.listen="}, []string{"http.listen", "address already in use"}},
		"the directory is none": {[]string{"--data", file("")}, []string{"data directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, said := run(t, append([]string{"serve"}, c.args...)...)
			if code != 1 {
				t.Errorf("it ended with %d", code)
			}
			failures := 0
			for text := range strings.Lines(said) {
				var line struct{ Level, Msg, Err string }
				if err := json.Unmarshal([]byte(text), &line); err != nil {
					t.Errorf("%q is not JSON: %v", text, err)
				}
				if line.Level != "ERROR" {
					continue
				}
				failures++
				if line.Msg != "not started" {
					t.Errorf("it says %q", line.Msg)
				}
				for _, want := range c.want {
					if !strings.Contains(line.Err, want) {
						t.Errorf("%q does not say %q", line.Err, want)
					}
				}
			}
			if failures != 1 {
				t.Errorf("%d lines are errors:\n%s", failures, said)
			}
		})
	}
	code, _, said := run(t, "serve", "--set", "log.format=text", "--http", "8080")
	if code != 1 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, `skein: http.listen: "8080" is a port alone`) {
		t.Errorf("as text it ended with %d and says %q", code, said)
	}
	if code, _, said := run(t, "serve", "--no-such-flag"); code != 2 || !strings.Contains(said, "no-such-flag") {
		t.Errorf("a flag that there is none of: %d, %q", code, said)
	}
}

// TestConfigCheckLooksAtFiles: what a start would say, config check says, all of it.
func TestConfigCheckLooksAtFiles(t *testing.T) {
	code, _, said := run(t, "config", "check", "--set", "gateway.send_rat=1", "--set", "http.public_url=chat.example.org", "--set", "tls.cert=/nowhere.pem", "--set", "tls.key=/nowhere.key", "--listen", "tpc://127.0.0.1:1")
	if code != 1 {
		t.Errorf("it ended with %d", code)
	}
	for _, want := range []string{`setting "gateway.send_rat"`, "http.public_url: ", "tls.cert: stat /nowhere.pem: no such file", `no transport for "tpc"`} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not said once in\n%s", want, said)
		}
	}
	if code, out, said := run(t, "doctor", "--set", "tls.cert=/nowhere.pem", "--set", "tls.key=/nowhere.key"); code != 1 || !strings.Contains(out, "/nowhere.pem") {
		t.Errorf("doctor ended with %d and says %q and %q", code, out, said)
	}
}
