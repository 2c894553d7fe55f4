package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// vars are what a run's variables stand for.
type vars struct {
	of map[string]string
	// own: the server is Skein itself, so that what is written as "~…" in a pattern,
	// its own words and defaults, must be just so; of another server it may be
	// anything of that type.
	own bool
}

var variable = regexp.MustCompile(`\$([a-z][A-Za-z0-9_]*(?:\.(?:token|name))?)([+-]\d+)?`)

// epoch is the time in the ids of all transcripts.
var epoch = time.Date(2025, 2, 3, 4, 5, 6, 0, time.UTC)

var madeID = regexp.MustCompile(`^(id|ahead|future)(\d+)$`)

// id makes the message id number n at a time, always the same.
func id(at time.Time, n int) string {
	b := make([]byte, 16)
	ms := at.UnixMilli() + int64(n)
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[7], b[8], b[15] = 0x70, byte(n>>8), 0x80, byte(n)
	return base64.StdEncoding.EncodeToString(b)
}

// value looks a variable up.
func (v *vars) value(name string) (string, bool) {
	if s, ok := v.of[name]; ok {
		return s, true
	}
	m := madeID.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return "", false
	}
	switch m[1] {
	case "ahead":
		v.of[name] = id(time.Now().Add(23*time.Hour), n)
	case "future":
		v.of[name] = id(time.Now().Add(25*time.Hour), n)
	default:
		v.of[name] = id(epoch, n)
	}
	return v.of[name], true
}

// limits makes variables of what a Welcome says.
func (v *vars) limits(w *wire.Welcome) {
	l := w.GetLimits()
	for name, n := range map[string]uint32{
		"frameBytes": l.GetFrameBytes(), "contentBytes": l.GetContentBytes(), "inFlight": l.GetInFlight(), "deviceConnections": l.GetDeviceConnections(),
		"extraKeys": l.GetExtraKeys(), "extraBytes": l.GetExtraBytes(), "signalBytes": l.GetSignalBytes(), "mentions": l.GetMentions(),
		"pulls": l.GetPulls(), "pullsEntries": l.GetPullsEntries(), "pullEntries": l.GetPullEntries(),
		"signalsFlood": flood(l.GetSignals()), "readsFlood": flood(l.GetReads()), "callsFlood": flood(l.GetCalls()),
	} {
		v.of[name] = strconv.FormatUint(uint64(n), 10)
	}
}

// flood is how many requests at once are more than a rate lets through, even if they
// take a while, and few enough that the connection stays.
func flood(r *wire.Rate) uint32 { return r.GetBurst()*3/2 + uint32(3*r.GetPerSecond()) }

// expand replaces the variables of a text.
func (v *vars) expand(text string) (string, error) {
	var failed error
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		p := variable.FindStringSubmatch(m)
		s, ok := v.value(p[1])
		if !ok {
			failed = fmt.Errorf("nothing is known of $%s", p[1])
			return m
		}
		if p[2] == "" {
			return s
		}
		n, err := strconv.ParseInt(s, 10, 64)
		d, err2 := strconv.ParseInt(p[2], 10, 64)
		if err != nil || err2 != nil {
			failed = fmt.Errorf("$%s is %q, no number to add %s to", p[1], s, p[2])
			return m
		}
		return strconv.FormatInt(n+d, 10)
	})
	return out, failed
}

// parseJSON reads a value and keeps its numbers as they are written.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value in %s", text)
	}
	return out, nil
}

// parsePattern reads a pattern, in which `...` before a closing brace allows
// more fields.
func parsePattern(text string) (any, error) {
	return parseJSON(strings.ReplaceAll(text, "...}", `"...":true}`))
}

// match compares a pattern with a value and takes note of what it captures.
// The error says where they differ.
func (v *vars) match(pattern, value any) error { return v.matchAt("", pattern, value) }

