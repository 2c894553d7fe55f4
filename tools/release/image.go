package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Who the server is in the image: nobody that a host would know.
const imageUser = 10001

// image makes images for both architectures of Linux, as one OCI layout in a tar file and as
// one file for `docker load` each. There is nothing in them but the server and what it needs: no shell, no
// packages.
func (r *release) image(context.Context) error {
	base, err := r.baseLayer()
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		img, err := r.imageOf(p, base)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
		tag, err := name.NewTag("skein:" + r.version)
		if err != nil {
			return err
		}
		file := fmt.Sprintf("skein_%s_linux_%s_docker.tar", r.version, p.arch)
		if err := r.write(file, func(w io.Writer) error { return tarball.Write(tag, img, w) }); err != nil {
			return err
		}
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) == 0 {
		return err // no platform of Linux was chosen
	}
	dir := filepath.Join(r.work, "oci")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	entries, err := folder(dir, "")
	if err != nil {
		return err
	}
	return r.write("skein_"+r.version+"_oci.tar", func(w io.Writer) error { return writeTar(w, r.at, entries) })
}

// baseLayer is what the server finds in the image.
func (r *release) baseLayer() (v1.Layer, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	return r.layer([]entry{
		{name: "data/", mode: 0o700, uid: imageUser, gid: imageUser},
		{name: "tmp/", mode: 0o1777},
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte(fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nskein:x:%d:%d:Skein:/data:/sbin/nologin\n", imageUser, imageUser))},
		{name: "etc/group", mode: 0o644, data: []byte(fmt.Sprintf("root:x:0:\nskein:x:%d:\n", imageUser))},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots},
	})
}

// certificates are the roots that Mozilla trusts, without those that it trusts for some names
// or times only, which a file of certificates cannot say.
func certificates() ([]byte, error) {
	var b bytes.Buffer
	for c := range bundle.Roots() {
		if c.Constraint != nil {
			continue
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate}); err != nil {
			return nil, err
		}
	}
	if b.Len() == 0 {
		return nil, errors.New("there are no root certificates")
	}
	return b.Bytes(), nil
}

func (r *release) layer(entries []entry) (v1.Layer, error) {
	var b bytes.Buffer
	if err := writeTar(&b, r.at, entries); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
}

// imageOf is the image of a platform.
func (r *release) imageOf(p platform, base v1.Layer) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(r.bin(p), "skein"))
	if err != nil {
		return nil, err
	}
	files, err := r.layer([]entry{
		{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755}, {name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/skein", mode: 0o755, data: program},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/licenses/", mode: 0o755}, {name: "usr/share/licenses/skein/", mode: 0o755},
		{name: "usr/share/licenses/skein/LICENSE", mode: 0o644, from: filepath.Join(r.root, "LICENSE")},
		{name: "usr/share/licenses/skein/NOTICE", mode: 0o644, from: filepath.Join(r.out, "NOTICE")},
	})
	if err != nil {
		return nil, err
	}
	history := func(what string) v1.History {
		return v1.History{Created: v1.Time{Time: r.at}, CreatedBy: "make release", Comment: what}
	}
	img, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: base, History: history("certificates, a user, /data")},
		mutate.Addendum{Layer: files, History: history("skein")})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.at}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", imageUser, imageUser),
		// The private port stays on the container's loopback unless you say otherwise.
		Env:          []string{"PATH=/usr/local/bin", "SKEIN_DATA=/data", "SKEIN_HTTP_LISTEN=:8080"},
		Entrypoint:   []string{"/usr/local/bin/skein"},
		Cmd:          []string{"serve"},
		WorkingDir:   "/data",
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/local/bin/skein", "health"}, Interval: 10 * time.Second, Timeout: 3 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Skein",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.created":  r.at.Format(time.RFC3339),
			"org.opencontainers.image.source":   home,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}
