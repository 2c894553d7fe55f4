package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// fits tells whether a value fits a schema of the document, by all keywords that requests
// have in it. Another keyword fails the test: it would hold nothing here.
func (d *openAPISchemas) fits(t *testing.T, s map[string]any, v any) bool {
	t.Helper()
	fits := true
	for keyword, x := range s {
		switch keyword {
		case "title", "description", "default", "format", "contentEncoding", "x-skein-format", "then", "else", "propertyNames", "additionalProperties", "maxProperties":
		case "$ref":
			fits = fits && d.fits(t, d.raw(t, x.(string)), v)
		case "type":
			fits = fits && isA(x.(string), v)
		case "const":
			fits = fits && reflect.DeepEqual(x, v)
		case "enum":
			fits = fits && containsAny(x.([]any), v)
		case "not":
			fits = fits && !d.fits(t, x.(map[string]any), v)
		case "if":
			branch := "else"
			if d.fits(t, x.(map[string]any), v) {
				branch = "then"
			}
			if then, ok := s[branch].(map[string]any); ok {
				fits = fits && d.fits(t, then, v)
			}
		case "allOf", "anyOf", "oneOf":
			all, n := x.([]any), 0
			for _, one := range all {
				if d.fits(t, one.(map[string]any), v) {
					n++
				}
			}
			fits = fits && map[string]bool{"allOf": n == len(all), "anyOf": n > 0, "oneOf": n == 1}[keyword]
		default:
			fits = fits && d.fitsTo(t, keyword, x, v)
		}
	}
	return fits
}

// fitsTo is of the keywords that are about values of one type.
func (d *openAPISchemas) fitsTo(t *testing.T, keyword string, x, v any) bool {
	t.Helper()
	o, isObject := v.(map[string]any)
	list, isList := v.([]any)
	s, isString := v.(string)
	n, isNumber := v.(float64)
	switch keyword {
	case "required":
		for _, name := range x.([]any) {
			if _, ok := o[name.(string)]; isObject && !ok {
				return false
			}
		}
	case "properties":
		for name, schema := range x.(map[string]any) {
			if field, ok := o[name]; ok && !d.fits(t, schema.(map[string]any), field) {
				return false
			}
		}
	case "items":
		for _, item := range list {
			if !d.fits(t, x.(map[string]any), item) {
				return false
			}
		}
	case "uniqueItems":
		for i := range list {
			if containsAny(list[:i], list[i]) {
				return false
			}
		}
	case "minItems":
		return !isList || len(list) >= int(x.(float64))
	case "maxItems":
		return !isList || len(list) <= int(x.(float64))
	case "minimum":
		return !isNumber || n >= x.(float64)
	case "maximum":
		return !isNumber || n <= x.(float64)
	case "minLength":
		return !isString || utf8.RuneCountInString(s) >= int(x.(float64))
	case "maxLength":
		return !isString || utf8.RuneCountInString(s) <= int(x.(float64))
	case "x-skein-max-bytes":
		return !isString || len(s) <= int(x.(float64))
	case "pattern":
		return !isString || matches(x.(string), s)
	default:
		t.Errorf("the document has the keyword %s, which this test does not know", keyword)
	}
	return true
}

func isA(kind string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return kind == "object"
	case []any:
		return kind == "array"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "integer" && v == float64(int64(v))
	}
	return false
}

func containsAny(all []any, v any) bool {
	for _, one := range all {
		if reflect.DeepEqual(one, v) {
			return true
		}
	}
	return false
}

// raw finds a schema by its name, as it stands in the document.
func (d *openAPISchemas) raw(t *testing.T, ref string) map[string]any {
	t.Helper()
	if d.whole == nil {
		var doc struct {
			Components struct{ Schemas map[string]map[string]any }
		}
		if err := json.Unmarshal(openAPI, &doc); err != nil {
			t.Fatal(err)
		}
		d.whole = doc.Components.Schemas
	}
	s := d.whole[strings.TrimPrefix(ref, "#/components/schemas/")]
	if s == nil {
		t.Fatalf("no schema %s", ref)
	}
	return s
}

