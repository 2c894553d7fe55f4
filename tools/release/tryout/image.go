package main

import (
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
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// image: the layout is whole, and the image of this machine runs as it says, with nothing around
// it but itself.
func (t *trial) image(ctx context.Context) error {
	oci := filepath.Join(t.work, "oci")
	if err := os.MkdirAll(oci, 0o755); err != nil {
		return err
	}
	if err := command(ctx, oci, nil, "tar", "-xf", filepath.Join(t.dir, "skein_"+t.version+"_oci.tar")); err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(oci)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		return fmt.Errorf("the OCI layout: %w", err)
	}
	img, err := tarball.ImageFromPath(filepath.Join(t.dir, fmt.Sprintf("skein_%s_linux_%s_docker.tar", t.version, runtime.GOARCH)), nil)
	if err == nil {
		err = validate.Image(img)
	}
	if err != nil {
		return fmt.Errorf("the image for docker load: %w", err)
	}
	if err := sameImage(index, img); err != nil {
		return err
	}
	root := filepath.Join(t.work, "image")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	// The whole way to it is open for the image's user, who is nobody here.
	if err := os.Chmod(t.work, 0o755); err != nil {
		return err
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "--same-owner", "--same-permissions", "-C", root)
	files := mutate.Extract(img)
	defer files.Close()
	unpack.Stdin = files
	if out, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	return t.start(ctx, root, config.Config)
}

// sameImage: the image of this machine is among those of the layout.
func sameImage(index v1.ImageIndex, img v1.Image) error {
	want, err := img.ConfigName()
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		one, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		if got, err := one.ConfigName(); err == nil && got == want && d.Platform.Architecture == runtime.GOARCH {
			return nil
		}
	}
	return errors.New("the OCI layout has another image than the one for docker load")
}

// start runs the image's command in a chroot, as its user and with its environment.
func (t *trial) start(ctx context.Context, root string, c v1.Config) error {
	if c.User == "" || strings.HasPrefix(c.User, "0") || strings.HasPrefix(c.User, "root") {
		return fmt.Errorf("the image runs as %q", c.User)
	}
	public, err := free()
	if err != nil {
		return err
	}
	private, err := free()
	if err != nil {
		return err
	}
	env := append(slices.Clone(c.Env), "SKEIN_HTTP_LISTEN="+public, "SKEIN_ADMIN_LISTEN="+private, "SKEIN_ACCOUNTS_DM_POLICY=everyone")
	in := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "chroot", append([]string{"--userspec=" + c.User, root}, args...)...)
		cmd.Env = env
		return cmd
	}
	var log bytes.Buffer
	server := in(append(slices.Clone(c.Entrypoint), c.Cmd...)...)
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	err = t.use(ctx, in, c, public, ended)
	if e := server.Process.Signal(syscall.SIGTERM); e == nil {
		select {
		case e := <-ended:
			err = errors.Join(err, e)
		case <-time.After(time.Minute):
			err = errors.Join(err, errors.New("it did not stop within a minute"), server.Process.Kill())
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.Bytes()[max(0, log.Len()-4000):])
	}
	if _, err := os.Stat(filepath.Join(root, "data/keys/admin.key")); err != nil {
		return fmt.Errorf("it did not keep its data in /data: %w", err)
	}
	return nil
}

// use waits until the image's own health check is green, and has two people write to each other.
func (t *trial) use(ctx context.Context, in func(...string) *exec.Cmd, c v1.Config, public string, ended <-chan error) error {
	if c.Healthcheck == nil || len(c.Healthcheck.Test) < 2 || c.Healthcheck.Test[0] != "CMD" {
		return errors.New("the image has no health check")
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		out, err := in(append(c.Healthcheck.Test[1:], "--ready")...).CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the health check: %w\n%s", err, out)
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended: %v", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	var who [2]struct {
		Tokens struct{ User, AccessToken string }
	}
	for i, name := range []string{"ann", "bob"} {
		body := fmt.Sprintf(`{"username": %q, "password": "correct horse battery", "device": {"id": "tryout-%d", "class": "DEVICE_CLASS_WEB"}}`, name, i)
		if err := call(ctx, public, "AccountService/Register", "", body, &who[i]); err != nil {
			return err
		}
	}
	a, b := who[0].Tokens, who[1].Tokens
	conversation := "dm:" + min(a.User, b.User) + ":" + max(a.User, b.User)
	var sent struct{ Seq string }
	if err := call(ctx, public, "MessageService/SendMessage", a.AccessToken, fmt.Sprintf(`{"conversation": %q, "content": {"type": "text", "text": "from an image"}}`, conversation), &sent); err != nil {
		return err
	}
	var read json.RawMessage
	if err := call(ctx, public, "MessageService/ListEntries", b.AccessToken, fmt.Sprintf(`{"conversation": %q}`, conversation), &read); err != nil {
		return err
	}
	if sent.Seq == "" || !strings.Contains(string(read), "from an image") {
		return fmt.Errorf("bob does not read what ann wrote: %s", read)
	}
	return nil
}

func call(ctx context.Context, public, method, token, body string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+public+"/api/skein.v1."+method, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", method, resp.Status, raw)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
