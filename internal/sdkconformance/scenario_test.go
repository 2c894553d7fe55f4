package sdkconformance

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/sdk/conformance"
)

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a word that is no step":    {`{"about":"a","spec":["§1"],"steps":[{"expects":{"hello":{}}}]}`, "unknown field"},
		"two actions in a step":     {`{"about":"a","spec":["§1"],"steps":[{"cut":true,"quiet_ms":5}]}`, "2 actions"},
		"a step that does nothing":  {`{"about":"a","spec":["§1"],"steps":[{"note":"later"}]}`, "0 actions"},
		"two frames in one":         {`{"about":"a","spec":["§1"],"steps":[{"expect":{"hello":{},"sync":{}}}]}`, "2 names"},
		"no section":                {`{"about":"a","steps":[{"cut":true}]}`, "spec"},
		"a way to restart":          {`{"about":"a","spec":["§1"],"steps":[{"restart":"gently"}]}`, "kill"},
		"an answer with a misprint": {`{"about":"a","spec":["§1"],"steps":[{"serve_sends":{"a":[{"coed":"overloaded"}]}}]}`, "unknown field"},
	} {
		if _, err := Parse("x", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The schema names what the runner reads, and nothing else.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("../../sdk/conformance/scenario.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type properties struct {
		Properties map[string]json.RawMessage
	}
	var schema struct {
		properties
		Defs map[string]properties `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var connect properties
	if err := json.Unmarshal(schema.Defs["step"].Properties["connect"], &connect); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    any
		named properties
	}{
		{Scenario{}, schema.properties}, {Step{}, schema.Defs["step"]}, {Connect{}, connect}, {Answer{}, schema.Defs["answer"]},
	} {
		var got, want []string
		for name := range c.named.Properties {
			got = append(got, name)
		}
		typ := reflect.TypeOf(c.of)
		for i := range typ.NumField() {
			if tag := typ.Field(i).Tag.Get("json"); tag != "-" {
				want = append(want, tag)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%T: the schema names %q, the runner reads %q", c.of, got, want)
		}
	}
}

// Each scenario cites sections that SPEC has.
func TestScenariosCite(t *testing.T) {
	spec, err := os.ReadFile("../../proto/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(conformance.Scenarios(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, cited := range s.Spec {
			n := strings.TrimPrefix(cited, "§")
			if ok := regexp.MustCompile(`(?m)^(\*\*|## )` + regexp.QuoteMeta(n) + `\b`).Match(spec); !ok || n == cited {
				t.Errorf("%s cites %s, which SPEC does not have", s.Name, cited)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	value, err := object([]byte(`{"seq":"12","text":"hi","list":[{"a":1},{"a":2}],"deep":{"on":true},"big":"18446744073709551615"}`))
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		`{}`:                            "",
		`{"seq":12}`:                    "",
		`{"seq":"12","text":"hi"}`:      "",
		`{"seq":13}`:                    `seq is "12", want 13`,
		`{"absent":0}`:                  "",
		`{"absent":""}`:                 "",
		`{"absent":[]}`:                 "",
		`{"absent":{"deeper":0}}`:       "",
		`{"absent":1}`:                  "absent is null, want 1",
		`{"deep":{"on":true}}`:          "",
		`{"deep":{"on":false}}`:         "deep.on is true, want false",
		`{"list":[{"a":1},{"a":2}]}`:    "",
		`{"list":[{"a":1}]}`:            "want 1 of",
		`{"list":[{"a":2},{"a":1}]}`:    "list[0].a is 1, want 2",
		`{"text":{"$present":true}}`:    "",
		`{"absent":{"$present":true}}`:  "absent is absent",
		`{"text":{"$not":"ho"}}`:        "",
		`{"text":{"$not":"hi"}}`:        "must not be",
		`{"seq":{"$one_of":[11,12]}}`:   "",
		`{"seq":{"$one_of":[10,11]}}`:   "one of",
		`{"seq":{"$at_least":12}}`:      "",
		`{"seq":{"$at_least":13}}`:      "at least",
		`{"seq":{"$at_most":11}}`:       "at most",
		`{"seq":{"$atmost":11}}`:        "does not exist",
		`{"big":18446744073709551615}`:  "",
		`{"big":18446744073709551614}`:  "big is",
		`{"seq":"$known"}`:              "",
		`{"text":"$known"}`:             `text is "hi", want "12"`,
		`{"seq":"$new","text":"$new"}`:  `text is "hi", want "12"`,
		`{"absent":"$new"}`:             "absent is absent",
		`{"seq":{"$digest":{"a:b":1}}}`: "the digest of",
		`{"text":{"$id_near":1000}}`:    "a UUIDv7",
	} {
		p, err := object([]byte(pattern))
		if err != nil {
			t.Fatal(err)
		}
		v := vars{"known": "12"}
		err = v.match(p, value)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", pattern, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", pattern, err, want)
		case err != nil && len(v) != 1:
			t.Errorf("%s: what does not fit gave names: %v", pattern, v)
		}
	}
}