func (v *vars) matchAt(at string, pattern, value any) error {
	switch p := pattern.(type) {
	case string:
		return v.matchText(at, p, value)
	case map[string]any:
		got, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v is no object", at, value)
		}
		open := false
		if code, ok := p["code"].(string); ok && !strings.HasPrefix(code, "$") { // an error's, not an invite link's
			var err error
			if got, err = numbered(at, got); err != nil {
				return err
			}
		}
		for k, x := range p {
			if k == "..." {
				open = true
				continue
			}
			k, optional := strings.CutSuffix(k, "?")
			y, ok := got[k]
			if !ok && optional && !v.own {
				continue
			}
			if !ok {
				return fmt.Errorf("%s.%s is missing", at, k)
			}
			if err := v.matchAt(at+"."+k, x, y); err != nil {
				return err
			}
		}
		for k, y := range got {
			_, ok := p[k]
			_, maybe := p[k+"?"]
			if !ok && !maybe && !open {
				return fmt.Errorf("%s.%s is there too: %v", at, k, y)
			}
		}
		return nil
	case []any:
		got, ok := value.([]any)
		if !ok || len(got) != len(p) {
			return fmt.Errorf("%s: want a list of %d, got %v", at, len(p), value)
		}
		for i := range p {
			if err := v.matchAt(fmt.Sprintf("%s[%d]", at, i), p[i], got[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if pattern != value {
		return fmt.Errorf("%s: want %v, got %v", at, pattern, value)
	}
	return nil
}

func (v *vars) matchText(at, p string, value any) error {
	if p == "$any" {
		return nil
	}
	if words, ok := strings.CutPrefix(p, "~"); ok {
		return v.matchOwn(at, words, value)
	}
	if name, ok := strings.CutSuffix(p, "!"); ok && strings.HasPrefix(name, "$") {
		v.of[name[1:]] = fmt.Sprint(value)
		return nil
	}
	want, err := v.expand(p)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	// Small numbers stand without quotes in JSON: "$n" matches them too.
	if n, ok := value.(json.Number); ok && p != want {
		value = n.String()
	}
	if got, ok := value.(string); !ok || got != want {
		return fmt.Errorf("%s: want %q, got %v", at, want, value)
	}
	return nil
}

// numbered checks that an error carries the number of its code (SPEC §10), and
// returns the rest of it.
func numbered(at string, e map[string]any) (map[string]any, error) {
	number, ok := e["codeNumber"].(json.Number)
	if !ok {
		return nil, fmt.Errorf("%s.codeNumber is missing", at)
	}
	for _, info := range wire.Codes() {
		if e["code"] == string(info.Code) && number.String() != strconv.Itoa(info.Number) {
			return nil, fmt.Errorf("%s.codeNumber: want %d, the number of %s, got %s", at, info.Number, info.Code, number)
		}
	}
	e = maps.Clone(e)
	delete(e, "codeNumber")
	return e, nil
}

// matchOwn compares with what is Skein's own way, and not SPEC's.
func (v *vars) matchOwn(at, words string, value any) error {
	switch x := value.(type) {
	case json.Number:
		if v.own && x.String() != words {
			return fmt.Errorf("%s: want %s, got %s", at, words, x)
		}
		if _, err := strconv.ParseFloat(words, 64); err != nil {
			return fmt.Errorf("%s: want text, got %s", at, x)
		}
	case string:
		if v.own && x != words || x == "" {
			return fmt.Errorf("%s: want %q, got %q", at, words, x)
		}
	default:
		return fmt.Errorf("%s: want %s, got %v", at, words, value)
	}
	return nil
}

// digest is SPEC §7.4 of a list like `dm:a:b=3 me:a=1`.
func digest(list string) (string, error) {
	var sum uint64
	for _, part := range strings.Fields(list) {
		c, n, _ := strings.Cut(part, "=")
		seq, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return "", err
		}
		sum += wire.HeadHash(c, seq)
	}
	return strconv.FormatUint(sum, 10), nil
}
