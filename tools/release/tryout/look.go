package main

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	rpmutils "github.com/sassoftware/go-rpmutils"
)

// programs looks into the programs of every archive, and starts those of this machine.
func (t *trial) programs(ctx context.Context) error {
	archives, err := filepath.Glob(filepath.Join(t.dir, "skein_*_*_*.tar.gz"))
	if err != nil {
		return err
	}
	zips, err := filepath.Glob(filepath.Join(t.dir, "skein_*.zip"))
	if err != nil {
		return err
	}
	notice, err := os.ReadFile(filepath.Join(t.dir, "NOTICE"))
	if err != nil {
		return err
	}
	bill, err := t.bill()
	if err != nil {
		return err
	}
	started := false
	for _, archive := range append(archives, zips...) {
		into := filepath.Join(t.work, filepath.Base(archive)+".d")
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		unpack := []string{"tar", "-xzf", archive}
		if strings.HasSuffix(archive, ".zip") {
			unpack = []string{"python3", "-m", "zipfile", "-e", archive, into}
		}
		if err := command(ctx, into, nil, unpack[0], unpack[1:]...); err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), ".zip")
		p := strings.Split(strings.TrimPrefix(name, "skein_"+t.version+"_"), "_")
		for _, program := range []string{"skein", "skein-lab"} {
			if p[0] == "windows" {
				program += ".exe"
			}
			at := filepath.Join(into, name, program)
			if err := look(at, p[0], p[1], string(notice), bill); err != nil {
				return fmt.Errorf("%s: %s: %w", filepath.Base(archive), program, err)
			}
			if p[0] != runtime.GOOS || p[1] != runtime.GOARCH {
				continue
			}
			started = true
			out, err := output(ctx, into, nil, at, "version")
			if err == nil && !strings.Contains(out, "v"+t.version) {
				err = fmt.Errorf("%s says that it is %q, want v%s", program, strings.TrimSpace(out), t.version)
			}
			if err != nil {
				return err
			}
		}
		for _, file := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "skein.toml"} {
			if _, err := os.Stat(filepath.Join(into, name, file)); err != nil {
				return err
			}
		}
	}
	if !started {
		return fmt.Errorf("no program is for %s/%s, so none was started", runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// bill are the components of the bill of materials, by package URL.
func (t *trial) bill() ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(t.dir, "skein_"+t.version+".cdx.json"))
	if err != nil {
		return nil, err
	}
	var bom struct {
		Components []struct {
			PURL     string `json:"purl"`
			Licenses []struct {
				License struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(raw, &bom); err != nil {
		return nil, err
	}
	var all []string
	npm := 0
	for _, c := range bom.Components {
		if len(c.Licenses) == 0 || c.Licenses[0].License.ID == "" {
			return nil, fmt.Errorf("%s has no licence in the bill of materials", c.PURL)
		}
		if strings.HasPrefix(c.PURL, "pkg:npm/") {
			npm++
		}
		all = append(all, c.PURL)
	}
	if npm < 5 || !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, "pkg:npm/react@") }) {
		return nil, fmt.Errorf("the bill of materials has %d packages of npm, and not all of the web app", npm)
	}
	return all, nil
}

// look compares what a program says of itself with what the release says.
func look(program, system, arch, notice string, bill []string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != system || settings["GOARCH"] != arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		return fmt.Errorf("it was built with %v", settings)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if !strings.Contains(notice, "  "+m.Path+" "+m.Version+": ") {
			return fmt.Errorf("%s %s is in it, and not in NOTICE", m.Path, m.Version)
		}
		if !slices.Contains(bill, "pkg:golang/"+m.Path+"@"+m.Version) {
			return fmt.Errorf("%s %s is in it, and not in the bill of materials", m.Path, m.Version)
		}
	}
	if system != "linux" {
		return nil
	}
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is not static")
		}
	}
	return nil
}

// packages opens the packages: what they have, with which rights, and for whom.
func (t *trial) packages(ctx context.Context) error {
	debs, err := filepath.Glob(filepath.Join(t.dir, "*.deb"))
	if err != nil || len(debs) == 0 {
		return fmt.Errorf("there is no package for Debian: %v", err)
	}
	for _, deb := range debs {
		list, err := output(ctx, t.dir, nil, "dpkg-deb", "--contents", deb)
		if err != nil {
			return err
		}
		for _, want := range []string{"-rwxr-xr-x root/root", "./usr/bin/skein\n", "./usr/lib/systemd/system/skein.service\n", "./usr/lib/sysusers.d/skein.conf\n", "./usr/share/doc/skein/copyright\n"} {
			if !strings.Contains(list, want) {
				return fmt.Errorf("%s has no %q:\n%s", deb, want, list)
			}
		}
		for line := range strings.Lines(list) {
			if strings.HasSuffix(line, "skein.env\n") && !strings.HasPrefix(line, "-rw------- root/root") {
				return fmt.Errorf("others may read the settings: %s", line)
			}
		}
		control := filepath.Join(t.work, filepath.Base(deb)+".control")
		if err := command(ctx, t.dir, nil, "dpkg-deb", "--control", deb, control); err != nil {
			return err
		}
		if conf, err := os.ReadFile(filepath.Join(control, "conffiles")); err != nil || !strings.Contains(string(conf), "/etc/skein/skein.env\n") {
			return fmt.Errorf("an upgrade would overwrite the settings: %v, %q", err, conf)
		}
		for _, script := range []string{"postinst", "prerm", "postrm"} {
			if err := command(ctx, control, nil, "sh", "-n", script); err != nil {
				return err
			}
		}
	}
	rpms, err := filepath.Glob(filepath.Join(t.dir, "*.rpm"))
	if err != nil || len(rpms) != len(debs) {
		return fmt.Errorf("%d packages for Red Hat and %d for Debian: %v", len(rpms), len(debs), err)
	}
	for _, name := range rpms {
		if err := lookIntoRPM(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func lookIntoRPM(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rpm, err := rpmutils.ReadRpm(f)
	if err != nil {
		return err
	}
	files, err := rpm.Header.GetFiles()
	if err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
		if f.UserName() != "root" || f.Name() == "/etc/skein/skein.env" && (f.Mode()&0o777 != 0o600 || f.Flags()&rpmutils.RPMFILE_NOREPLACE == 0) {
			return fmt.Errorf("%s: %o, %s, flags %x", f.Name(), f.Mode(), f.UserName(), f.Flags())
		}
	}
	for _, want := range []string{"/usr/bin/skein", "/usr/bin/skein-lab", "/usr/lib/systemd/system/skein.service", "/usr/lib/sysusers.d/skein.conf"} {
		if !slices.Contains(names, want) {
			return fmt.Errorf("there is no %s in %v", want, names)
		}
	}
	payload, err := rpm.PayloadReaderExtended()
	if err != nil {
		return err
	}
	read := 0
	for {
		_, err := payload.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, payload); err != nil {
			return err
		}
		read++
	}
	if read < len(files)-1 {
		return fmt.Errorf("%d files are told and %d are there", len(files), read)
	}
	return nil
}
