package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// needs runs tools/needs.sh on a machine that has some programs and nothing else.
func needs(t *testing.T, what string, has []string, scripts map[string]string, env ...string) (out string, code int) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range append(has, "sh", "sed", "uname", "id", "ls", "dirname") {
		if scripts[name] != "" {
			continue
		}
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+filepath.Join(bin, "sh")+"\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "../../tools/needs.sh", what)
	cmd.Env = append([]string{"PATH=" + bin}, env...)
	raw, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

// A bare machine is told all that is missing, why, and how to get it; and nothing is
// installed that nobody asked for.
func TestNeeds(t *testing.T) {
	debian, certs := filepath.Join(t.TempDir(), "debian_version"), filepath.Join(t.TempDir(), "ca.crt")
	for _, path := range []string{debian, certs} {
		if err := os.WriteFile(path, []byte("12.7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onDebian := "NEEDS_DEBIAN=" + debian
	out, code := needs(t, "run", nil, nil, onDebian, "NEEDS_CERTS=/nowhere")
	for _, want := range []string{"Go is missing", "https://go.dev/dl/", "git is missing", "without its web app"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("%d: no %q in\n%s", code, want, out)
		}
	}
	old := map[string]string{"go": "echo go1.19.8\n", "git": "true\n", "npm": "true\n"}
	if out, code = needs(t, "run", nil, old, onDebian, "NEEDS_CERTS="+certs); code != 1 || !strings.Contains(out, "A newer Go is missing") {
		t.Errorf("%d:\n%s", code, out)
	}
	good := map[string]string{"go": "echo go1.26.8\n", "git": "true\n", "npm": "true\n"}
	if out, code = needs(t, "run", nil, good, onDebian, "NEEDS_CERTS="+certs); code != 0 || out != "" {
		t.Errorf("%d:\n%s", code, out)
	}
	// apt-get would tell on itself.
	good["apt-get"] = "echo it was run; exit 9\n"
	out, code = needs(t, "test", nil, good, onDebian, "NEEDS_CERTS="+certs, "YES=0")
	if code != 1 || !strings.Contains(out, "To install them:  apt-get install -y --no-install-recommends gcc") || strings.Contains(out, "it was run") {
		t.Errorf("%d:\n%s", code, out)
	}
	for _, browser := range []string{"Chromium is missing", "Firefox is missing"} {
		if !strings.Contains(out, browser) {
			t.Errorf("no %q in\n%s", browser, out)
		}
	}
	// In CI nobody can be asked: root installs, others are told.
	good["mkdir"] = "true\n"
	good["id"] = "echo 0\n"
	if out, code = needs(t, "test", nil, good, onDebian, "NEEDS_CERTS="+certs, "NEEDS_PG_CONF=/dev/null"); code != 9 || !strings.Contains(out, "it was run") {
		t.Errorf("%d:\n%s", code, out)
	}
	good["id"] = "echo 1000\n"
	if out, code = needs(t, "test", nil, good, onDebian, "NEEDS_CERTS="+certs); code != 1 || strings.Contains(out, "it was run") {
		t.Errorf("%d:\n%s", code, out)
	}
	if out, code = needs(t, "test", nil, good, onDebian, "NEEDS_CERTS="+certs, "YES=1"); code != 1 || !strings.Contains(out, "needs root") || strings.Contains(out, "it was run") {
		t.Errorf("%d:\n%s", code, out)
	}
	if out, code = needs(t, "test", nil, good, "NEEDS_DEBIAN=/nowhere", "NEEDS_CERTS="+certs); code != 1 || !strings.Contains(out, "your system's packages") {
		t.Errorf("%d:\n%s", code, out)
	}
}
