package platform

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lockFile makes this test binary a process that holds the lock of a file until
// its stdin ends.
const lockFile = "TEST_LOCK_FILE"

func TestMain(m *testing.M) {
	path := os.Getenv(lockFile)
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = Lock(f)
	}
	fmt.Println(err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // its end is what is waited for
}

// TestLock: one process has the lock, others are told and can still read the file,
// and it is free again when the process is killed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), lockFile+"="+path)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "<nil>\n" {
		t.Fatalf("the other process: %q, %v", said, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Lock(f); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "content" {
		t.Errorf("while it is locked: %q, %v", content, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := Lock(f); err != nil {
		t.Errorf("after its process was killed: %v", err)
	}
}

// TestMkdirAll: what is made is for this user, can be used, and its names made durable.
func TestMkdirAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, dir, filepath.Dir(dir)} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode, known := Mode(st); known && mode&0o077 != 0 {
			t.Errorf("%s has mode %04o", path, mode)
		}
	}
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(dir + "-none"); err == nil {
		t.Error("a directory that is not there was synced")
	}
	if err := MkdirAll(filepath.Join(file, "below")); err == nil {
		t.Error("a directory was made in a file")
	}
}
