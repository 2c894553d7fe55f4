package sdkconformance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// driver is a process that drives a client. It is told commands and answers them, and
// tells events, by lines of JSON.
type driver struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	in     *inbox
	next   int
	exited bool // the player's
	ended  chan struct{}
	stderr tail
}

// maxLine bounds a line of a driver's.
const maxLine = 16 << 20

func startDriver(in *inbox, command []string, env []string) (*driver, error) {
	if len(command) == 0 {
		return nil, errors.New("no driver")
	}
	d := &driver{in: in, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.Stderr = &d.stderr
	d.cmd.WaitDelay = 2 * time.Second
	var err error
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the driver does not start: %w", err)
	}
	go d.read(stdout)
	return d, nil
}

func (d *driver) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		m, err := object(lines.Bytes())
		if err != nil {
			d.in.put(item{driver: d, bad: lines.Text()})
			continue
		}
		d.in.put(item{driver: d, line: m})
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line that is too long
	_ = d.cmd.Wait()                   // how it ended is said by what it did not do
	close(d.ended)
	d.in.put(item{driver: d, exited: true})
}

// command sends one and returns its number.
func (d *driver) command(name string, args map[string]any) (int, error) {
	d.next++
	line := map[string]any{"id": d.next, "do": name}
	for k, v := range args {
		line[k] = v
	}
	b, err := json.Marshal(line)
	if err != nil {
		return 0, err
	}
	if _, err := d.stdin.Write(append(b, '\n')); err != nil {
		return 0, fmt.Errorf("the driver does not read: %w", err)
	}
	return d.next, nil
}

// kill ends the process at once and waits until it is gone.
func (d *driver) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.stdin.Close()
	<-d.ended // WaitDelay bounds it
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 8<<10; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
