package sdkconformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// vars are the values that a scenario has given names.
type vars map[string]any

// match compares a value with a pattern and gives names to what it binds. When it
// fails it binds nothing.
func (v vars) match(pattern, value any) error {
	try := maps.Clone(v)
	if err := try.at("", pattern, value); err != nil {
		return err
	}
	maps.Copy(v, try)
	return nil
}

func (v vars) at(path string, pattern, value any) error {
	switch p := pattern.(type) {
	case map[string]any:
		if op, arg, ok := operator(p); ok {
			return v.operate(path, op, arg, value)
		}
		if value == nil {
			value = map[string]any{}
		}
		m, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %s, want an object", where(path), show(value))
		}
		for _, key := range slices.Sorted(maps.Keys(p)) {
			if err := v.at(path+"."+key, p[key], m[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if value == nil {
			value = []any{}
		}
		list, ok := value.([]any)
		if !ok || len(list) != len(p) {
			return fmt.Errorf("%s is %s, want %d of %s", where(path), show(value), len(p), show(p))
		}
		for i := range p {
			if err := v.at(fmt.Sprintf("%s[%d]", path, i), p[i], list[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if name, ok := strings.CutPrefix(p, "$"); ok {
			known, bound := v[name]
			if !bound {
				if value == nil {
					return fmt.Errorf("%s is absent, want some value", where(path))
				}
				v[name] = value
				return nil
			}
			pattern = known
		}
	}
	if !same(pattern, value) {
		return fmt.Errorf("%s is %s, want %s", where(path), show(value), show(pattern))
	}
	return nil
}

// operator reads {"$name": argument}.
func operator(p map[string]any) (op string, arg any, ok bool) {
	if len(p) != 1 {
		return "", nil, false
	}
	for k, a := range p {
		op, arg = k, a
	}
	return op, arg, strings.HasPrefix(op, "$")
}

func (v vars) operate(path, op string, arg, value any) error {
	switch op {
	case "$present":
		if zero(value) {
			return fmt.Errorf("%s is absent", where(path))
		}
	case "$not":
		if maps.Clone(v).at(path, arg, value) == nil {
			return fmt.Errorf("%s is %s, which it must not be", where(path), show(value))
		}
	case "$one_of":
		for _, p := range arg.([]any) {
			try := maps.Clone(v)
			if try.at(path, p, value) == nil {
				maps.Copy(v, try)
				return nil
			}
		}
		return fmt.Errorf("%s is %s, want one of %s", where(path), show(value), show(arg))
	case "$at_least", "$at_most":
		got, want := number(value), number(v.fill(arg))
		if got == nil || want == nil || op == "$at_least" && got.Cmp(want) < 0 || op == "$at_most" && got.Cmp(want) > 0 {
			return fmt.Errorf("%s is %s, want %s %s", where(path), show(value), strings.ReplaceAll(op[1:], "_", " "), show(arg))
		}
	case "$digest":
		return v.digest(path, arg, value)
	case "$id_near":
		return idNear(path, v.fill(arg), value)
	default:
		return fmt.Errorf("%s: the pattern has an operator that does not exist: %s", where(path), op)
	}
	return nil
}

// digest holds a Ping's digest to that of heads. SPEC §7.4.
func (v vars) digest(path string, arg, value any) error {
	var sum uint64
	for conversation, seq := range arg.(map[string]any) {
		n := number(seq)
		if n == nil {
			return fmt.Errorf("%s: a digest is of seqs", where(path))
		}
		sum += wire.HeadHash(conversation, n.Uint64())
	}
	if got := number(value); got == nil || got.Cmp(new(big.Int).SetUint64(sum)) != 0 {
		return fmt.Errorf("%s is %s, want %d, the digest of %s", where(path), show(value), sum, show(arg))
	}
	return nil
}

// idNear holds the time of a UUIDv7 to a time, give or take a minute.
func idNear(path string, arg, value any) error {
	s, _ := value.(string)
	id, err := base64.StdEncoding.DecodeString(s)
	want := number(arg)
	if err != nil || len(id) != 16 || id[6]>>4 != 7 || want == nil {
		return fmt.Errorf("%s is %s, want a UUIDv7 of the time %s", where(path), show(value), show(arg))
	}
	ms := int64(new(big.Int).SetBytes(id[:6]).Uint64())
	if d := time.Duration(ms-want.Int64()) * time.Millisecond; d.Abs() > time.Minute {
		return fmt.Errorf("%s: the id's time is %v beside %s", where(path), d, show(arg))
	}
	return nil
}

// fill puts values in the place of names: "$name" and {"$now": ms}.
func (v vars) fill(x any) any {
	switch x := x.(type) {
	case map[string]any:
		if op, arg, ok := operator(x); ok && op == "$now" {
			n := number(arg)
			if n == nil {
				n = new(big.Int)
			}
			return json.Number(fmt.Sprint(time.Now().UnixMilli() + n.Int64()))
		}
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = v.fill(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = v.fill(e)
		}
		return out
	case string:
		if name, ok := strings.CutPrefix(x, "$"); ok {
			if known, ok := v[name]; ok {
				return known
			}
		}
	}
	return x
}

// same compares scalars as the JSON mapping does: numbers with their text, what is
// absent with the default.
func same(a, b any) bool {
	if zero(a) || zero(b) {
		return zero(a) && zero(b)
	}
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return show(a) == show(b)
}

func zero(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == "" || x == "0"
	case json.Number:
		return x == "0"
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return false
}

// number reads an integer or the text of one, nil if it is none.
func number(x any) *big.Int {
	s, ok := x.(string)
	if n, is := x.(json.Number); is {
		s, ok = n.String(), true
	}
	if !ok {
		return nil
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil
	}
	return n
}

func where(path string) string {
	if path == "" {
		return "it"
	}
	return strings.TrimPrefix(path, ".")
}

// show is a value as JSON in one line.
func show(x any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return fmt.Sprint(x)
	}
	return strings.TrimSpace(b.String())
}
