package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The units are ones that systemd understands, all of what they say included.
func TestUnits(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is not here, which reads units")
	}
	dir := t.TempDir()
	var paths []string
	units, err := filepath.Glob("systemd/*")
	if err != nil || len(units) < 4 {
		t.Fatalf("%v, %v", units, err)
	}
	for _, unit := range units {
		// The program is not installed where tests run; any other one does.
		text := strings.ReplaceAll(string(read(t, unit)), "/usr/local/bin/skein", "/bin/true")
		path := filepath.Join(dir, strings.Replace(filepath.Base(unit), "@.", "@n1.", 1))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	out, err := exec.Command(verify, append([]string{"verify", "--man=no", "--generators=no"}, paths...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A service that tells when it is ready says so to nobody unless the unit asks for it, and a
// socket's name is one that the server knows.
func TestUnitsFitTheServer(t *testing.T) {
	for _, unit := range []string{"systemd/skein.service", "systemd/skein@.service"} {
		text := string(read(t, unit))
		for _, want := range []string{"Type=notify\n", "WatchdogSec=", "ExecReload=kill -HUP $MAINPID\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %s", unit, want)
			}
		}
	}
	for unit, name := range map[string]string{"systemd/skein.socket": "http", "systemd/skein-redirect.socket": "redirect"} {
		m := regexp.MustCompile(`(?m)^FileDescriptorName=(.*)$`).FindStringSubmatch(string(read(t, unit)))
		if m == nil || m[1] != name {
			t.Errorf("%s: %v, want %s", unit, m, name)
		}
	}
}
