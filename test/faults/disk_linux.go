package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: from then on the file
// system does nothing more, and what was not synced is gone: a power cut.
const (
	ext4Shutdown   = 0x8004587d // _IOR('X', 125, __u32)
	ext4NoLogFlush = 2
)

const imageBytes = 1 << 30 // sparse

// disk is an ext4 file system of our own in a file, on a loop device.
type disk struct {
	loop  string // /dev/loopN
	mount string
	up    bool
	gate  *gate
}

// canCutPower tells what is missing.
func canCutPower() error {
	if os.Geteuid() != 0 {
		return errors.New("power cuts need root: they mount a file system of their own (try sudo)")
	}
	for _, tool := range []string{"mkfs.ext4", "losetup"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("power cuts need %s (packages e2fsprogs, util-linux)", tool)
		}
	}
	return nil
}

func newDisk(dir string) (_ *disk, err error) {
	d := &disk{mount: filepath.Join(dir, "disk"), gate: newGate()}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	image := filepath.Join(dir, "disk.img")
	f, err := os.Create(image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(imageBytes), f.Close(), os.Mkdir(d.mount, 0o700)); err != nil {
		return nil, err
	}
	if _, err := command("mkfs.ext4", "-q", "-F", image); err != nil {
		return nil, err
	}
	loop, err := command("losetup", "--find", "--show", image)
	if err != nil {
		return nil, fmt.Errorf("no loop device: %w", err)
	}
	d.loop = loop
	return d, d.attach()
}

func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	out = bytes.TrimSpace(out)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return string(out), nil
}

func (d *disk) attach() error {
	if err := unix.Mount(d.loop, d.mount, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", d.loop, err)
	}
	d.up = true
	return nil
}

// detach waits for the last file of a dying process to be closed.
func (d *disk) detach() error {
	var err error
	for range 100 {
		if err = unix.Unmount(d.mount, 0); err == nil {
			d.up = false
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("unmount %s: %w", d.mount, err)
}

func (d *disk) data() string { return filepath.Join(d.mount, "data") }

func (d *disk) address(server string) (string, error) { return d.gate.guard(server) }

// strike cuts the power, then takes the dead disk off and starts it again; ext4
// recovers from its journal.
func (d *disk) strike(s *server) error {
	d.gate.shut() // the ghost of the server talks to nobody
	if err := d.cut(); err != nil {
		return err
	}
	s.kill()
	if err := d.detach(); err != nil {
		return err
	}
	d.gate.open()
	return d.attach()
}

func (d *disk) cut() error {
	f, err := os.Open(d.mount)
	if err != nil {
		return err
	}
	defer f.Close()
	flag := uint32(ext4NoLogFlush)
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, int(flag)); err != nil {
		return fmt.Errorf("cut the power of %s: %w", d.mount, err)
	}
	return nil
}

func (d *disk) close() error {
	d.gate.close()
	var errs []error
	if d.up {
		errs = append(errs, d.detach())
	}
	if d.loop != "" {
		_, err := command("losetup", "--detach", d.loop)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
