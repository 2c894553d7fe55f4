package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

const home = "https://github.com/skein-im/skein"

// What is in a package and nowhere else: scripts, settings to start with.
//
//go:embed package
var inPackage embed.FS

// packages makes a package for Debian and one for Red Hat, for each architecture of Linux.
func (r *release) packages(context.Context) error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(p, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, p.arch, err)
			}
		}
	}
	return nil
}

func (r *release) pack(p platform, format string) error {
	dir := filepath.Join(r.work, "package")
	contents, err := r.contents(p, dir)
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(dir, name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "skein", Arch: p.arch, Platform: p.os, Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "The Skein authors <maintainers@skein.invalid>", Vendor: "The Skein authors", Homepage: home, License: "Apache-2.0",
		Description: "Chat server whose acknowledged messages are never lost\nOne program with a web app in it: no database, queue or cache to install beside it.",
		MTime:       r.at, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents:   contents,
			Recommends: []string{"ca-certificates"},
			Scripts:    nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
			RPM:        nfpm.RPM{BuildHost: "localhost", Compression: "gzip:9", Summary: "Chat server whose acknowledged messages are never lost"},
			Deb:        nfpm.Deb{Compression: "gzip"}, // the Go xz takes minutes
		},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info.Target = packager.ConventionalFileName(info)
	return r.write(info.Target, func(w io.Writer) error { return packager.Package(info, w) })
}

// contents are the files of a package; those that stand nowhere are written to dir.
func (r *release) contents(p platform, dir string) (files.Contents, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var all files.Contents
	add := func(from, to, kind string, mode os.FileMode) {
		all = append(all, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at}})
	}
	own, err := inPackage.ReadDir("package")
	if err != nil {
		return nil, err
	}
	for _, f := range own {
		text, err := inPackage.ReadFile("package/" + f.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, c := range commands {
		add(filepath.Join(r.bin(p), c), "/usr/bin/"+c, "", 0o755)
	}
	for _, unit := range []string{"skein.service", "skein@.service", "skein.socket", "skein-redirect.socket"} {
		text, err := os.ReadFile(filepath.Join(r.root, "deploy/systemd", unit))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, unit), []byte(packaged(unit, string(text))), 0o644)
		}
		if err != nil {
			return nil, err
		}
		add(filepath.Join(dir, unit), "/usr/lib/systemd/system/"+unit, "", 0o644)
	}
	add(filepath.Join(dir, "skein.sysusers"), "/usr/lib/sysusers.d/skein.conf", "", 0o644)
	add("", "/etc/skein", "dir", 0o755)
	// It may hold secrets, and systemd reads it as root.
	add(filepath.Join(dir, "skein.env"), "/etc/skein/skein.env", "config|noreplace", 0o600)
	add(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/skein/copyright", "", 0o644)
	add(filepath.Join(r.out, "NOTICE"), "/usr/share/doc/skein/NOTICE", "", 0o644)
	add(filepath.Join(r.root, "docs/skein.toml"), "/usr/share/doc/skein/skein.toml", "", 0o644)
	add(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/skein/CHANGELOG.md", "", 0o644)
	add(filepath.Join(r.root, "deploy/fail2ban/filter.conf"), "/usr/share/doc/skein/fail2ban/filter.conf", "", 0o644)
	add(filepath.Join(r.root, "deploy/fail2ban/jail.conf"), "/usr/share/doc/skein/fail2ban/jail.conf", "", 0o644)
	return all, nil
}

// packaged is a unit as it stands in a package: the program lies in /usr/bin, its first lines
// do not say how to install it, and the single node has a user that the package makes, so that
// its files can be reached under /var/lib/skein.
func packaged(unit, text string) string {
	if i := strings.Index(text, "[Unit]"); i > 0 {
		text = "# Of the package skein. Change it with `systemctl edit`, settings in /etc/skein.\n" + text[i:]
	}
	text = strings.ReplaceAll(text, "/usr/local/bin/skein", "/usr/bin/skein")
	if unit == "skein.service" {
		text = strings.Replace(text, "DynamicUser=yes\nUser=skein\n", "User=skein\nGroup=skein\n", 1)
	}
	return text
}
