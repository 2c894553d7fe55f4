package skein

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/skein-im/skein/wire"
)

// Export writes everything of the user's to w, as one zip (SPEC §3.17, docs/export.md), and
// tells how many bytes that is. password is the account's, "" if it has none; code is needed
// if it has a second factor. The server makes it while it is read: what was cut off is not
// gone on with, and what came of it is no whole zip (VerifyExport).
//
// An *Error is the server's refusal: ErrBadCredentials, ErrRateLimited (one of the user's is
// under way), ErrOverloaded, wire.CodeUnimplemented (a server that makes none).
// ErrNoBaseURL as of Upload.
func (s Sessions) Export(ctx context.Context, w io.Writer, password, code string) (int64, error) {
	base, err := s.c.baseURL()
	if err != nil {
		return 0, err
	}
	var begun wire.BeginExportResponse
	if err := s.c.Call(ctx, accountService+"BeginExport", &wire.BeginExportRequest{Password: password, Code: code}, &begun); err != nil {
		return 0, err
	}
	ctx, end := s.c.web.begin(s.c, ctx)
	defer end()
	return downloadExport(ctx, s.c.web.use(s.c), base+begun.Path, w)
}

// exportPatience is how long nothing may come: the server may read for long between two bytes.
const exportPatience = 2 * time.Minute

// DownloadExport writes the export to which path leads, that of BeginExportResponse or
// ExportUserResponse, of the server at baseURL.
func DownloadExport(ctx context.Context, baseURL, path string, w io.Writer) (int64, error) {
	return downloadExport(ctx, http.DefaultClient, strings.TrimSuffix(baseURL, "/")+path, w)
}

func downloadExport(ctx context.Context, client *http.Client, address string, w io.Writer) (int64, error) {
	ctx, moved, end := watch(ctx)
	defer end()
	moved(exportPatience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, fmt.Errorf("skein: export: %w", err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, exportEnd(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if e := httpError(resp); e != nil {
			return 0, e
		}
		return 0, fmt.Errorf("skein: export: the server answered %s", resp.Status)
	}
	n, err := io.Copy(w, movingReader{resp.Body, func() { moved(exportPatience) }})
	if err != nil {
		return n, exportEnd(ctx, err)
	}
	return n, nil
}

// exportEnd is why a download ended: the end of ctx has a reason of its own.
func exportEnd(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("skein: export: %w", err)
}

type movingReader struct {
	io.Reader
	moved func()
}

func (m movingReader) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.moved()
	return n, err
}

// ExportManifest is what an export says of itself, in its last part. docs/export.md.
type ExportManifest struct {
	Format          int    `json:"format"`
	User            string `json:"user"`
	ByAdministrator bool   `json:"byAdministrator"`
	BegunAtMs       int64  `json:"begunAtMs"`
	EndedAtMs       int64  `json:"endedAtMs"`
	// Complete: nothing is missing that the user might have had.
	Complete      bool              `json:"complete"`
	Conversations int               `json:"conversations"`
	Entries       int               `json:"entries"`
	Media         int               `json:"media"`
	Bytes         int64             `json:"bytes"`
	LeftOut       []ExportedLeftOut `json:"leftOut"`
	Parts         []ExportedPart    `json:"parts"`
}

// ExportedPart is a file of an export.
type ExportedPart struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Lines  int    `json:"lines"`
	SHA256 string `json:"sha256"`
}

// ExportedLeftOut is what was named and is not there.
type ExportedLeftOut struct {
	Media        string `json:"media"`
	Conversation string `json:"conversation"`
	Seq          uint64 `json:"seq"`
	Why          string `json:"why"`
}

// VerifyExport reads an export as a whole and holds every part of it against the manifest:
// an error names what is cut off, changed, added or not there.
func VerifyExport(r io.ReaderAt, size int64) (*ExportManifest, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("this is no whole zip: it was cut off, or is something else: %w", err)
	}
	if len(z.File) == 0 || z.File[len(z.File)-1].Name != exportManifest {
		return nil, fmt.Errorf("the last part is not %s: this is no export, or was made anew", exportManifest)
	}
	var m ExportManifest
	f, err := z.File[len(z.File)-1].Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", exportManifest, err)
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w", exportManifest, err)
	}
	if m.Format != 1 {
		return nil, fmt.Errorf("%s is of the format %d, and this knows 1 alone", exportManifest, m.Format)
	}
	if len(m.Parts) != len(z.File)-1 {
		return nil, fmt.Errorf("%s names %d parts, and there are %d", exportManifest, len(m.Parts), len(z.File)-1)
	}
	for i, p := range m.Parts {
		if z.File[i].Name != p.Name {
			return nil, fmt.Errorf("part %d is %q, and should be %q", i+1, z.File[i].Name, p.Name)
		}
		if !fs.ValidPath(p.Name) || strings.ContainsAny(p.Name, `\:`) || strings.ContainsFunc(p.Name, unicode.IsControl) {
			return nil, fmt.Errorf("part %d has a name that no server gives, and that may lead elsewhere: %q", i+1, p.Name)
		}
		if err := verifyPart(z.File[i], p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return &m, nil
}

const exportManifest = "manifest.json"

func verifyPart(f *zip.File, p ExportedPart) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(r, p.Bytes+1)) // what inflates to more than it says is wrong
	if err != nil {
		return err
	}
	if n != p.Bytes || hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		return fmt.Errorf("it is not what the manifest says: %d bytes of %d", n, p.Bytes)
	}
	return nil
}
