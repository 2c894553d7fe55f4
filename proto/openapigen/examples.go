package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"
)

// example is a call in proto/examples.json; test/clients carries them out and has the
// file's form.
type example struct {
	Summary           string
	Method            string
	Key               string
	Request, Response json.RawMessage
	Status            int
}

// examples are all calls, in their order. Methods are named as AccountService/Login.
type examples []example

func loadExamples(path string) (examples, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all examples
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range all {
		all[i].Status = cmp.Or(all[i].Status, http.StatusOK)
	}
	return all, nil
}

// requests are the example requests of a method, without those that are refused.
func (x examples) requests(method string) object {
	return x.values(method, http.StatusOK, func(e example) json.RawMessage { return e.Request })
}

// answers are the example answers with a status.
func (x examples) answers(method string, status int) object {
	return x.values(method, status, func(e example) json.RawMessage { return e.Response })
}

func (x examples) values(method string, status int, of func(example) json.RawMessage) object {
	var out object
	for _, e := range x {
		if e.Method == method && e.Status == status && of(e) != nil {
			out = out.set(slug(e.Summary), object{}.set("summary", e.Summary).set("value", of(e)))
		}
	}
	return out
}

// key is an idempotency key that an example has.
func (x examples) key() string {
	for _, e := range x {
		if e.Key != "" {
			return e.Key
		}
	}
	return ""
}

// slug makes a summary a name: small letters and digits with dashes between them.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(s), "'", ""), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}
