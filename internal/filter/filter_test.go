package filter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func word(p string) im.FilterRule {
	return im.FilterRule{ID: p, Kind: im.FilterWord, Pattern: p, Action: im.FilterRefuse}
}

func part(p string) im.FilterRule { r := word(p); r.Part = true; return r }

func link(p string) im.FilterRule { r := word(p); r.Kind = im.FilterLink; return r }

func with(rules ...im.FilterRule) *Service {
	s := New(Options{})
	s.rules.Store(compile(rules))
	return s
}

func found(rules []*im.FilterRule) string {
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// TestRules: what stands in a text, whole or in part, and what does not.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule im.FilterRule
		yes  []string
		no   []string
	}{
		{word("ass"), []string{"ass", "an ASS!", "ass, ass", "(ass)", "x\nass\ty", "ass。", "你ass好", "ａｓｓ", "_ass_", "__ass__", "*ass*", "\\*ass"}, []string{"class", "assess", "fo**ass**il", "1ass", "assé", "", "a s s"}},
		{part("ass"), []string{"class", "ASSESS"}, []string{"as s"}},
		{word("get rich"), []string{"get rich", "Get \n Rich", "get\u00a0rich", "get\u3000rich now"}, []string{"getrich", "get richer", "forget rich"}},
		{word("viagra"), []string{"v\u200bi\u200da\u00adg\ufeffra", "VÍÀGRÂ", "ｖｉａｇｒａ", "v\u0336i\u0336a\u0336g\u0336r\u0336a\u0336", "𝐯𝐢𝐚𝐠𝐫𝐚", "ⓥⓘⓐⓖⓡⓐ", "\u202eviagra", "v\ufe0fiagra", "via**gr**a", "v~~i~~agra", "_viagra_", "**viagra**"}, []string{"viagr", "v i a g r a"}},
		{word("café"), []string{"CAFE", "cafe\u0301", "café"}, []string{"cafeteria"}},
		{word("straße"), []string{"STRASSE", "Straße", "strasse"}, nil},
		{word("赌博"), []string{"网上赌博网站", "赌\u200b博", "我们赌博吧abc"}, []string{"赌 博", "赌"}},
		{word("スパム"), []string{"ｽﾊﾟﾑです", "これはスパムだ"}, nil},
		{word("스팸"), []string{"스팸을 보내", "\u1109\u1173\u1111\u1162\u11b7"}, nil},
		{word("हिन्दी"), []string{"यह हिन्दी है"}, []string{"हनद"}},
		{word("שלום"), []string{"שָׁלוֹם"}, nil},
		{word("سلام"), []string{"سَلَام"}, nil},
		{word("\u200b ass \u200b"), []string{"ass", "an ass!"}, nil},
		{word("c++"), []string{"c++", "I like C++!", "c++x"}, []string{"c+", "xc++"}},
		{link("evil.example"), []string{"evil.example", "https://evil.example/x", "HTTPS://WWW.EVIL.EXAMPLE:8080?q", "see evil.example.", "a@evil.example", "//a.b.evil.example#x", "看evil.example吧", "evil。example", "e\u200bvil.example", "evil.example. Next", `evil\.example`, "_evil.example_", "**evil.example**"},
			[]string{"notevil.example", "my-evil.example", "evil.example.org", "evil.examples", "evil.example-x.org", "evil example"}},
		{link("例子.测试"), []string{"https://例子.测试/x", "www.例子.测试"}, []string{"例子测试"}},
		{link("xn--fsqu00a.test"), []string{"http://XN--fsqu00a.test"}, nil},
	} {
		s := with(c.rule)
		for _, text := range c.yes {
			if len(s.BreaksText(text)) != 1 {
				t.Errorf("%q is not found in %q", c.rule.Pattern, text)
			}
		}
		for _, text := range c.no {
			if len(s.BreaksText(text)) != 0 {
				t.Errorf("%q is found in %q", c.rule.Pattern, text)
			}
		}
	}
}

// TestAgainstSimple: the automaton finds what looking for one pattern after the other finds,
// whatever the rules and texts.
func TestAgainstSimple(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "ab", "ba", " ", ".", "é", "词", "-"}
	some := func(n int) string {
		var b strings.Builder
		for range 1 + rng.IntN(n) {
			b.WriteString(letters[rng.IntN(len(letters))])
		}
		return b.String()
	}
	hits := 0
	for round := range 3000 {
		var rules []im.FilterRule
		for n := range 1 + rng.IntN(8) {
			r := part(some(4))
			if seen(r.Pattern) == "" {
				continue
			}
			r.ID, r.Part = fmt.Sprint(n), rng.IntN(2) == 0
			if rng.IntN(4) == 0 {
				r.Kind, r.Part = im.FilterLink, false
			}
			rules = append(rules, r)
		}
		text := some(30)
		n := normal(nil, text)
		var want []string
		for i := range rules {
			r, p := &rules[i], seen(rules[i].Pattern)
			for at := 0; at+len(p) <= len(n); at++ {
				if string(n[at:at+len(p)]) != p {
					continue
				}
				if r.Part || r.Kind == im.FilterWord && wordAt(n, at, at+len(p), false) || r.Kind == im.FilterLink && hostAt(n, at, at+len(p), false) {
					want = append(want, r.ID)
					break
				}
			}
		}
		slices.Sort(want)
		if got := found(with(rules...).BreaksText(text)); got != strings.Join(want, " ") {
			t.Fatalf("round %d: %q: found %q, want %q; %+v", round, text, got, want, rules)
		}
		hits += len(want)
	}
	if hits < 1000 {
		t.Errorf("only %d hits", hits)
	}
}

