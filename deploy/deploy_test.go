// Package deploy checks the files that put Skein into operation against the code
// that they speak of: settings and metrics exist, files can be read, alerts are
// explained. It owns no behaviour; nothing imports it.
package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/skein-im/skein/internal/config"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// each calls f for every file of this directory, links left out.
func each(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			f(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestYAML(t *testing.T) {
	n := 0
	each(t, func(path string) {
		ext := filepath.Ext(path)
		if strings.Contains(path, "templates") || (ext != ".yaml" && ext != ".yml") {
			return // templates are not YAML before they are filled
		}
		n++
		var content map[string]any
		parse(t, path, &content)
		if len(content) == 0 {
			t.Errorf("%s is empty", path)
		}
	})
	if n < 7 {
		t.Fatalf("only %d files were found", n)
	}
}

// Every SKEIN_… variable is a setting: the server refuses others.
func TestSettings(t *testing.T) {
	name := regexp.MustCompile(`SKEIN_[A-Z][A-Z0-9_]+`)
	ours := []string{"SKEIN_SITE", "SKEIN_SECTION_KEY"} // Caddy's host; the general form
	n := 0
	each(t, func(path string) {
		if path == "deploy_test.go" {
			return
		}
		for _, v := range name.FindAllString(string(read(t, path)), -1) {
			if slices.Contains(ours, v) {
				continue
			}
			n++
			_, err := config.Load("", []string{strings.TrimSuffix(v, "_FILE") + "="})
			if err != nil && strings.Contains(err.Error(), "unknown setting") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	if n < 30 {
		t.Fatalf("only %d settings were found", n)
	}
}

// What the containers of the compose files are told is a good configuration.
func TestComposeSettings(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "node_secret")
	store := filepath.Join(t.TempDir(), "store_url")
	for path, content := range map[string]string{secret: strings.Repeat("0", 64), store: "postgres://skein:x@postgres:5432/skein"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, nodes := range map[string]int{"compose/compose.yaml": 1, "compose/compose.cluster.yaml": 3} {
		var file struct {
			Services map[string]struct {
				Image       string            `yaml:"image"`
				Environment map[string]string `yaml:"environment"`
				ReadOnly    bool              `yaml:"read_only"`
			} `yaml:"services"`
		}
		parse(t, path, &file)
		for name, s := range file.Services {
			if s.Image != "skein" {
				continue
			}
			nodes--
			if !s.ReadOnly {
				t.Errorf("%s: %s writes to its file system", path, name)
			}
			environ := []string{"SKEIN_DATA=/data", "SKEIN_HTTP_LISTEN=:8080"} // the image's
			for k, v := range s.Environment {
				v = strings.NewReplacer("/run/secrets/node_secret", secret, "/run/secrets/store_url", store, "${SKEIN_SITE:-localhost}", "localhost").Replace(v)
				environ = append(environ, k+"="+v)
			}
			c, err := config.Load("", environ)
			if err == nil {
				err = c.Check()
			}
			if err != nil {
				t.Errorf("%s: %s: %v", path, name, err)
			}
		}
		if nodes != 0 {
			t.Errorf("%s: %d nodes are missing", path, nodes)
		}
	}
}

// rules are the alerts, by name.
func rules(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert  string            `yaml:"alert"`
				Expr   string            `yaml:"expr"`
				Labels map[string]string `yaml:"labels"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	parse(t, "monitoring/alerts.yaml", &file)
	all := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Labels["severity"] == "" {
				t.Errorf("%s has no severity", r.Alert)
			}
			all[r.Alert] = r.Expr
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func TestAlertsAreExplained(t *testing.T) {
	text := string(read(t, "../docs/operations.md"))
	for name := range rules(t) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", name)
		}
	}
	if string(read(t, "helm/skein/files/alerts.yaml")) != string(read(t, "monitoring/alerts.yaml")) {
		t.Error("the chart has other alerts than monitoring/alerts.yaml")
	}
}

// code tells which metrics there are: by their whole name, or by a prefix and
// the rest in one file.
func code(t *testing.T) func(metric string) bool {
	t.Helper()
	whole := map[string]bool{}
	var prefixes []string
	files := map[string]string{}
	quoted := regexp.MustCompile(`"(skein_[a-z_]+)"`)
	err := filepath.WalkDir("../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src := string(read(t, path))
		for _, m := range quoted.FindAllStringSubmatch(src, -1) {
			if strings.HasSuffix(m[1], "_") {
				prefixes = append(prefixes, m[1])
				files[path] = src
			} else {
				whole[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(metric string) bool {
		if whole[metric] {
			return true
		}
		for _, p := range prefixes {
			rest, ok := strings.CutPrefix(metric, p)
			for _, src := range files {
				if ok && strings.Contains(src, `"`+p+`"`) && strings.Contains(src, `"`+rest+`"`) {
					return true
				}
			}
		}
		return false
	}
}

// Alerts and dashboard ask for metrics that exist.
func TestMetrics(t *testing.T) {
	exists := code(t)
	asked := map[string]string{}
	for name, expr := range rules(t) {
		asked[name] = expr
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "monitoring/grafana.json"), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			asked["panel "+p.Title] += " " + q.Expr
		}
	}
	metric := regexp.MustCompile(`\bskein_[a-z_]+`)
	n := 0
	for who, expr := range asked {
		for _, m := range metric.FindAllString(expr, -1) {
			n++
			base := m
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !exists(m) && !exists(base) {
				t.Errorf("%s asks for %s, which nobody counts", who, m)
			}
		}
	}
	if n < 40 {
		t.Fatalf("only %d metrics are asked for", n)
	}
}
