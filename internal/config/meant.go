package config

import (
	"fmt"
	"strings"
)

// most is how many names are suggested: more would be no help.
const most = 3

// meant is what follows "unknown …": the names that were probably meant, each in a form.
func meant(name string, names []string, form string) string {
	return quoted(nearest(name, names), form)
}

// quoted is a question after names, "" without any.
func quoted(names []string, form string) string {
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(", did you mean ")
	for i, n := range names {
		if i > 0 {
			b.WriteString(" or ")
		}
		fmt.Fprintf(&b, form, n)
	}
	b.WriteByte('?')
	return b.String()
}

// nearest is what was probably meant by a name that none of names is: the one with the
// fewest letters that differ, or else those of another section that are called so, or else
// those of which one is the beginning of the other. Empty: nothing is near.
func nearest(name string, names []string) (list []string) {
	flat := flatten(name)
	best := 1 + len(flat)/5
	for _, n := range names {
		switch d := distance(flat, flatten(n)); {
		case d < best || d == best && len(list) == 0:
			best, list = d, []string{n}
		case d == best:
			list = append(list, n)
		}
	}
	if few(list) {
		return list
	}
	list = nil
	for _, n := range names {
		if last(flatten(n), n) == last(flat, name) {
			list = append(list, n)
		}
	}
	if few(list) {
		return list
	}
	list = nil
	for _, n := range names {
		if f := flatten(n); min(len(f), len(flat)) > 2 && (strings.HasPrefix(f, flat) || strings.HasPrefix(flat, f)) {
			list = append(list, n)
		}
	}
	if few(list) {
		return list
	}
	return nil
}

func few(list []string) bool { return len(list) > 0 && len(list) <= most }

// flatten writes a name as variables of the environment do, which have no dots.
func flatten(name string) string { return strings.ToLower(strings.ReplaceAll(name, ".", "_")) }

// last is the part of a flat name that is behind the last dot of the name.
func last(flat, name string) string { return flat[strings.LastIndexByte(name, '.')+1:] }

// distance is how many letters must be put in, left out, exchanged, or swapped with their
// neighbour to make one name the other.
func distance(a, b string) int {
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			other := 1
			if a[i] == b[j] {
				other = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+other)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