// FuzzNormal: the form is the same of what is in it already, and nobody's text makes it fail.
func FuzzNormal(f *testing.F) {
	for _, s := range []string{"Viagra", "ｖＩ\u0301\u200b", "한국\u1100\u1161", "\xff\xfe", "ﷺ", " \u00a0 a"} {
		f.Add(s)
	}
	s := with(word("a"), part("가"), link("a.example"))
	f.Fuzz(func(t *testing.T, text string) {
		once := normal(nil, text)
		if twice := normal(nil, string(once)); string(twice) != string(once) {
			t.Errorf("%q: %q, then %q", text, once, twice)
		}
		s.BreaksText(text)
	})
}

func body(c *wire.Content) []byte {
	b, _ := entrycodec.Message("grp:g", &wire.Send{Content: c})
	return b
}

func said(text string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
}

// TestWhatIsLookedAt: all that an entry's body says, and nothing else.
func TestWhatIsLookedAt(t *testing.T) {
	s := with(word("bad"))
	json := func(v string) *wire.Content {
		return &wire.Content{Type: "card", Body: &wire.Content_Text{Text: v}}
	}
	for what, c := range map[string]*wire.Content{
		"text": said("so bad"), "fallback": {Type: "image", Fallback: "bad"}, "JSON": json(`{"a":[{"b":"b\u0061d"}]}`), "JSON's slashes": json(`["x\/bad\/y"]`),
		"JSON that is none": json(`{bad`), "JSON behind blanks": json(" \n{\"a\":\"b\\u0061d\"}"), "JSON with great numbers": json(`{"n":1e999,"a":"b\u0061d"}`),
		"JSON that is a string": json(`"b\u0061d"`), "JSON that ends early": json(`{"a":"b\u0061d"`), "JSON with more behind": json(`{} {"a":"b\u0061d"}`), "deep JSON": json(strings.Repeat("[", 20_000) + `"b\u0061d"` + strings.Repeat("]", 20_000)),
		"JSON's first of two": json(`{"a":"b\u0061d","a":""}`), "data": {Type: "custom", Body: &wire.Content_Data{Data: []byte("bad")}},
	} {
		if found(s.Breaks(body(c))) != "bad" {
			t.Errorf("%s is not looked at", what)
		}
	}
	for what, c := range map[string]*wire.Content{
		"clean": said("good"), "a name of a field": json(`{"bad2":"x"}`), "a type": {Type: "bad", Body: &wire.Content_Text{Text: "x"}}, "binary": {Type: "custom", Body: &wire.Content_Data{Data: []byte("bad\xff")}},
	} {
		if got := s.Breaks(body(c)); len(got) != 0 {
			t.Errorf("%s breaks %s", what, found(got))
		}
	}
	if got := s.Breaks([]byte{1, 2, 3}); len(got) != 0 {
		t.Errorf("what cannot be read breaks %s", found(got))
	}
	named := entrycodec.Encode(&wire.Entry{Content: said("look"), Media: []*wire.Media{{Id: "x", Name: "bad.pdf"}}})
	if found(s.Breaks(named)) != "bad" {
		t.Error("the names of files are not looked at")
	}
	// What one look found is not in the next one.
	if got := s.Breaks(body(said("good"))); len(got) != 0 {
		t.Errorf("left over: %s", found(got))
	}
}

