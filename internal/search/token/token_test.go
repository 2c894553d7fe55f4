package token_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/search/token"
)

var update = flag.Bool("update", false, "write the golden file; the tokens have another Version then")

func tokensOf(text string) []string {
	set := map[string]struct{}{}
	token.Tokens(text, set)
	return slices.Sorted(maps.Keys(set))
}

// golden is what tokens a text has.
type golden struct {
	Text   string   `json:"text"`
	Tokens []string `json:"tokens"`
}

// The tokens of a text are those that indexes keep: another set is another Version.
func TestGolden(t *testing.T) {
	const path = "testdata/tokens.json"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Version int      `json:"version"`
		Texts   []golden `json:"texts"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if *update {
		file.Version = token.Version
		for i := range file.Texts {
			file.Texts[i].Tokens = tokensOf(file.Texts[i].Text)
		}
		out, err := json.MarshalIndent(file, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if file.Version != token.Version || len(file.Texts) < 20 {
		t.Fatalf("version %d, %d texts", file.Version, len(file.Texts))
	}
	for _, g := range file.Texts {
		if got := tokensOf(g.Text); !slices.Equal(got, g.Tokens) {
			t.Errorf("%q has %q, want %q", g.Text, got, g.Tokens)
		}
	}
}

// What a query finds in a text, and where.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		query, text string
		want        []string // the parts that match; nil: it is not found
	}{
		{"hello", "Hello, World", []string{"Hello"}},
		{"wor", "Hello, World", []string{"Wor"}},
		{"hel world", "Hello, World", nil}, // only the last word may be a beginning
		{"world hel", "Hello, World", []string{"Hel", "World"}},
		{"orld", "Hello, World", nil},
		{"cafe", "Das Café", []string{"Café"}},
		{"محمد", "قال مُحَمَّد", []string{"مُحَمَّد"}},
		{"مح", "مُحَمَّد", []string{"مُحَ"}},
		{"שלום", "שָׁלוֹם לך", []string{"שָׁלוֹם"}},
		{"🇩🇪", "🇪🇸 🇩🇰", nil},
		{"🇩🇪", "🇪🇸🇩🇪🇩🇰", []string{"🇩🇪"}},
		{"👨‍👩‍👧", "👨 👩 👧", nil},
		{"👨‍👩‍👧", "wir: 👨‍👩‍👧!", []string{"👨‍👩‍👧"}},
		{"👍", "👍🏽 ❤️", []string{"👍🏽"}},
		{"❤️", "👍🏽 ❤️", []string{"❤️"}},
		{"C++", "C and C++", []string{"C", "C", "+", "+"}},
		{"C#", "Café C", nil},
		{"#tea", "at #tea or tea", []string{"#", "tea", "tea"}},
		{"€", "5 € and $7", []string{"€"}},
		{"CAFÉ", "cafe\u0301s", []string{"cafe\u0301"}},
		{"straße", "STRASSE", []string{"STRASSE"}},
		{"ｆｕｌｌ", "full width", []string{"full"}},
		{"中", "在中国", []string{"中"}},
		{"国", "在中国", []string{"国"}},
		{"中国", "在中国的中国人", []string{"中国", "中国"}},
		{"中国人", "中国, 国人", nil},
		{"国中", "在中国", nil},
		{"手机号", "iPhone手机号码", []string{"手机号"}},
		{"iphone 手机", "手机：iPhone", []string{"手机", "iPhone"}},
		{"東京", "東京タワー", []string{"東京"}},
		{"タワー", "東京タワー", []string{"タワー"}},
		{"ﾀﾜｰ", "東京タワー", []string{"タワー"}},
		{"が", "か", nil},
		{"が", "か\u3099", []string{"か\u3099"}},
		{"한국", "한국어를", []string{"한국"}},
		{"어", "한국어를", []string{"어"}},
		{"😀", "well 😀👍🏽", []string{"😀"}},
		{"👍", "well 😀👍🏽", []string{"👍🏽"}},
		{"ann müller", "from Ann Mueller", nil},
		{"müller ann", "Ann MULLER", []string{"Ann", "MULLER"}},
		{"https", "see https://example.org", []string{"https"}},
		{"e mail", "e-mail", []string{"e", "mail"}},
		{"x", "", nil},
		{strings.Repeat("a", 40), strings.Repeat("a", 40), []string{strings.Repeat("a", 40)}},
		{strings.Repeat("a", 40), strings.Repeat("a", 39), nil},
	} {
		q := token.Parse(tt.query)
		m := q.Match()
		m.In(tt.text)
		var got []string
		if m.All() {
			for _, r := range m.Ranges()[0] {
				got = append(got, tt.text[r.Start:r.End])
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q in %q: %q, want %q", tt.query, tt.text, got, tt.want)
		}
		if tt.want != nil && !proposes(&q, tt.text) {
			t.Errorf("%q is in %q, and an index does not propose it: %v of %q", tt.query, tt.text, q.Terms(), tokensOf(tt.text))
		}
	}
}

// proposes reports whether an index with the tokens of a text proposes it for a query.
func proposes(q *token.Query, text string) bool {
	tokens := tokensOf(text)
	for _, term := range q.Terms() {
		if !slices.ContainsFunc(tokens, func(t string) bool { return t == term.Text || term.Prefix && strings.HasPrefix(t, term.Text) }) {
			return false
		}
	}
	return true
}

// The parts of a query may be in several texts, and all of them have to be somewhere.
func TestSeveralTexts(t *testing.T) {
	q := token.Parse("report 季度")
	m := q.Match()
	m.In("季度总结")
	if m.All() {
		t.Error("half of it is all")
	}
	m.In("Report.pdf")
	if !m.All() || !reflect.DeepEqual(m.Ranges(), [][]token.Range{{{Start: 0, End: 6}}, {{Start: 0, End: 6}}}) {
		t.Errorf("%v %v", m.All(), m.Ranges())
	}
}

// Nothing to look for is Empty.
func TestEmpty(t *testing.T) {
	for _, text := range []string{"", " ", "?!…", "\u200d\ufe0f", "\u0301", "\xff"} {
		if q := token.Parse(text); !q.Empty() {
			t.Errorf("%q is not empty: %v", text, q.Terms())
		}
	}
}

// Whatever a text is: each part of it that Match finds is proposed by its tokens, tokens
// are what engines take, and ranges lie in the text.
func FuzzTokens(f *testing.F) {
	f.Add("中国 hello", "hello 中国, ﬁn e\u0301 İ ß 한글 ｶﾞ 👩‍👩‍👧")
	f.Add("ﬁ", "fi \xff x")
	f.Fuzz(func(t *testing.T, query, text string) {
		q := token.Parse(query)
		if len(q.Terms()) > token.MaxTerms {
			t.Fatal("too many terms")
		}
		for _, tok := range tokensOf(text) {
			if tok == "" || !utf8.ValidString(tok) || strings.ContainsFunc(tok, func(r rune) bool {
				return unicode.IsSpace(r) || unicode.IsControl(r) || r < utf8.RuneSelf && !unicode.IsLower(r) && !unicode.IsDigit(r) || unicode.Is(unicode.Co, r)
			}) {
				t.Fatalf("token %q of %q", tok, text)
			}
		}
		m := q.Match()
		m.In(text)
		last := 0
		for _, r := range m.Ranges()[0] {
			if r.Start < last || r.End <= r.Start || r.End > len(text) {
				t.Fatalf("ranges %v of %d bytes", m.Ranges(), len(text))
			}
			last = r.End
		}
		if !q.Empty() && m.All() && !proposes(&q, text) {
			t.Fatalf("%q is in %q, and %v is not in %q", query, text, q.Terms(), tokensOf(text))
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	texts := []string{"The quick brown fox jumps over the lazy dog, again and again", "今天下午三点在会议室开会，请大家准时参加，带上上个季度的报告"}
	n := 0
	for b.Loop() {
		tokensOf(texts[n%2])
		n++
	}
}
