package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"text/template"
)

// chart packs deploy/helm/skein with the version of the release, as `helm package` would.
func (r *release) chart(context.Context) error {
	entries, err := folder(filepath.Join(r.root, "deploy/helm/skein"), "skein")
	if err != nil {
		return err
	}
	versions := 0
	for i := range entries {
		if entries[i].name != "skein/Chart.yaml" {
			continue
		}
		for _, key := range []string{"version", "appVersion"} {
			line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
			if line.Match(entries[i].data) {
				versions++
			}
			entries[i].data = line.ReplaceAll(entries[i].data, fmt.Appendf(nil, "%s: %q", key, r.version))
		}
	}
	if versions != 2 {
		return fmt.Errorf("Chart.yaml has %d of the lines version and appVersion", versions)
	}
	return r.write("skein-"+r.version+".tgz", func(w io.Writer) error { return writeTarGz(w, r.at, entries) })
}

var formulaText = template.Must(template.New("formula").Parse(`class Skein < Formula
  desc "Chat server whose acknowledged messages are never lost"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{.URL}}/{{.Darwin.arm64.Name}}"
      sha256 "{{.Darwin.arm64.Sum}}"
    end
    on_intel do
      url "{{.URL}}/{{.Darwin.amd64.Name}}"
      sha256 "{{.Darwin.amd64.Sum}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.URL}}/{{.Linux.arm64.Name}}"
      sha256 "{{.Linux.arm64.Sum}}"
    end
    on_intel do
      url "{{.URL}}/{{.Linux.amd64.Name}}"
      sha256 "{{.Linux.amd64.Sum}}"
    end
  end

  def install
    bin.install "skein", "skein-lab"
    doc.install "README.md", "CHANGELOG.md", "NOTICE", "skein.toml"
  end

  service do
    run [opt_bin/"skein", "serve", "--data", var/"skein"]
    keep_alive true
    log_path var/"log/skein.log"
    error_log_path var/"log/skein.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/skein version")
  end
end
`))

// formula writes a formula for Homebrew, if the platforms that it installs were chosen.
func (r *release) formula(context.Context) error {
	type archive struct{ Name, Sum string }
	archives := map[string]map[string]archive{"darwin": {}, "linux": {}}
	n := 0
	for _, p := range r.platforms {
		if archives[p.os] == nil {
			continue
		}
		name := fmt.Sprintf("skein_%s_%s_%s.tar.gz", r.version, p.os, p.arch)
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		archives[p.os][p.arch] = archive{name, sum}
		n++
	}
	if n != 4 {
		return nil
	}
	var b bytes.Buffer
	err := formulaText.Execute(&b, map[string]any{
		"Home": home, "Version": r.version, "URL": home + "/releases/download/v" + r.version, "Darwin": archives["darwin"], "Linux": archives["linux"],
	})
	if err != nil {
		return err
	}
	return r.write("skein.rb", func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
}
