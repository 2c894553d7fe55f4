// Command codesgen writes the error catalogue proto/codes.json as Go (for the
// server's domain and for clients), as TypeScript, and as a table for people.
//
//	go run ./proto/codesgen        (from the repository's root; part of make gen)
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"log"
	"os"
	"strings"
)

type catalogue struct {
	Ranges []struct {
		From, To    int
		Action, Doc string
	}
	Codes []struct {
		Name, Doc    string
		Number, HTTP int
	}
}

func main() {
	raw, err := os.ReadFile("proto/codes.json")
	if err != nil {
		log.Fatal(err)
	}
	var c catalogue
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		log.Fatalf("proto/codes.json: %v", err)
	}
	c.check()
	writeGo("internal/im/codes_gen.go", c.goSource("im"))
	writeGo("wire/codes_gen.go", c.goSource("wire"))
	if err := os.WriteFile("sdk/typescript/src/codes_gen.ts", c.typeScript(), 0o644); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("proto/CODES.md", c.markdown(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// check refuses a catalogue whose numbers repeat or lie outside every range.
func (c *catalogue) check() {
	seen := map[int]string{}
	names := map[string]bool{}
	for _, k := range c.Codes {
		if seen[k.Number] != "" || names[k.Name] {
			log.Fatalf("codes.json: %s (%d) stands twice", k.Name, k.Number)
		}
		seen[k.Number], names[k.Name] = k.Name, true
		if c.action(k.Number) == "" {
			log.Fatalf("codes.json: %s (%d) is in no range", k.Name, k.Number)
		}
	}
}

func (c *catalogue) action(n int) string {
	for _, r := range c.Ranges {
		if n >= r.From && n <= r.To {
			return r.Action
		}
	}
	return ""
}

func (c *catalogue) goSource(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Code generated from proto/codes.json by proto/codesgen. DO NOT EDIT.\n\npackage %s\n\n", pkg)
	b.WriteString("// Code names what went wrong; see proto/CODES.md.\ntype Code string\n\nconst (\n")
	for _, k := range c.Codes {
		fmt.Fprintf(&b, "\t// %s\n\tCode%s Code = %q\n", k.Doc, camel(k.Name), k.Name)
	}
	b.WriteString(")\n\n// Action is what a client does about a code.\ntype Action string\n\nconst (\n")
	for _, r := range c.Ranges {
		fmt.Fprintf(&b, "\t// %s\n\tAction%s Action = %q\n", r.Doc, camel(r.Action), r.Action)
	}
	b.WriteString(")\n\n// CodeInfo is a row of the catalogue.\ntype CodeInfo struct {\n\tCode Code\n\t// Number is also the WebSocket close code.\n\tNumber int\n\tHTTP int\n\tAction Action\n}\n\n")
	b.WriteString("// Codes lists the catalogue by number.\nfunc Codes() []CodeInfo {\n\treturn []CodeInfo{\n")
	for _, k := range c.Codes {
		fmt.Fprintf(&b, "\t\t{Code%s, %d, %d, Action%s},\n", camel(k.Name), k.Number, k.HTTP, camel(c.action(k.Number)))
	}
	b.WriteString("\t}\n}\n\n// Info returns the code's row. An unknown code is treated as `internal`.\nfunc (c Code) Info() CodeInfo {\n\tswitch c {\n")
	for _, k := range c.Codes {
		fmt.Fprintf(&b, "\tcase Code%s:\n\t\treturn CodeInfo{c, %d, %d, Action%s}\n", camel(k.Name), k.Number, k.HTTP, camel(c.action(k.Number)))
	}
	b.WriteString("\t}\n\treturn CodeInfo{c, 4204, 500, ActionReconnect}\n}\n")
	return b.String()
}

func (c *catalogue) markdown() []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from proto/codes.json by proto/codesgen. -->\n# Error and close codes\n\nThe number is also the WebSocket close code. Its range tells a client what to do, also with codes it does not know yet.\n\n| numbers | action | meaning |\n|---|---|---|\n")
	for _, r := range c.Ranges {
		fmt.Fprintf(&b, "| %d–%d | `%s` | %s |\n", r.From, r.To, r.Action, r.Doc)
	}
	b.WriteString("\n| number | code | HTTP | action | meaning |\n|---|---|---|---|---|\n")
	for _, k := range c.Codes {
		fmt.Fprintf(&b, "| %d | `%s` | %d | %s | %s |\n", k.Number, k.Name, k.HTTP, c.action(k.Number), k.Doc)
	}
	return b.Bytes()
}

func (c *catalogue) typeScript() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from proto/codes.json by proto/codesgen. DO NOT EDIT.\n\n/** What a client does about a code. */\nexport type Action =\n")
	for _, r := range c.Ranges {
		fmt.Fprintf(&b, "  /** %s */\n  | %q\n", r.Doc, r.Action)
	}
	b.WriteString("\n/** The ranges of numbers: they tell what to do also about a code that is not known here. */\nexport const ranges: readonly (readonly [from: number, to: number, action: Action])[] = [\n")
	for _, r := range c.Ranges {
		fmt.Fprintf(&b, "  [%d, %d, %q],\n", r.From, r.To, r.Action)
	}
	b.WriteString("]\n\n/** The codes and their numbers, which are also WebSocket close codes. */\nexport const codes = {\n")
	for _, k := range c.Codes {
		fmt.Fprintf(&b, "  /** %s */\n  %s: %d,\n", k.Doc, k.Name, k.Number)
	}
	b.WriteString("} as const\n\n/** A code of the catalogue. */\nexport type Code = keyof typeof codes\n")
	return b.Bytes()
}

func camel(s string) string {
	var b strings.Builder
	for _, p := range strings.Split(s, "_") {
		b.WriteString(strings.ToUpper(p[:1]) + p[1:])
	}
	return b.String()
}

func writeGo(path, src string) {
	out, err := format.Source([]byte(src))
	if err != nil {
		log.Fatalf("%s: %v", path, err)
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		log.Fatal(err)
	}
}
