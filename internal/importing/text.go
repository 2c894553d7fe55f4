package importing

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMentions is how many users a message mentions at most.
const maxMentions = 100

// saying makes a text.
type saying struct {
	Said
	names Names
}

func (s *saying) mention(key, otherwise string) string {
	id, name, ok := s.names.User(key)
	if !ok {
		return otherwise
	}
	if !slices.Contains(s.Mentions, id) && len(s.Mentions) < maxMentions {
		s.Mentions = append(s.Mentions, id)
	}
	return "@" + name
}

// outsideCode calls f for what is outside of code, and in for the code itself with its marks.
func outsideCode(text string, f, in func(string) string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexByte(text, '`')
		if at < 0 {
			break
		}
		mark := "`"
		if strings.HasPrefix(text[at:], "```") {
			mark = "```"
		}
		end := strings.Index(text[at+len(mark):], mark)
		if end < 0 || mark == "`" && strings.Contains(text[at+1:at+1+end], "\n") {
			b.WriteString(f(text[:at]))
			b.WriteString(mark)
			text = text[at+len(mark):]
			continue
		}
		end += at + 2*len(mark)
		b.WriteString(f(text[:at]))
		b.WriteString(in(text[at:end]))
		text = text[end:]
	}
	b.WriteString(f(text))
	return b.String()
}

func same(s string) string { return s }

// doubled puts two marks in the place of one around words: what is bold or struck there.
func doubled(s string, mark byte) string {
	if strings.IndexByte(s, mark) < 0 {
		return s
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == rune(mark) }
	before := func(i int) rune { r, _ := utf8.DecodeLastRuneInString(s[:i]); return r }
	after := func(i int) rune { r, _ := utf8.DecodeRuneInString(s[i+1:]); return r }
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if s[i] != mark || i > 0 && word(before(i)) || i+1 == len(s) || unicode.IsSpace(after(i)) || s[i+1] == mark {
			continue
		}
		for j := i + 2; j < len(s) && s[j] != '\n'; j++ {
			if s[j] != mark {
				continue
			}
			if !unicode.IsSpace(before(j)) && (j+1 == len(s) || !word(after(j))) {
				b.WriteString(s[done:i])
				b.WriteByte(mark)
				b.WriteString(s[i : j+1])
				b.WriteByte(mark)
				done, i = j+1, j
			}
			break
		}
	}
	return b.String() + s[done:]
}

// slackTag is what stands between < and > in a text of Slack.
var slackTag = regexp.MustCompile(`<([^<>\n]+)>`)

// slackPlace is where a tag stood. No text has such characters: see cleaned.
var slackPlace = regexp.MustCompile("\x00[0-9]+\x01")

// cleaned is a text without what is not seen of it: control characters but tab and line feed.
func cleaned(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

var slackEscapes = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// Text makes Markdown of mrkdwn.
func (s *slack) Text(text string, names Names) Said {
	x := &saying{names: names}
	x.Text = outsideCode(text, func(part string) string {
		// Emphasis may go around tags, and never into them: numbers stand for them meanwhile.
		var tags []string
		part = slackTag.ReplaceAllStringFunc(part, func(t string) string {
			tags = append(tags, x.slackTag(t[1:len(t)-1], false))
			return "\x00" + strconv.Itoa(len(tags)-1) + "\x01"
		})
		part = withEmoji(slackEscapes.Replace(doubled(doubled(part, '*'), '~')))
		return slackPlace.ReplaceAllStringFunc(part, func(p string) string {
			n, _ := strconv.Atoi(p[1 : len(p)-1])
			return tags[n]
		})
	}, func(code string) string {
		return slackEscapes.Replace(slackTag.ReplaceAllStringFunc(code, func(t string) string { return x.slackTag(t[1:len(t)-1], true) }))
	})
	return x.Said
}

// slackTag is a mention, a channel or a link.
func (s *saying) slackTag(tag string, code bool) string {
	what, label, labelled := strings.Cut(tag, "|")
	label = slackEscapes.Replace(label)
	switch {
	case strings.HasPrefix(what, "@"):
		otherwise := "@" + strings.TrimPrefix(what, "@")
		if labelled {
			otherwise = "@" + strings.TrimPrefix(label, "@")
		}
		return s.mention(what[1:], otherwise)
	case strings.HasPrefix(what, "#"):
		if name, ok := s.names.Conversation(what[1:]); ok {
			return "#" + name
		}
		if labelled && label != "" {
			return "#" + strings.TrimPrefix(label, "#")
		}
		return what
	case what == "!channel" || what == "!everyone" || what == "!group":
		s.All = true
		return "@all"
	case what == "!here":
		s.Here = true
		return "@here"
	case strings.HasPrefix(what, "!"):
		if labelled {
			return label
		}
		return strings.TrimPrefix(what, "!")
	}
	url := slackEscapes.Replace(what)
	url = strings.TrimPrefix(url, "mailto:")
	if !labelled || label == "" || label == url || code {
		return url
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")").Replace(label) + "](" + slackEscapes.Replace(what) + ")"
}

// longestName is how many bytes behind an @ may be somebody's name.
const longestName = 256

// atNames finds users who are mentioned by their names: @name.
func (s *saying) atNames(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '@' {
			continue
		}
		if r, _ := utf8.DecodeLastRuneInString(text[:i]); i > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '@') {
			continue
		}
		end := i + 1
		for end < len(text) && (shortNameByte(text[end]) && text[end] != '+' || text[end] == '.') {
			end++
		}
		if end-i > longestName {
			i = end - 1
			continue
		}
		for name := text[i+1 : end]; name != ""; name = name[:len(name)-1] {
			is := ""
			switch strings.ToLower(name) {
			case "all", "channel":
				s.All, is = true, "@all"
			case "here":
				s.Here, is = true, "@here"
			default:
				is = s.mention(strings.ToLower(name), "")
				if is == "" {
					is = s.mention(name, "")
				}
			}
			if is != "" {
				b.WriteString(text[done:i])
				b.WriteString(is)
				done = i + 1 + len(name)
				break
			}
			if last := name[len(name)-1]; last != '.' && last != '-' && last != '_' {
				break // a part of a longer name is nobody's
			}
		}
		i = max(i, end-1)
	}
	return b.String() + text[done:]
}

// Text finds mentions and emoji in Markdown.
func (s *mattermost) Text(text string, names Names) Said {
	x := &saying{names: names}
	x.Text = outsideCode(text, func(part string) string { return withEmoji(x.atNames(part)) }, same)
	return x.Said
}

// emptyLink is how a message of Rocket.Chat refers to the one that it quotes.
var emptyLink = regexp.MustCompile(`\[ ?\]\(https?://[^)\s]*\) ?`)

// Text makes Markdown of what Rocket.Chat's users write: *bold*, ~struck~.
func (s *rocketchat) Text(text string, names Names) Said {
	x := &saying{names: names}
	x.Text = outsideCode(text, func(part string) string {
		return withEmoji(x.atNames(doubled(doubled(emptyLink.ReplaceAllString(part, ""), '*'), '~')))
	}, same)
	return x.Said
}