// What the document allows is not refused for its form, and what it forbids is: the rules
// that are between fields, and those of lists. Each of the refused ones fitted the document
// once, and was found by schemathesis (test/schema).
func TestRulesOfRequests(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asOwner)
	text := `"content":{"type":"text","text":"hi"}`
	made := im.NewMessageID(time.Now(), [10]byte{1})
	id := fmt.Sprintf("%q", base64.StdEncoding.EncodeToString(made[:]))
	poll := func(options string) string {
		return fmt.Sprintf(`{"conversation":%q,%s,"poll":{"options":[%s]}}`, s.group, text, options)
	}
	for _, c := range []struct {
		method, body string
		fits         bool
	}{
		{"AccountService/UpgradeGuest", `{"username":"gus.hill","password":"short"}`, false},
		{"AccountService/UpgradeGuest", `{"username":"gus.hill","password":"sevench"}`, false},
		{"AccountService/UpgradeGuest", `{"username":"gus.hill","password":"längeröö"}`, true},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q,"kind":"RETENTION_KIND_TIME"}`, s.group), false},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q,"kind":"RETENTION_KIND_TIME","retentionS":3599}`, s.group), false},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q,"kind":"RETENTION_KIND_FOREVER","retentionS":3600}`, s.group), false},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q,"retentionS":3600}`, s.group), false},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q,"kind":"RETENTION_KIND_TIME","retentionS":315360000}`, s.group), true},
		{"AdminService/SetRetention", fmt.Sprintf(`{"conversation":%q}`, s.group), true},
		{"MessageService/ForwardMessages", fmt.Sprintf(`{"conversation":%q,"messages":[{"conversation":%q,"seq":"%d","id":%s}],"merge":{"title":"t"}}`, s.group, s.group, s.said, id), false},
		{"MessageService/ForwardMessages", fmt.Sprintf(`{"conversation":%q,"messages":[{"conversation":%q,"seq":"%d"}],"merge":{"title":"t","id":%s}}`, s.group, s.group, s.said, id), true},
		{"MessageService/ForwardMessages", fmt.Sprintf(`{"conversation":%q,"messages":[{"conversation":%q,"seq":"%d","id":%s}]}`, s.group, s.group, s.said, id), true},
		{"MessageService/ScheduleMessage", fmt.Sprintf(`{"message":{"conversation":%q,%s,"streaming":true},"atMs":"1"}`, s.group, text), false},
		{"MessageService/ScheduleMessage", fmt.Sprintf(`{"message":{"conversation":%q,%s,"streaming":false},"atMs":"1"}`, s.group, text), true},
		{"MessageService/ChangeScheduled", fmt.Sprintf(`{"id":%s,"message":{"conversation":%q,%s,"streaming":true}}`, id, s.group, text), false},
		{"MessageService/SendMessage", poll(`{"id":"a"},{"id":"a"}`), false},
		{"MessageService/SendMessage", poll(`{"id":"a"},{"id":"b"}`), true},
		{"MessageService/SendMessage", poll(`{"id":"a","votes":1}`), false},
		{"MessageService/SendMessage", poll(`{"id":"a","mine":true}`), false},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,%s,"poll":{"options":[{"id":"a"}],"voters":1}}`, s.group, text), false},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,%s,"streaming":true,"poll":{"options":[{"id":"a"}]}}`, s.group, text), false},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,"content":{"type":"image","text":"{}"},"streaming":true}`, s.group), false},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,"content":{"type":"com.example","data":"AAAA"},"streaming":true}`, s.group), false},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,"content":{"type":"com.example","text":"hi"},"streaming":true}`, s.group), true},
		{"MessageService/SendMessage", fmt.Sprintf(`{"conversation":%q,%s,"thread":"9223372036854775808"}`, s.group, text), false},
		{"MessageService/VoteInPoll", fmt.Sprintf(`{"conversation":%q,"seq":"%d","options":["a","a"]}`, s.group, s.said), false},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q}`, s.group), false},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"whatever":1}`, s.group), false}, // unknown fields are ignored
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"delete":[]}`, s.group), false},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"delete":["18446744073709551615"]}`, s.group), false},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"thread":{"root":"%d"}}`, s.group, s.said), false},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"thread":{"root":"%d","follow":false}}`, s.group, s.said), true},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"pinned":false}`, s.group), true},
		{"MessageService/StreamMessage", fmt.Sprintf(`{"conversation":%q,"seq":"%d","content":{"type":"file","text":"{}"}}`, s.group, s.myStream), false},
		{"MessageService/StreamMessage", fmt.Sprintf(`{"conversation":%q,"seq":"%d","content":{"type":"text","data":"AAAA"}}`, s.group, s.myStream), false},
		{"MessageService/StreamMessage", fmt.Sprintf(`{"conversation":%q,"seq":"%d","content":{"type":"text","text":"all"}}`, s.group, s.myStream), true},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.body), &v); err != nil {
			t.Fatal(err)
		}
		name := c.method[strings.Index(c.method, "/")+1:] + "Request"
		if got := w.schemas.fits(t, w.schemas.raw(t, name), v); got != c.fits {
			t.Errorf("%s %s: fits the document: %v", c.method, c.body, got)
		}
		token := s.me.token
		switch {
		case strings.HasPrefix(c.method, "AdminService"):
			token = adminKey
		case strings.HasSuffix(c.method, "UpgradeGuest"):
			token = w.guest("gus").token
		}
		resp := do(w.http, post(c.method, token, c.body))
		if code, _ := errorOf(t, resp); (code == im.CodeInvalidArgument) == c.fits {
			t.Errorf("%s %s: %d %s", c.method, c.body, resp.Code, resp.Body)
		}
	}
}

// Names of which the document says that they do not fit are refused; those that are refused
// all the same have what x-skein-format is for: what belongs to the character before it, and
// letters that look like those of another alphabet in the same word.
func TestNamesFitTheDocument(t *testing.T) {
	pattern := regexp.MustCompile(regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(shownPattern, `\x{$1}`))
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		name := "a" + string(r)
		documented, err := pattern.MatchString(name), im.CheckName("name", name, 1, 64)
		belongs := unicode.IsMark(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cyrillic, unicode.Greek)
		if !documented && err == nil || documented && err != nil && !belongs {
			t.Errorf("%+q: as the document says: %v, and %v", name, documented, err)
		}
	}
	for _, field := range []string{"SetTagsRequest.tags", "UpdateProfileRequest.display_name", "SetNicknameRequest.nickname", "SetMyStateRequest.folder", "SetRemarkRequest.remark", "CreateGroupRequest.name"} {
		if b, _ := FieldBounds(field); b.Format != nameFormat {
			t.Errorf("%s has the format %q", field, b.Format)
		}
	}
}
