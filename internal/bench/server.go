package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/wire"
)

// Server is the measured server: a process of its own on a temporary
// directory, with the settings as shipped except that strangers may write to
// each other.
type Server struct {
	HTTP, Admin, TCP string // host:port
	key              string
	dir              string
	cmd              *exec.Cmd
	done             chan error
}

// StartServer runs `binary serve`. log gets its stderr.
func StartServer(ctx context.Context, binary string, log io.Writer) (*Server, error) {
	dir, err := os.MkdirTemp("", "skein-bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, done: make(chan error, 1)}
	for _, addr := range []*string{&s.HTTP, &s.Admin, &s.TCP} {
		if *addr, err = freePort(); err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
	}
	s.cmd = exec.Command(binary, "serve", "--data", dir+"/data", "--http", s.HTTP, "--admin", s.Admin,
		"--listen", "tcp://"+s.TCP, "--set", "accounts.dm_policy=everyone", "--set", "gateway.drain_time=0s", "--set", "log.level=warn")
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	go func() { s.done <- s.cmd.Wait() }()
	if err := s.waitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, "data", "keys", "admin.key"))
	if err != nil {
		s.Stop()
		return nil, err
	}
	s.key = strings.TrimSpace(string(key))
	return s, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended: %v", err)
		case <-ctx.Done():
			return errors.New("the server was not ready within 30 s")
		case <-time.After(20 * time.Millisecond):
		}
		resp, err := http.Get("http://" + s.Admin + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// Stop ends the server's process and removes its directory.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	os.RemoveAll(s.dir)
}

// target is where clients connect to.
func (s *Server) target(transport string) (string, error) {
	switch transport {
	case "ws":
		return "ws://" + s.HTTP + "/ws", nil
	case "tcp":
		return "tcp://" + s.TCP, nil
	}
	return "", fmt.Errorf("transport %q: want ws or tcp", transport)
}

// mint makes an access token for a user, as fast as the server's rate limit lets.
func (s *Server) mint(ctx context.Context, user string) (string, error) {
	body, err := protojson.Marshal(&wire.MintTokenRequest{User: user, Device: device()})
	if err != nil {
		return "", err
	}
	for {
		token, wait, err := s.mintOnce(ctx, body)
		if err != nil || wait == 0 {
			return token, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(wait):
		}
	}
}

// mintOnce returns a token, or how long to wait before asking again.
func (s *Server) mintOnce(ctx context.Context, body []byte) (token string, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTP+"/api/skein.v1.AdminService/MintToken", bytes.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", 0, err
	}
	var got struct {
		Tokens struct {
			AccessToken string `json:"accessToken"`
		} `json:"tokens"`
		RetryAfterMs int64 `json:"retryAfterMs"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return "", 0, fmt.Errorf("mint: %s: %s", resp.Status, raw)
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return "", time.Duration(got.RetryAfterMs+1) * time.Millisecond, nil
	case got.Tokens.AccessToken == "":
		return "", 0, fmt.Errorf("mint: %s: %s", resp.Status, raw)
	}
	return got.Tokens.AccessToken, 0, nil
}

// usage is what the kernel says of the server's process.
type usage struct {
	cpu time.Duration // user + system
	rss int64         // bytes
	at  time.Time
}

func (s *Server) usage() (usage, error) {
	pid := strconv.Itoa(s.cmd.Process.Pid)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return usage{}, err
	}
	// Fields after the parenthesised name; utime and stime are 14 and 15, in ticks of 10 ms.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	utime, err1 := strconv.ParseInt(f[11], 10, 64)
	stime, err2 := strconv.ParseInt(f[12], 10, 64)
	pages, err3 := strconv.ParseInt(f[21], 10, 64)
	return usage{
		cpu: time.Duration(utime+stime) * 10 * time.Millisecond,
		rss: pages * int64(os.Getpagesize()),
		at:  time.Now(),
	}, errors.Join(err1, err2, err3)
}

// kernelBytes is the machine's kernel memory: slabs (sockets, files) and
// buffers of TCP sockets.
func kernelBytes() (int64, error) {
	mem, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var total int64
	sc := bufio.NewScanner(bytes.NewReader(mem))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if f[0] == "Slab:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			total += kb << 10
		}
	}
	sock, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(sock), "\n") {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "TCP:" {
			pages, _ := strconv.ParseInt(f[len(f)-1], 10, 64)
			total += pages * int64(os.Getpagesize())
		}
	}
	return total, nil
}

// fsyncMicros is the median time of a small write with fdatasync beside the
// server's data, the machine's floor for a durable ack.
func (s *Server) fsyncMicros() (float64, error) {
	f, err := os.CreateTemp(s.dir, "fsync")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var h histogram
	block := make([]byte, 4096)
	for range 200 {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		h.record(time.Since(start))
	}
	return h.latency().P50 * 1000, nil
}
