package importing

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFilesOfNobody: a message has the files that it may have, and none that its author named
// otherwise: what the export says of everybody is nobody's file.
func TestFilesOfNobody(t *testing.T) {
	for _, tt := range []struct {
		system string
		files  map[string]string
	}{
		{"rocketchat", map[string]string{
			"users.json": `{"_id":"u1","username":"anna","services":{"password":{"bcrypt":"$2b$10$secret"}}}`, "rocketchat_room.json": `{"_id":"r","t":"c","name":"general","ts":{"$date":1000}}`,
			"rocketchat_subscription.json": `{"rid":"r","u":{"_id":"u1"},"roles":["owner"]}`, "rocketchat_uploads.json": `{"_id":"../users","name":"x.json"}`, "uploads/F1": "hello",
			"rocketchat_message.json": `{"_id":"m","rid":"r","msg":"a","ts":{"$date":2000},"u":{"_id":"u1"},"files":[{"_id":"F1","name":"a.txt"},{"_id":"../users.json","name":"b.txt"},{"_id":"../users","name":"c.txt"},{"_id":"F1/../../users.json","name":"d.txt"},{"_id":"..","name":"e.json"}]}`,
		}},
		{"mattermost", map[string]string{
			"data/F1": "hello",
			"import.jsonl": `{"type":"version","version":1}
{"type":"channel","channel":{"team":"t","name":"c","display_name":"general","type":"O"}}
{"type":"user","user":{"username":"anna","profile_image":"../import.jsonl","teams":[{"name":"t","channels":[{"name":"c"}]}]}}
{"type":"post","post":{"team":"t","channel":"c","user":"anna","message":"a","create_at":2000,"attachments":[{"path":"F1"},{"path":"../import.jsonl"},{"path":"import.jsonl"},{"path":"x/../../import.jsonl"},{"path":"./import.jsonl"}]}}
`,
		}},
	} {
		t.Run(tt.system, func(t *testing.T) {
			s := newStore(t)
			r := s.run(t, Options{System: tt.system, Path: files(t, tt.files)})
			if r.Written.Files != 1 || r.Written.FileBytes != 5 || r.Left("file") != 4 || r.Pictures != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestDamagedZip: what is damaged in a zip, or packed as nobody here unpacks it, is told, and
// the rest comes over.
func TestDamagedZip(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name string, method uint16, content string) {
		t.Helper()
		raw := []byte(content)
		h := &zip.FileHeader{Name: name, Method: method, CRC32: crc32.ChecksumIEEE(raw) ^ 1, CompressedSize64: uint64(len(raw)), UncompressedSize64: uint64(len(raw))}
		if method == zip.Deflate { // of a sound one
			w := must(z.Create(name))(t)
			must(w.Write(raw))(t)
			return
		}
		w := must(z.CreateRaw(h))(t)
		must(w.Write(raw))(t)
	}
	document := func(id, words, file string, at int) string {
		return fmt.Sprintf(`{"_id":%q,"rid":"r","msg":%q,"ts":{"$date":%d},"u":{"_id":"u1"},"files":[{"_id":%q,"name":"a.txt"}]}`+"\n", id, words, at, file)
	}
	put("users.json", zip.Deflate, `{"_id":"u1","username":"anna"}`)
	put("rocketchat_room.json", zip.Deflate, `{"_id":"r","t":"c","name":"general","ts":{"$date":1000}}`)
	put("rocketchat_subscription.json", zip.Store, `{"rid":"r","u":{"_id":"u1"},"roles":["owner"]}`+"\n") // its sum is wrong
	put("rocketchat_uploads.json", zip.Deflate, "")
	put("rocketchat_message.json", zip.Deflate, document("a", "one", "F1", 2000)+document("b", "two", "F2", 3000)+document("c", "three", "F3", 4000))
	put("uploads/F1", zip.Store, "its sum is wrong")
	put("uploads/F2", 97, "packed by something unknown")
	put("uploads/F3", zip.Deflate, "sound")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newStore(t).run(t, Options{System: "rocketchat", Path: name})
	if r.Written.Messages != 3 || r.Written.Files != 1 || r.LeftOut["file: it is damaged"] != 2 {
		t.Errorf("%+v", r)
	}
	if !slices.ContainsFunc(r.Problems, func(p Problem) bool {
		return strings.HasPrefix(p.Where, "rocketchat_subscription.json:") && strings.Contains(p.What, "damaged here")
	}) {
		t.Errorf("%+v", r.Problems)
	}
}

// TestLongName: what is behind an @ may be long, and costs no more than its length.
func TestLongName(t *testing.T) {
	text := strings.Repeat("@"+strings.Repeat("-", 1<<19)+" ", 2) + "@anna"
	done := make(chan Said, 1)
	go func() { done <- (&mattermost{}).Text(text, someNames{}) }()
	select {
	case said := <-done:
		if !slices.Equal(said.Mentions, []string{"id of anna"}) || !strings.HasSuffix(said.Text, "- @Anna") {
			t.Errorf("%q", said.Mentions)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a mention takes forever")
	}
}

// someNames knows anna.
type someNames struct{}

func (someNames) User(key string) (id, name string, ok bool) {
	return "id of anna", "Anna", key == "anna"
}
func (someNames) Conversation(string) (string, bool) { return "", false }
