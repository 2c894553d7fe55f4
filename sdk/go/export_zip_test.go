package skein

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// An export is whole if every part is what the manifest says, and there is no other.
func TestVerifyExport(t *testing.T) {
	sum := sha256.Sum256([]byte("hello\n"))
	good := ExportManifest{Format: 1, User: "ann", Complete: true, Parts: []ExportedPart{{Name: "me.jsonl", Bytes: 6, Lines: 1, SHA256: hex.EncodeToString(sum[:])}}}
	made := func(m ExportManifest, files ...string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			w, err := z.Create(files[i])
			if err == nil {
				_, err = w.Write([]byte(files[i+1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w, err := z.Create("manifest.json")
		if err == nil {
			err = json.NewEncoder(w).Encode(&m)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	verify := func(b []byte) error {
		_, err := VerifyExport(bytes.NewReader(b), int64(len(b)))
		return err
	}
	whole := made(good, "me.jsonl", "hello\n")
	if err := verify(whole); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"cut off":           whole[:len(whole)-1],
		"nothing":           nil,
		"another word":      made(good, "me.jsonl", "hallo\n"),
		"a longer one":      made(good, "me.jsonl", "hello\nhello\n"),
		"another name":      made(good, "you.jsonl", "hello\n"),
		"one more":          made(good, "me.jsonl", "hello\n", "x", "y"),
		"none of the parts": made(good),
	} {
		if verify(b) == nil {
			t.Errorf("%s: it is whole", what)
		}
	}
	newer := good
	newer.Format = 2
	if verify(made(newer, "me.jsonl", "hello\n")) == nil {
		t.Error("another format is whole")
	}
	for _, name := range []string{"../me", "/etc/me", "media/../../me", `media\..\me`, "C:me", "media/./me", "me\x1b", ""} {
		m := good
		m.Parts = []ExportedPart{m.Parts[0]}
		m.Parts[0].Name = name
		if verify(made(m, name, "hello\n")) == nil {
			t.Errorf("a part called %q is taken", name)
		}
	}
	if err := verify(made(good, "me.jsonl", strings.Repeat("\x00", 10<<20))); err == nil {
		t.Error("what inflates is whole")
	}
}
