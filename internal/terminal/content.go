package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// signs stand before contents that a terminal cannot show (SPEC §11.2).
var signs = map[string]string{"image": "🖼", "file": "📎", "voice": "🎤", "video": "🎬", "location": "📍", "card": "👤", "merged": "📜"}

// content is a message's content in words: text as it is, files by their names, the
// rest by their fallback.
func content(m *skein.Message) string { return shownMedia(m, ownContent(m)) }

func ownContent(m *skein.Message) string {
	if m.Poll != nil {
		return words(m)
	}
	sign, known := signs[m.Type]
	if m.Type == "text" && m.Preview != nil {
		return clean(m.Text) + previewed(m.Preview)
	}
	if m.Type == "text" || m.Type == "" || m.Text != "" && !known && m.Fallback == "" {
		return clean(m.Text)
	}
	var body struct{ Name, Caption, Title, Address string }
	_ = json.Unmarshal([]byte(m.Text), &body) // what is not as SPEC says is shown by its fallback
	if body.Name != "" && known {
		body.Name = safeName(body.Name, "")
	}
	text := cmp.Or(body.Caption, body.Name, body.Title, body.Address, m.Fallback)
	switch {
	case known:
		return sign + " " + clean(cmp.Or(text, m.Type))
	case text != "":
		return clean(text)
	}
	return fmt.Sprintf("(%s, %d bytes)", clean(m.Type), len(m.Data)+len(m.Text))
}

// previewed is what a link leads to, in a few words: whoever the link leads to said them.
func previewed(p *wire.Preview) string {
	text := cmp.Or(p.GetTitle(), p.GetDescription())
	switch site := p.GetSite(); {
	case text == "" && p.GetImage() != nil:
		text = signs["image"]
	case text != "" && site != "" && site != text:
		text = site + ": " + text
	}
	return " [↗ " + clean(text) + "]"
}
