import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { inline, linkEnd, onlyEmoji, parse, plain, safeHref, type Inline } from "../src/content/index.js"

const text = (t: string): Inline => ({ t: "text", text: t })

describe("emphasis", () => {
  test("bold, italic, struck, code", () => {
    assert.deepEqual(inline("**a** *b* _c_ ~~d~~ `e*`"), [
      { t: "strong", c: [text("a")] }, text(" "), { t: "em", c: [text("b")] }, text(" "), { t: "em", c: [text("c")] }, text(" "),
      { t: "del", c: [text("d")] }, text(" "), { t: "code", text: "e*" },
    ])
  })
  test("one in another", () => {
    assert.deepEqual(inline("**a *b* c**"), [{ t: "strong", c: [text("a "), { t: "em", c: [text("b")] }, text(" c")] }])
  })
  test("what is not closed, and names with underscores, stand as they were written", () => {
    for (const s of ["a * b * c", "2*3", "snake_case_name", "**open", "~~~", "`", "a ** b **"]) assert.deepEqual(inline(s), [text(s)])
  })
  test("a backslash takes a mark its meaning", () => {
    assert.deepEqual(inline("\\*a\\* C:\\dir"), [text("*a* C:\\dir")])
  })
  test("a text of nothing but marks is read in linear time", () => {
    const began = performance.now()
    for (const s of ["*a ", "**a", "_(", "`", "[a](", "~~x", "> ", "*_~`"]) parse(s.repeat(20_000))
    assert.ok(performance.now() - began < 3000)
  })
})

describe("links", () => {
  test("of http, https and mailto alone", () => {
    assert.equal(safeHref("https://example.org/a b"), "https://example.org/a%20b")
    assert.equal(safeHref("mailto:a@b.org"), "mailto:a@b.org")
    for (const s of ["javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc", "//x", "https://good.org@evil.org", "x"]) {
      assert.equal(safeHref(s), undefined)
      assert.ok(!JSON.stringify(parse(`[a](${s})`)).includes('"link"'))
    }
  })
  test("words with an address, brackets in it", () => {
    assert.deepEqual(inline("[the *list*](https://example.org/a_(b)) x"), [{ t: "link", href: "https://example.org/a_(b)", c: [text("the *list*")] }, text(" x")])
  })
  test("bare ones end as SPEC §4.34 says", () => {
    const bare = (s: string): string => s.slice(0, linkEnd(s, 0))
    assert.equal(bare("https://a.org/x."), "https://a.org/x")
    assert.equal(bare("https://a.org/x_(y))"), "https://a.org/x_(y)")
    assert.equal(bare("https://a.org/你好。很"), "https://a.org/你好")
    assert.equal(bare('https://a.org"x'), "https://a.org")
    assert.deepEqual(inline("xhttps://a.org"), [text("xhttps://a.org")])
    assert.deepEqual(inline("see https://a.org/b, ok"), [text("see "), { t: "link", href: "https://a.org/b", c: [text("https://a.org/b")] }, text(", ok")])
  })
})

describe("blocks", () => {
  test("paragraphs, line breaks", () => {
    assert.deepEqual(parse("a\nb\n\nc"), [{ t: "p", c: [text("a"), { t: "br" }, text("b")] }, { t: "p", c: [text("c")] }])
  })
  test("lists, numbered and one in another", () => {
    assert.deepEqual(parse("3. a\n4. b\n- x\n  - y"), [
      { t: "list", start: 3, items: [[{ t: "p", c: [text("a")] }], [{ t: "p", c: [text("b")] }]] },
      { t: "list", start: undefined, items: [[{ t: "p", c: [text("x")] }, { t: "list", start: undefined, items: [[{ t: "p", c: [text("y")] }]] }]] },
    ])
  })
  test("quotes and code", () => {
    assert.deepEqual(parse("> a\n> > b\nc"), [
      { t: "quote", c: [{ t: "p", c: [text("a")] }, { t: "quote", c: [{ t: "p", c: [text("b")] }] }] }, { t: "p", c: [text("c")] },
    ])
    assert.deepEqual(parse("```go\nif a < b {\n\n}\n```\nx"), [{ t: "pre", lang: "go", text: "if a < b {\n\n}" }, { t: "p", c: [text("x")] }])
    assert.deepEqual(parse("```\nopen"), [{ t: "pre", lang: "", text: "open" }])
  })
  test("HTML is text", () => {
    assert.deepEqual(parse("<img src=x onerror=alert(1)>"), [{ t: "p", c: [text("<img src=x onerror=alert(1)>")] }])
  })
})

test("mentions: the longest name that fits, and only of who is mentioned", () => {
  const names = { mentions: new Map([["Ann", "u1"], ["Ann Lee", "u2"], ["王芳", "u3"]]), emoji: (n: string) => n === "goose" }
  assert.deepEqual(inline("@Ann Lee, @Ann and @Anna @Bob @王芳 :goose: :cat:", names), [
    { t: "mention", user: "u2", text: "@Ann Lee" }, text(", "), { t: "mention", user: "u1", text: "@Ann" }, text(" and @Anna @Bob "),
    { t: "mention", user: "u3", text: "@王芳" }, text(" "), { t: "emoji", name: "goose" }, text(" :cat:"),
  ])
})

test("in one line", () => {
  assert.equal(plain("**Tea** at `4`?\n- [list](https://a.org)\n> q"), "Tea at 4? list q")
})

test("emoji alone", () => {
  for (const s of ["👍", "❤️ 🎉", "👩‍👩‍👧", "🇨🇭"]) assert.equal(onlyEmoji(s), true)
  for (const s of ["a👍", "123", "", "👍👍👍👍", "#"]) assert.equal(onlyEmoji(s), false)
})
