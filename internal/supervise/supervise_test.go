package supervise

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// What the environment says of a supervisor is taken from it once, and told to no child.
func TestFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "3000000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	s := Find()
	if s.Watchdog() != 3*time.Second {
		t.Errorf("watchdog %v", s.Watchdog())
	}
	if err := s.Tell(Ready, Status("serving")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if err := l.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := l.Read(buf)
	if got := string(buf[:n]); err != nil || got != "READY=1\nSTATUS=serving" {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if v, there := os.LookupEnv(name); there {
			t.Errorf("%s is still %q", name, v)
		}
	}
	if none := Find(); none != nil || none.Tell(Ready) != nil || none.Watchdog() != 0 {
		t.Error("there is still a supervisor")
	}
}

// Signs of life that another process is asked for are not ours to give.
func TestWatchdogOfAnother(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "@nowhere")
	t.Setenv("WATCHDOG_USEC", "3000000")
	t.Setenv("WATCHDOG_PID", "1")
	if s := Find(); s.Watchdog() != 0 {
		t.Errorf("watchdog %v", s.Watchdog())
	}
}

// Sockets for another process are left alone; nonsense is refused.
func TestSockets(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "1")
	if all, err := Sockets(); all != nil || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("LISTEN_FDS", "many")
	if _, err := Sockets(); err == nil {
		t.Error("nonsense is taken")
	}
}
