//go:build linux

// Command newcomer walks where somebody walks who has a bare machine and our README: it makes a
// Debian of its own (debootstrap), installs there what docs/install.md says, runs `make run` as
// a user without rights, opens the link that it prints, makes the administrator, and plays the README's chat for
// two, word by word. It prints how long each part took, as one line of JSON.
//
//	go run ./test/newcomer                     # as root; needs debootstrap
//	go run ./test/newcomer --deb FILE          # installs this package instead of building
//
// Where the registries are reached in another way than from a machine on the Internet, --env,
// --apt and --ca tell the new machine; nothing of the machine that it runs on is used else.
//
// It owns the directory that it makes, the mounts in it and the processes that it starts there,
// and leaves none of them behind.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

type options struct {
	source, suite, mirror, apt, ca, deb, into, machine string
	env                                                list
	keep                                               bool
}

// took are the parts of the walk, in seconds.
type took struct {
	Suite      string  `json:"suite"`
	How        string  `json:"how"`
	Bootstrap  float64 `json:"bootstrap_s"`
	Packages   float64 `json:"packages_s"`
	Ready      float64 `json:"ready_s"` // from the command until the server is ready
	FirstWords float64 `json:"first_message_s"`
	Walk       float64 `json:"walk_s"` // all but the bootstrap, which stands for a machine that is there
	Web        bool    `json:"web_app"`
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", ".", "the checkout that the newcomer clones")
	flag.StringVar(&o.suite, "suite", "trixie", "the release of Debian")
	flag.StringVar(&o.mirror, "mirror", "http://deb.debian.org/debian", "where Debian is")
	flag.StringVar(&o.apt, "apt", "", "a file of settings for apt in the new machine")
	flag.StringVar(&o.ca, "ca", "", "a file of certificates that the new machine trusts besides")
	flag.StringVar(&o.deb, "deb", "", "install this package instead of building from source")
	flag.StringVar(&o.into, "into", os.TempDir(), "where the machine's directory is made; about 4 GB")
	flag.Var(&o.env, "env", "NAME=VALUE for the newcomer, e.g. GOPROXY=…; may be repeated")
	flag.StringVar(&o.machine, "machine", "", "go on in this directory, which --keep left: nothing is installed, and what was built is there")
	flag.BoolVar(&o.keep, "keep", false, "leave the machine's directory there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 40*time.Minute)
	defer cancel()
	t, err := walk(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "newcomer:", err)
		stop()
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
		fmt.Fprintln(os.Stderr, "newcomer:", err)
		os.Exit(1)
	}
}

func walk(ctx context.Context, o options) (t took, err error) {
	if os.Geteuid() != 0 {
		return t, errors.New("it needs root, to make a machine")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return t, errors.New("debootstrap is missing: apt-get install debootstrap")
	}
	t.Suite, t.How = o.suite, "source"
	if o.deb != "" {
		t.How = "deb"
	}
	start := time.Now()
	m, err := newMachine(ctx, o)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, m.remove(o.keep)) }()
	t.Bootstrap = since(start)

	say("it took %.0f s", t.Bootstrap)

	start = time.Now()
	switch {
	case o.machine != "":
		t.How += ", again"
	case o.deb == "":
		err = m.installNeeds(ctx)
	default:
		err = m.installPackage(ctx, o.deb)
	}
	if err != nil {
		return t, err
	}
	t.Packages = since(start)
	say("it took %.0f s", t.Packages)

	begin := time.Now()
	server, err := m.serve(ctx, o.deb != "")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	t.Ready = since(begin)
	say("ready after %.0f s", t.Ready)
	begin = time.Now()
	if t.Web, err = server.open(ctx); err != nil {
		return t, err
	}
	if err := m.chat(ctx); err != nil {
		return t, err
	}
	t.FirstWords, t.Walk = since(begin), since(start)
	return t, nil
}

func since(t time.Time) float64 { return float64(time.Since(t).Milliseconds()) / 1000 }

// page is a document of the checkout.
func (m *machine) page(name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(m.source, name))
	return string(raw), err
}

// free is an address on loopback where nobody listens: the machine shares the network of the one
// that it is made on, where a server may run.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
