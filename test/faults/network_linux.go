package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A run of the cluster happens inside one network namespace without a name,
// made by inside. In it, a bridge connects as many further namespaces as there
// are machines. So no name or address is seen outside, several runs do not meet,
// and all is gone with the last process, however that ends.
const (
	subnet      = "10.213.7."
	harnessAddr = subnet + "1"
)

// insideEnv tells a process that it is in the namespace of its run.
const insideEnv = "SKEIN_FAULTS_INSIDE=1"

// canPartition tells what is missing.
func canPartition() error {
	if os.Geteuid() != 0 {
		return errors.New("clusters need root: every node gets a network namespace of its own (try sudo)")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("clusters need the command ip (package iproute2)")
	}
	return nil
}

func isInside() bool { return os.Getenv("SKEIN_FAULTS_INSIDE") != "" }

// inside runs this program again in a namespace of its own.
func inside(ctx context.Context, args []string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // it ends with this thread
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), insideEnv)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// network is the bridge and who is on it.
type network struct{ machines int }

func newNetwork() (*network, error) {
	return &network{}, ip("link set lo up", "link add hub type bridge", "addr add "+harnessAddr+"/24 dev hub", "link set hub up")
}

// ip runs commands of ip in the namespace of the calling thread.
func ip(lines ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(lines, "; "), err, out)
	}
	return nil
}

// machine is a namespace with an address.
type machine struct {
	addr string
	ns   *os.File // keeps the namespace when nothing runs in it
}

// machine makes the next one.
func (n *network) machine() (_ *machine, err error) {
	n.machines++
	m := &machine{addr: fmt.Sprintf("%s%d", subnet, n.machines+1)}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			m.ns, err = os.Open("/proc/thread-self/ns/net")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("a network namespace: %w", err)
	}
	link := fmt.Sprintf("m%d", n.machines)
	err = ip(
		fmt.Sprintf("link add %s type veth peer name eth0 netns /proc/%d/fd/%d", link, os.Getpid(), m.ns.Fd()),
		"link set "+link+" master hub", "link set "+link+" up",
	)
	if err == nil {
		// What is routed into sink is gone, without a word to anybody.
		err = m.do("link set lo up", "addr add "+m.addr+"/24 dev eth0", "link set eth0 up",
			"link add sink type veth peer name void", "link set sink arp off up", "link set void arp off up")
	}
	if err != nil {
		return nil, errors.Join(err, m.ns.Close())
	}
	return m, nil
}

// close lets the namespace go, with its end of the cable, once nothing runs in it.
func (m *machine) close() error { return m.ns.Close() }

// enter moves the calling thread, which must be locked and end afterwards.
func (m *machine) enter() error { return unix.Setns(int(m.ns.Fd()), unix.CLONE_NEWNET) }

// do runs commands of ip in the machine.
func (m *machine) do(lines ...string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := m.enter()
		if err == nil {
			err = ip(lines...)
		}
		done <- err
	}()
	return <-done
}

// cut lets nothing through between a machine and others, in both directions.
func (m *machine) cut(others ...*machine) error { return m.routes("add", others) }

// join undoes cut.
func (m *machine) join(others ...*machine) error { return m.routes("del", others) }

func (m *machine) routes(verb string, others []*machine) error {
	var mine []string
	var errs []error
	for _, o := range others {
		mine = append(mine, "route "+verb+" "+o.addr+"/32 dev sink")
		errs = append(errs, o.do("route "+verb+" "+m.addr+"/32 dev sink"))
	}
	return errors.Join(append(errs, m.do(mine...))...)
}

// freeze and thaw stop a process and let it go on.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func thaw(p *os.Process) error   { return p.Signal(syscall.SIGCONT) }