// Without rules nothing is looked at, and nothing allocated; a message that breaks none
// allocates nothing either.
func TestNoAllocations(t *testing.T) {
	plain := body(said("Shall we meet at the station at ten past seven, or is that too early for you? I can bring the tickets and something to eat for the way, as last time."))
	for name, s := range map[string]*Service{"no rules": with(), "rules": with(word("viagra"), link("evil.example"))} {
		if n := testing.AllocsPerRun(100, func() { s.Breaks(plain) }); n != 0 && !raced {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestManyRules: all rules that a text breaks are found, so that none hides another one, and
// all texts are looked at, whatever was found before; the test of a text tells some.
func TestManyRules(t *testing.T) {
	var rules []im.FilterRule
	for n := range 100 {
		rules = append(rules, part(strings.Repeat("a", n+1)))
	}
	s := with(append(rules, word("bad"))...)
	long := strings.Repeat("a", 200)
	if n := len(s.BreaksText(long)); n != 100 {
		t.Errorf("%d rules", n)
	}
	if n := len(s.Test(long)); n != MaxFound {
		t.Errorf("%d rules are told", n)
	}
	for what, c := range map[string]*wire.Content{
		"the fallback": {Type: "text", Body: &wire.Content_Text{Text: long}, Fallback: "bad"},
		"JSON":         {Type: "card", Body: &wire.Content_Text{Text: `{"a":"` + long + `","b":"b\u0061d"}`}},
	} {
		if n := len(s.Breaks(body(c))); n != 101 {
			t.Errorf("%s: %d rules", what, n)
		}
	}
}

// TestRefusingBehindOthers: a rule that refuses counts, however many others that do not hold
// for the author a text breaks before.
func TestRefusingBehindOthers(t *testing.T) {
	var rules []im.FilterRule
	var text []string
	for n := range 40 {
		r := word(fmt.Sprint("w", n))
		r.Scope = im.FilterGroups
		rules, text = append(rules, r), append(text, r.Pattern)
	}
	s := with(append(rules, word("bad"))...)
	said := strings.Join(text, " ") + " bad"
	if _, err := s.Judge(t.Context(), "ann", im.DM("ann", "bob"), s.BreaksText(said)); im.CodeOf(err) != im.CodeFiltered {
		t.Errorf("a message: %v", err)
	}
	if err := s.Named(t.Context(), "ann", false, said); im.CodeOf(err) != im.CodeFiltered {
		t.Errorf("a name: %v", err)
	}
}

// TestGrown: parts of a streamed message begin and end within words, which are looked at whole.
func TestGrown(t *testing.T) {
	s := with(word("ass"), link("evil.example"), word("赌博"))
	for _, c := range []struct {
		text  string
		from  int
		more  bool
		found string
	}{
		{"an ass", 0, true, ""},
		{"an ass", 0, false, "ass"},
		{"an assembly", 6, true, ""},
		{"an ass,", 6, true, "ass"},
		{"see evil.example", 0, true, ""},
		{"see evil.example.", 0, true, ""},
		{"see evil.example.org ", 0, true, ""},
		{"see evil.example. ", 0, true, "evil.example"},
		{"我们赌博", 0, true, "赌博"}, // no word goes on there
		{"我们赌博吧", 0, true, "赌博"},
		{"cl" + "ass " + strings.Repeat("x", tailBytes-4), tailBytes + 2, true, ""},  // begins behind "cl"
		{"cl\u200bass " + strings.Repeat("x", tailBytes-4), tailBytes + 5, true, ""}, // and behind what is not seen
		{"cl ass " + strings.Repeat("x", tailBytes-4), tailBytes + 3, true, "ass"},
	} {
		if got := found(s.BreaksGrown(c.text, c.from, c.more)); got != c.found {
			t.Errorf("%.20q from %d: %q, want %q", c.text, c.from, got, c.found)
		}
	}
	if got := found(s.BreaksStream("com.example", `["an \u0061ss"]`, "", true)); got != "ass" {
		t.Errorf("JSON: %q", got)
	}
	if got := found(s.BreaksStream("text", "an ass", "an ass", true)); got != "ass" { // the fallback has its end
		t.Errorf("a fallback: %q", got)
	}
	if got := found(s.BreaksStream("text", "an ass", "", true)); got != "" {
		t.Errorf("an open end: %q", got)
	}
}

// BenchmarkMessage: what a message of 150 bytes costs, without rules, with one, and with
// 1,000.
func BenchmarkMessage(b *testing.B) {
	text := strings.Repeat("Shall we meet at the station at ten past seven? ", 4)[:150]
	chinese := strings.Repeat("我们七点十分在车站见面好吗？", 4)[:150]
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 1000} {
		var rules []im.FilterRule
		for range n {
			w := make([]byte, 4+rng.IntN(10))
			for i := range w {
				w[i] = byte('a' + rng.IntN(26))
			}
			rules = append(rules, word(string(w)))
		}
		s := with(rules...)
		for _, in := range []struct{ name, text string }{{"latin", text}, {"chinese", chinese}} {
			body := body(said(in.text))
			b.Run(fmt.Sprintf("%d/%s", n, in.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if s.Breaks(body) != nil {
						b.Fatal("it breaks a rule")
					}
				}
			})
		}
	}
}

// A pattern is found that ends inside others, also where the next shorter beginning of one
// is none itself.
func TestShorterInsideLonger(t *testing.T) {
	var rules []im.FilterRule
	for _, pattern := range []string{"xabc", "abd", "b"} {
		r := part(pattern)
		r.ID, r.Part = pattern, true
		rules = append(rules, r)
	}
	if got := found(with(rules...).BreaksText("xa xab")); got != "b" {
		t.Fatalf("found %q, want b", got)
	}
}
