import { expect, test } from "vitest"
import { beginning, matching, mentionsIn, openAt, put } from "./complete.js"

test("what is being completed", () => {
  expect(openAt("hi @An", 6)).toEqual({ kind: "@", query: "An", from: 3 })
  expect(openAt("@", 1)).toEqual({ kind: "@", query: "", from: 0 })
  expect(openAt("@Ann Le", 7)).toEqual({ kind: "@", query: "Ann Le", from: 0 })
  expect(openAt("ok :thu", 7)).toEqual({ kind: ":", query: "thu", from: 3 })
  expect(openAt("/", 1)).toEqual({ kind: "/", query: "", from: 0 })
  expect(openAt("/投", 2)).toEqual({ kind: "/", query: "投", from: 0 })
  expect(openAt("/poll", 2)).toBeUndefined()
  for (const s of ["/usr/bin", "/poll now", "see /poll", " /poll", "//", "mail a@b", "@Ann and then more", "10:30", "::x", "@Ann\nx", "a :t"]) expect(openAt(s, s.length), s).toBeUndefined()
})

const people = [{ id: "1", names: ["Ann Lee", "ann"] }, { id: "2", names: ["Lee Wong"] }, { id: "3", names: ["王小芳", "xf"] }]

test("names, and words in them; Chinese ones anywhere", () => {
  expect(matching(people, "lee").map((p) => p.id)).toEqual(["2", "1"])
  expect(matching(people, "芳").map((p) => p.id)).toEqual(["3"])
  expect(matching(people, "").length).toBe(3)
  expect(matching(people, "x").map((p) => p.id)).toEqual(["3"])
})

test("what is chosen stands in the place of what was written", () => {
  const open = openAt("hi @an there", 6)!
  expect(put("hi @an there", open, 6, "@Ann Lee")).toEqual({ text: "hi @Ann Lee there", caret: 12 })
  expect(put("hi @an", openAt("hi @an", 6)!, 6, "@Ann Lee")).toEqual({ text: "hi @Ann Lee ", caret: 12 })
})

test("whom a text mentions", () => {
  const chosen = new Map([["Ann", "9"]])
  expect(mentionsIn("@Ann Lee and @xf, mail@ann", chosen, people)).toEqual(["9", "1", "3"])
  expect(mentionsIn("@Anna @xfy", chosen, people)).toEqual([])
})

test("a command is found by how its names begin, not by a word within", () => {
  const all = [{ id: "search", names: ["search", "Search here"] }, { id: "file", names: ["file", "Pictures and files"] }]
  const of = (q: string): string[] => beginning(all, q).map((c) => c.id)
  expect([of(""), of("S"), of("pic"), of("here"), of("files"), of("file")]).toEqual([["search", "file"], ["search"], ["file"], [], [], ["file"]])
})
