//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

const home = "/home/newcomer"

// machine is a bare Debian in a directory.
type machine struct {
	root, source string
	env          []string
	http, admin  string // addresses of the server to be
	mounts       []string
	deb          bool
}

// newMachine makes one, with a user and a clone of the source in their home.
func newMachine(ctx context.Context, o options) (m *machine, err error) {
	source, err := filepath.Abs(o.source)
	if err != nil {
		return nil, err
	}
	root := o.machine
	if root == "" {
		if root, err = os.MkdirTemp(o.into, "newcomer-"); err != nil {
			return nil, err
		}
	}
	m = &machine{root: root, source: source, env: o.env, deb: o.deb != ""}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.remove(o.keep))
		}
	}()
	if m.http, err = free(); err != nil {
		return m, err
	}
	if m.admin, err = free(); err != nil {
		return m, err
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return m, err
	}
	if o.machine == "" {
		say("debootstrap %s", o.suite)
		if err := command(ctx, "debootstrap", "--variant=minbase", o.suite, root, o.mirror); err != nil {
			return m, err
		}
	}
	for _, mount := range [][]string{{"-t", "proc", "proc", root + "/proc"}, {"--rbind", "--make-rslave", "/dev", root + "/dev"}} {
		if err := command(ctx, "mount", mount...); err != nil {
			return m, err
		}
		m.mounts = append(m.mounts, mount[len(mount)-1])
	}
	if o.machine != "" {
		return m, nil
	}
	for from, to := range map[string]string{"/etc/resolv.conf": "/etc/resolv.conf", "/etc/hosts": "/etc/hosts", o.apt: "/etc/apt/apt.conf.d/99newcomer", o.ca: "/usr/local/share/ca-certificates/newcomer.crt"} {
		if from == "" {
			continue
		}
		if err := copyFile(from, root+to); err != nil {
			return m, err
		}
	}
	if err := m.do(ctx, "root", "useradd --create-home --shell /bin/sh newcomer"); err != nil {
		return m, err
	}
	if m.deb {
		return m, nil
	}
	if err := command(ctx, "git", "clone", "--quiet", "--no-hardlinks", source, root+home+"/skein"); err != nil {
		return m, err
	}
	return m, m.do(ctx, "root", "chown -R newcomer: "+home)
}

// remove ends what is mounted and deletes the directory.
func (m *machine) remove(keep bool) (err error) {
	for i := len(m.mounts) - 1; i >= 0; i-- {
		err = errors.Join(err, syscall.Unmount(m.mounts[i], syscall.MNT_DETACH))
	}
	if err != nil || keep {
		say("the machine is in %s", m.root)
		return err
	}
	return os.RemoveAll(m.root)
}

// shell is a command of a user of the machine, with nothing of our environment.
func (m *machine) shell(ctx context.Context, user, line string) *exec.Cmd {
	env := []string{"env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	env = append(env, m.env...)
	if user != "root" {
		env = append(env, "HOME="+home, "USER="+user, "SKEIN_SERVER=http://"+m.http)
	}
	args := append([]string{"--userspec=" + user, m.root}, append(env, "/bin/sh", "-ec", line)...)
	cmd := exec.CommandContext(ctx, "chroot", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func (m *machine) do(ctx context.Context, user, line string) error {
	cmd := m.shell(ctx, user, line)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, tail(string(out)))
	}
	return nil
}

// installNeeds: the machine says what is missing, and then gets what docs/install.md says.
func (m *machine) installNeeds(ctx context.Context) error {
	out, err := m.shell(ctx, "newcomer", "cd ~/skein && tools/needs.sh run").CombinedOutput()
	if err == nil {
		return fmt.Errorf("a bare machine has all that is needed:\n%s", out)
	}
	for _, want := range []string{"Go is missing", "ca-certificates is missing", "git is missing", "Node is not here"} {
		if !strings.Contains(string(out), want) {
			return fmt.Errorf("tools/needs.sh does not say %q:\n%s", want, out)
		}
	}
	page, err := m.page("docs/install.md")
	if err != nil {
		return err
	}
	recipe := regexp.MustCompile(`(?m)^apt-get install ([a-z0-9 -]+)\nmake run$`).FindStringSubmatch(page)
	if recipe == nil {
		return errors.New("docs/install.md does not say what to install for make run")
	}
	say("apt-get install %s", recipe[1])
	if err := m.do(ctx, "root", "apt-get update -q && apt-get install -y --no-install-recommends "+recipe[1]); err != nil {
		return err
	}
	return m.do(ctx, "root", "update-ca-certificates")
}

// installPackage: the package is installed, and starts nothing by itself.
func (m *machine) installPackage(ctx context.Context, deb string) error {
	if err := copyFile(deb, m.root+"/tmp/skein.deb"); err != nil {
		return err
	}
	say("apt-get install %s", filepath.Base(deb))
	if err := m.do(ctx, "root", "apt-get update -q && apt-get install -y --no-install-recommends /tmp/skein.deb && dpkg --verify skein && getent passwd skein"); err != nil {
		return err
	}
	return m.do(ctx, "root", `test "$(stat -c %a:%U /etc/skein/skein.env)" = 600:root && skein version`)
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(string(out)))
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "newcomer: "+format+"\n", args...) }
