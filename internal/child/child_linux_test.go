package child

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// The first thread never ends: it is TestMain's, so that no test gets it.
func init() { runtime.LockOSThread() }

// The test program is its own child, and a parent that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("SKEIN_CHILD_TEST") {
	case "echo":
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			os.Stdout.WriteString(in.Text() + "\n")
		}
	case "parent":
		grandchild := echo("echo")
		grandchild.Stdin, grandchild.Stdout = os.Stdin, os.Stdout
		if err := Start(grandchild, syscall.SIGKILL, nil); err != nil {
			os.Exit(1)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	default:
		os.Exit(m.Run())
	}
}

func echo(as string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SKEIN_CHILD_TEST="+as)
	return cmd
}

// A benchmark's load generators were killed when a thread ended that had once
// started them and had run somebody's locked goroutine since.
func TestOutlivesTheThreadThatAsked(t *testing.T) {
	cmd := echo("echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	asked, thread := make(chan error), 0
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		thread = syscall.Gettid()
		asked <- Start(cmd, syscall.SIGKILL, nil)
	}()
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if err := syscall.Tgkill(os.Getpid(), thread, 0); err == syscall.ESRCH {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the thread does not end")
		}
	}
	if _, err := in.Write([]byte("there\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "there\n" {
		t.Errorf("the child answers %q, %v", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A child ends with a parent that is killed.
func TestEndsWithItsParent(t *testing.T) {
	cmd := echo("parent")
	in, err := cmd.StdinPipe() // stays open: the grandchild has no other reason to end
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(out).ReadByte() // until nobody has the other end
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the grandchild lives on")
	}
	_ = cmd.Wait()
}
