import { describe, expect, test } from "vitest"
import { inline, onlyEmoji, parse, plain, type Inline } from "./markdown.js"
import { linkEnd, safeHref } from "./links.js"

const text = (t: string): Inline => ({ t: "text", text: t })

describe("emphasis", () => {
  test("bold, italic, struck, code", () => {
    expect(inline("**a** *b* _c_ ~~d~~ `e*`")).toEqual([
      { t: "strong", c: [text("a")] }, text(" "), { t: "em", c: [text("b")] }, text(" "), { t: "em", c: [text("c")] }, text(" "),
      { t: "del", c: [text("d")] }, text(" "), { t: "code", text: "e*" },
    ])
  })
  test("one in another", () => {
    expect(inline("**a *b* c**")).toEqual([{ t: "strong", c: [text("a "), { t: "em", c: [text("b")] }, text(" c")] }])
  })
  test("what is not closed, and names with underscores, stand as they were written", () => {
    for (const s of ["a * b * c", "2*3", "snake_case_name", "**open", "~~~", "`", "a ** b **"]) expect(inline(s)).toEqual([text(s)])
  })
  test("a backslash takes a mark its meaning", () => {
    expect(inline("\\*a\\* C:\\dir")).toEqual([text("*a* C:\\dir")])
  })
  test("a text of nothing but marks is read in linear time", () => {
    const began = performance.now()
    for (const s of ["*a ", "**a", "_(", "`", "[a](", "~~x", "> ", "*_~`"]) parse(s.repeat(20_000))
    expect(performance.now() - began).toBeLessThan(3000)
  })
})

describe("links", () => {
  test("of http, https and mailto alone", () => {
    expect(safeHref("https://example.org/a b")).toBe("https://example.org/a%20b")
    expect(safeHref("mailto:a@b.org")).toBe("mailto:a@b.org")
    for (const s of ["javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc", "//x", "https://good.org@evil.org", "x"]) {
      expect(safeHref(s)).toBeUndefined()
      expect(JSON.stringify(parse(`[a](${s})`))).not.toContain('"link"')
    }
  })
  test("words with an address, brackets in it", () => {
    expect(inline("[the *list*](https://example.org/a_(b)) x")).toEqual([{ t: "link", href: "https://example.org/a_(b)", c: [text("the *list*")] }, text(" x")])
  })
  test("bare ones end as SPEC §4.34 says", () => {
    const bare = (s: string): string => s.slice(0, linkEnd(s, 0))
    expect(bare("https://a.org/x.")).toBe("https://a.org/x")
    expect(bare("https://a.org/x_(y))")).toBe("https://a.org/x_(y)")
    expect(bare("https://a.org/你好。很")).toBe("https://a.org/你好")
    expect(bare('https://a.org"x')).toBe("https://a.org")
    expect(inline("xhttps://a.org")).toEqual([text("xhttps://a.org")])
    expect(inline("see https://a.org/b, ok")).toEqual([text("see "), { t: "link", href: "https://a.org/b", c: [text("https://a.org/b")] }, text(", ok")])
  })
})

describe("blocks", () => {
  test("paragraphs, line breaks", () => {
    expect(parse("a\nb\n\nc")).toEqual([{ t: "p", c: [text("a"), { t: "br" }, text("b")] }, { t: "p", c: [text("c")] }])
  })
  test("lists, numbered and one in another", () => {
    expect(parse("3. a\n4. b\n- x\n  - y")).toEqual([
      { t: "list", start: 3, items: [[{ t: "p", c: [text("a")] }], [{ t: "p", c: [text("b")] }]] },
      { t: "list", start: undefined, items: [[{ t: "p", c: [text("x")] }, { t: "list", start: undefined, items: [[{ t: "p", c: [text("y")] }]] }]] },
    ])
  })
  test("quotes and code", () => {
    expect(parse("> a\n> > b\nc")).toEqual([
      { t: "quote", c: [{ t: "p", c: [text("a")] }, { t: "quote", c: [{ t: "p", c: [text("b")] }] }] }, { t: "p", c: [text("c")] },
    ])
    expect(parse("```go\nif a < b {\n\n}\n```\nx")).toEqual([{ t: "pre", lang: "go", text: "if a < b {\n\n}" }, { t: "p", c: [text("x")] }])
    expect(parse("```\nopen")).toEqual([{ t: "pre", lang: "", text: "open" }])
  })
  test("HTML is text", () => {
    expect(parse("<img src=x onerror=alert(1)>")).toEqual([{ t: "p", c: [text("<img src=x onerror=alert(1)>")] }])
  })
})

test("mentions: the longest name that fits, and only of who is mentioned", () => {
  const names = { mentions: new Map([["Ann", "u1"], ["Ann Lee", "u2"], ["王芳", "u3"]]), emoji: (n: string) => n === "goose" }
  expect(inline("@Ann Lee, @Ann and @Anna @Bob @王芳 :goose: :cat:", names)).toEqual([
    { t: "mention", user: "u2", text: "@Ann Lee" }, text(", "), { t: "mention", user: "u1", text: "@Ann" }, text(" and @Anna @Bob "),
    { t: "mention", user: "u3", text: "@王芳" }, text(" "), { t: "emoji", name: "goose" }, text(" :cat:"),
  ])
})

test("in one line", () => {
  expect(plain("**Tea** at `4`?\n- [list](https://a.org)\n> q")).toBe("Tea at 4? list q")
})

test("emoji alone", () => {
  for (const s of ["👍", "❤️ 🎉", "👩‍👩‍👧", "🇨🇭"]) expect(onlyEmoji(s)).toBe(true)
  for (const s of ["a👍", "123", "", "👍👍👍👍", "#"]) expect(onlyEmoji(s)).toBe(false)
})
