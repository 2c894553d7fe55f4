package export

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Format is the version of the form, in account.json and manifest.json.
const Format = 1

// archive is the zip that is written, and what its manifest is to say.
type archive struct {
	out   *counter
	zip   *zip.Writer
	parts []part
	// of the part that is written
	w    io.Writer
	sum  hash.Hash
	text bytes.Buffer
	raw  []byte
}

type part struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Lines int    `json:"lines,omitempty"`
	Sum   string `json:"sha256"`
}

// leftOut is what a message named, or the list had, and could not be told.
type leftOut struct {
	Media        string `json:"media,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Seq          uint64 `json:"seq,omitempty"`
	Why          string `json:"why"`
}

// manifest is the last part.
type manifest struct {
	Format        int       `json:"format"`
	User          string    `json:"user"`
	ByAdmin       bool      `json:"byAdministrator,omitempty"`
	Begun         int64     `json:"begunAtMs"`
	Ended         int64     `json:"endedAtMs"`
	Complete      bool      `json:"complete"`
	Conversations int       `json:"conversations"`
	Entries       int       `json:"entries"`
	Media         int       `json:"media"`
	Bytes         int64     `json:"bytes"`
	LeftOut       []leftOut `json:"leftOut"`
	Parts         []part    `json:"parts"`
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// open begins the zip. Nothing leaves before 32 KiB are there.
func (a *archive) open(w io.Writer) {
	a.out = &counter{w: bufio.NewWriterSize(w, 32<<10)}
	a.zip = zip.NewWriter(a.out)
	var deflate *flate.Writer // parts come one after another, and each would make its own
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		if deflate == nil {
			var err error
			deflate, err = flate.NewWriter(w, flate.BestSpeed)
			return deflate, err
		}
		deflate.Reset(w)
		return deflate, nil
	})
}

// part writes a part: fill writes to a.w, by line and object. Also with an error of fill the
// part is as the manifest says.
func (a *archive) part(name string, method uint16, now time.Time, fill func() error) error {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: now.UTC()})
	if err != nil {
		return err
	}
	a.sum = sha256.New()
	counted := &counter{w: io.MultiWriter(w, a.sum)}
	a.w = counted
	a.parts = append(a.parts, part{Name: name})
	err = fill()
	p := &a.parts[len(a.parts)-1]
	p.Bytes, p.Sum = counted.n, hex.EncodeToString(a.sum.Sum(nil))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// message is a message of the protocol as its JSON, in one line.
func (a *archive) message(m proto.Message) (json.RawMessage, error) {
	raw, err := protojson.MarshalOptions{}.MarshalAppend(a.raw[:0], m)
	if err != nil {
		return nil, err
	}
	a.raw = raw[:0]
	a.text.Reset()
	err = json.Compact(&a.text, raw) // protojson puts spaces in at random
	return a.text.Bytes(), err
}

// kept is message, to be kept beside another.
func (a *archive) kept(m proto.Message) (json.RawMessage, error) {
	raw, err := a.message(m)
	return bytes.Clone(raw), err
}

// line writes a message of the protocol as one line.
func (a *archive) line(m proto.Message) error {
	raw, err := a.message(m)
	if err != nil {
		return err
	}
	return a.rawLine(raw)
}

func (a *archive) rawLine(raw []byte) error {
	a.parts[len(a.parts)-1].Lines++
	_, err := a.w.Write(append(raw, '\n'))
	return err
}

// finish writes the manifest, and then the directory of the zip.
func (e *export) finish() error {
	m := manifest{
		Format: Format, User: string(e.t.User), ByAdmin: e.t.Admin, Begun: e.begun.UnixMilli(), Ended: e.s.o.Now().UnixMilli(), Complete: true,
		Conversations: e.stats.Conversations, Entries: e.stats.Entries, Media: e.stats.Media, LeftOut: e.leftOut, Parts: e.parts,
	}
	for _, l := range e.leftOut {
		m.Complete = m.Complete && l.Why == gone
	}
	for _, p := range m.Parts {
		m.Bytes += p.Bytes
	}
	if m.LeftOut == nil {
		m.LeftOut = []leftOut{}
	}
	w, err := e.zip.CreateHeader(&zip.FileHeader{Name: "manifest.json", Method: zip.Deflate, Modified: e.begun.UTC()})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(&m); err != nil {
		return err
	}
	e.stats.Parts = len(m.Parts)
	if err := e.zip.Close(); err != nil {
		return err
	}
	return e.out.w.(*bufio.Writer).Flush()
}
