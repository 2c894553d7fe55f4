package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
)

// signs stand before contents that a terminal cannot show (SPEC §11.2).
var signs = map[string]string{"image": "🖼", "file": "📎", "voice": "🎤", "video": "🎬", "location": "📍", "card": "👤", "merged": "📜"}

// content is a message's content in words: text as it is, files by their names, the
// rest by their fallback.
func content(m *skein.Message) string {
	if m.Poll != nil {
		return words(m)
	}
	sign, known := signs[m.Type]
	if m.Type == "text" || m.Type == "" || m.Text != "" && !known && m.Fallback == "" {
		return clean(m.Text)
	}
	var body struct{ Name, Caption, Title, Address string }
	_ = json.Unmarshal([]byte(m.Text), &body) // what is not as SPEC says is shown by its fallback
	text := cmp.Or(body.Caption, body.Name, body.Title, body.Address, m.Fallback)
	switch {
	case known:
		return sign + " " + clean(cmp.Or(text, m.Type))
	case text != "":
		return clean(text)
	}
	return fmt.Sprintf("(%s, %d bytes)", clean(m.Type), len(m.Data)+len(m.Text))
}
