package config

import (
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written like 90s, 5m, 24h, 60d or 2w.
type Duration time.Duration

// UnmarshalText parses a duration; d is for days, w for weeks.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	for unit, hours := range map[string]int64{"d": 24, "w": 7 * 24} {
		n, ok := strings.CutSuffix(s, unit)
		if !ok {
			continue
		}
		count, err := strconv.ParseInt(n, 10, 64)
		each := hours * int64(time.Hour)
		if err != nil || count > math.MaxInt64/each || count < math.MinInt64/each {
			return noDuration(s)
		}
		*d = Duration(count * each)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return noDuration(s)
	}
	*d = Duration(v)
	return nil
}

func noDuration(s string) error {
	return fmt.Errorf("%q is not a duration like 90s, 5m, 24h, 60d or 2w", s)
}

// MarshalText writes whole days as d, the rest as Go does.
func (d Duration) MarshalText() ([]byte, error) {
	v := time.Duration(d)
	if day := 24 * time.Hour; v >= 2*day && v%day == 0 {
		return fmt.Appendf(nil, "%dd", v/day), nil
	}
	return []byte(v.String()), nil
}

// Size is a number of bytes, written like 64MiB, 2GiB or 1000.
type Size int64

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText parses a size.
func (z *Size) UnmarshalText(text []byte) error {
	s, factor := string(text), int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			s, factor = n, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return fmt.Errorf("%q is not a size like 64MiB", text)
	}
	*z = Size(n * factor)
	return nil
}

// MarshalText writes the greatest unit that divides the size.
func (z Size) MarshalText() ([]byte, error) {
	for _, u := range units {
		if z > 0 && int64(z)%u.bytes == 0 {
			return fmt.Appendf(nil, "%d%s", int64(z)/u.bytes, u.name), nil
		}
	}
	return strconv.AppendInt(nil, int64(z), 10), nil
}

// setting is one key of a Config, bound to its field.
type setting struct {
	Key, Doc string
	secret   string // "yes": never shown; "url": shown without passwords
	field    reflect.Value
}

// settings lists all keys of c in the order of the struct.
func settings(c *Config) []setting { return fields("", reflect.ValueOf(c).Elem()) }

func fields(prefix string, v reflect.Value) []setting {
	var all []setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Tag.Get("toml") == "-" {
			continue
		}
		key := prefix + f.Tag.Get("toml")
		if f.Type.Kind() == reflect.Struct {
			all = append(all, fields(key+".", v.Field(i))...)
			continue
		}
		all = append(all, setting{Key: key, Doc: f.Tag.Get("doc"), secret: f.Tag.Get("secret"), field: v.Field(i)})
	}
	return all
}

// set parses a value as flags and the environment give it; lists are
// separated by commas.
func (s setting) set(value string) error {
	if t, ok := s.field.Addr().Interface().(interface{ UnmarshalText([]byte) error }); ok {
		return t.UnmarshalText([]byte(value))
	}
	switch s.field.Kind() {
	case reflect.String:
		s.field.SetString(value)
	case reflect.Bool:
		switch value {
		case "true", "false":
			s.field.SetBool(value == "true")
		default:
			return fmt.Errorf("%q is neither true nor false", value)
		}
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		s.field.SetInt(int64(n))
	case reflect.Float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", value)
		}
		s.field.SetFloat(f)
	case reflect.Slice:
		var list []string
		for _, part := range strings.Split(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		s.field.Set(reflect.ValueOf(list))
	default:
		return fmt.Errorf("setting of kind %s", s.field.Kind())
	}
	return nil
}

// shown is a string as it may be shown.
func (s setting) shown(value string) string {
	switch {
	case s.secret == "yes" && value != "":
		return "(set)"
	case s.secret == "url":
		return withoutPassword(value)
	}
	return value
}

// withoutPassword is a URL as it may be shown.
func withoutPassword(value string) string {
	if u, err := url.Parse(value); err == nil {
		return u.Redacted()
	} else if strings.Contains(value, "@") {
		return "(set)"
	}
	return value
}

// toml writes the value as it stands in a file, without secrets.
func (s setting) toml() string {
	if t, ok := s.field.Interface().(interface{ MarshalText() ([]byte, error) }); ok {
		b, _ := t.MarshalText() // never fails
		return strconv.Quote(string(b))
	}
	switch s.field.Kind() {
	case reflect.String:
		return strconv.Quote(s.shown(s.field.String()))
	case reflect.Slice:
		quoted := make([]string, s.field.Len())
		for i := range quoted {
			quoted[i] = strconv.Quote(s.shown(s.field.Index(i).String()))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		return fmt.Sprint(s.field.Interface())
	}
}

// Print returns the settings in effect as a TOML file.
func (c *Config) Print() string { return c.render(false) }

// Doc returns all settings with their defaults and what they do, as TOML.
func Doc() string {
	c := Default()
	return "# Every setting of Skein with its default. Flags win over the environment (SKEIN_HTTP_LISTEN for http.listen;\n" +
		"# SKEIN_…_FILE reads the value from a file), that over this file, that over the defaults.\n\n" + c.render(true)
}

func (c *Config) render(doc bool) string {
	var b strings.Builder
	section := ""
	for _, s := range settings(c) {
		sec, key, nested := strings.Cut(s.Key, ".")
		if !nested {
			sec, key = "", s.Key
		}
		if sec != section {
			section = sec
			fmt.Fprintf(&b, "\n[%s]\n", sec)
		}
		if doc {
			fmt.Fprintf(&b, "# %s\n", s.Doc)
		}
		fmt.Fprintf(&b, "%s = %s\n", key, s.toml())
	}
	return b.String()
}
