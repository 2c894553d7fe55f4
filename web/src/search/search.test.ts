import { describe, expect, test } from "vitest"
import { narrowed, questionOf, readFilters, writeFilters } from "./filters.js"
import { linksOf } from "./linksOf.js"
import { byMonth } from "./months.js"
import { peerOf } from "./peers.js"
import { fieldText, plainText, snippetOf } from "./snippet.js"

describe("filters in the address", () => {
  test("come back as they went", () => {
    const f = readFilters("q=lake+trip&in=grp%3Ag&by=ann&kind=files&from=2026-01-02&to=2026-03-04")
    expect(f).toEqual({ query: "lake trip", conversation: "grp:g", sender: "ann", kind: "files", from: "2026-01-02", to: "2026-03-04" })
    expect(readFilters(writeFilters(f))).toEqual(f)
  })
  test("nonsense is no filter", () => {
    const f = readFilters("kind=viruses&from=soon")
    expect(f.kind).toBe("any")
    expect(f.from).toBe("")
    expect(narrowed(f)).toBe(false)
    expect(writeFilters(f)).toBe("")
  })
  test("the last day counts whole", () => {
    const q = questionOf(readFilters("from=2026-01-02&to=2026-01-02"))
    expect((q.beforeMs ?? 0) - (q.afterMs ?? 0)).toBe(new Date(2026, 0, 3).getTime() - new Date(2026, 0, 2).getTime())
  })
})

describe("a snippet", () => {
  const joined = (s: readonly { text: string }[]): string => s.map((x) => x.text).join("")
  test("marks what was looked for", () => {
    expect(snippetOf({ type: "text", text: "At the lake" }, [{ field: "text", start: 7, end: 11 }])).toEqual([{ text: "At the ", hit: false }, { text: "lake", hit: true }])
  })
  test("a start of 0 is not told", () => {
    expect(snippetOf({ type: "text", text: "lake" }, [{ field: "text", end: 4 }])).toEqual([{ text: "lake", hit: true }])
  })
  test("is around the first place of a long text, and says that there is more", () => {
    const text = "word ".repeat(200) + "lake" + " word".repeat(200)
    const s = snippetOf({ type: "text", text }, [{ field: "text", start: 1000, end: 1004 }])
    expect(s[0]).toEqual({ text: "…", hit: false })
    expect(s.at(-1)).toEqual({ text: "…", hit: false })
    expect(s.filter((x) => x.hit)).toEqual([{ text: "lake", hit: true }])
    expect(joined(s).length).toBeLessThan(250)
  })
  test("reads the field of a body that says it", () => {
    const c = { type: "poll", text: JSON.stringify({ question: "Where?", options: [{ id: "a", text: "the lake" }] }), fallback: "Poll: Where?" }
    expect(fieldText(c, "options[0].text")).toBe("the lake")
    expect(joined(snippetOf(c, [{ field: "options[0].text", start: 4, end: 8 }]))).toBe("the lake")
    expect(plainText(c)).toBe("Where?")
  })
  test("a body that cannot be read is its fallback", () => {
    expect(plainText({ type: "file", text: "{", fallback: "A file" })).toBe("A file")
    expect(fieldText({ type: "file", text: "{" }, "name")).toBe("")
    expect(plainText({ type: "com.example.seat", text: "x" })).toBe("com.example.seat")
  })
  test("never cuts a character in two", () => {
    const text = "😀".repeat(400)
    const s = joined(snippetOf({ type: "text", text }, [{ field: "text", start: 401 - 1, end: 402 }]))
    expect(encodeURIComponent(s)).not.toBe("") // of half a character it throws
  })
  test("places that overlap, or lie beyond the end, do no harm", () => {
    const s = snippetOf({ type: "text", text: "aaaa" }, [{ start: 0, end: 3 }, { start: 1, end: 4 }, { start: 9, end: 12 }])
    expect(joined(s)).toBe("aaaa")
  })
})

test("links of a text, each once, without what stands around them", () => {
  expect(linksOf("see https://a.example/x, (https://b.example/y_(z)) and https://a.example/x again. http: no")).toEqual(["https://a.example/x", "https://b.example/y_(z)"])
})

test("months, in the order of what is in them", () => {
  const at = (y: number, m: number): number => new Date(y, m, 3).getTime()
  expect(byMonth([at(2026, 10), at(2026, 10), at(2025, 11)], (x) => x).map((m) => [m.key, m.items.length])).toEqual([["2026-11", 2], ["2025-12", 1]])
})

test("the other of a dm, or oneself", () => {
  expect(peerOf("dm:a:b", "a")).toBe("b")
  expect(peerOf("dm:a:a", "a")).toBe("a")
  expect(peerOf("grp:x", "a")).toBe("")
})
