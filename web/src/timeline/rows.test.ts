import type { Message } from "@skein-im/client"
import { expect, test } from "vitest"
import { rowsOf, same, settle } from "./rows.js"
import { message, noon } from "./testing.js"
import { around, atBottom, atTop, cut, down, most, step, tail, up } from "./window.js"

const minute = 60_000

const shape = (ms: readonly Message[], unreadAfter = -1): string[] =>
  rowsOf(ms, unreadAfter).map((r) => (r.kind === "message" ? `${r.message.seq}${r.first ? "f" : ""}${r.last ? "l" : ""}` : r.kind))

test("a name stands once for what somebody wrote within five minutes", () => {
  const ms = [
    message(1), message(2), message(3, { sender: "bob" }), message(4, { sender: "bob", atMs: noon + 4 * minute }), message(5, { sender: "bob", atMs: noon + 9 * minute + 1 }),
    message(6, { kind: "event", atMs: noon + 9 * minute + 2 }), message(7, { sender: "bob", atMs: noon + 9 * minute + 3 }),
  ]
  expect(shape(ms)).toEqual(["date", "1f", "2l", "3f", "4l", "5fl", "event", "7fl"])
})

test("each day has its line", () => {
  expect(shape([message(1), message(2, { atMs: noon + 12 * 60 * minute }), message(3, { atMs: noon + 12 * 60 * minute + 1 })])).toEqual(["date", "1fl", "date", "2f", "3l"])
})

test("the line above what is unread: once, above somebody else's message", () => {
  const ms = [message(1), message(2), message(3, { kind: "event" }), message(4, { own: true, sender: "me" }), message(5), message(6)]
  expect(shape(ms, 1)).toEqual(["date", "1fl", "unread", "2fl", "event", "4fl", "5f", "6l"])
  expect(shape(ms, 2)).toEqual(["date", "1f", "2l", "event", "4fl", "unread", "5f", "6l"])
  expect(shape(ms, 6)).not.toContain("unread")
})

test("what says the same keeps its row", () => {
  const before = rowsOf([message(1), message(2)], -1)
  const now = settle(before, rowsOf([message(1), message(2, { text: "other" }), message(3)], -1))
  expect(now[1]).toBe(before[1])
  expect(now[2]).not.toBe(before[2])
  expect(same(message(1, { reactions: [] }), message(1, { reactions: [] }))).toBe(true)
  expect(same(message(1), message(1, { status: "read" }))).toBe(false)
})

test("the window follows at its end, grows by steps and never holds more than it may", () => {
  const all = Array.from({ length: 1000 }, (_, i) => message(i + 1))
  const pending = message(0, { id: "p" })
  let s = tail(all)
  expect(cut([...all, pending], s).length).toBe(81)
  for (let n = 0; n < 16; n++) {
    s = up(all, s)
    expect(cut(all, s).length).toBeLessThanOrEqual(most)
  }
  expect(s.from).toBe(1000 - 79 - 16 * step)
  expect(atBottom(s)).toBe(false)
  expect(cut([...all, pending], s)).not.toContain(pending)
  while (!atBottom(s)) s = down(all, s)
  expect(cut(all, s).at(-1)!.seq).toBe(1000)
  expect(cut(all, s).length).toBeLessThanOrEqual(most)
  for (let n = 0; n < 100 && !atTop(all, s); n++) s = up(all, s)
  expect(cut(all, s)[0]!.seq).toBe(1)
})

test("around a message", () => {
  const all = Array.from({ length: 1000 }, (_, i) => message(i + 1))
  const s = around(all, 500)!
  expect([s.from, s.to]).toEqual([460, 540])
  expect(around(all, 990)!.to).toBe(Infinity)
  expect(around(all, 2000)).toBeUndefined()
})

test("where what is unread begins is said only where nothing that is unread can be missing above", () => {
  const kinds = (from: number, unreadAfter: number, whole: boolean): string[] => rowsOf([message(from), message(from + 1), message(from + 2)], unreadAfter, whole).map((r) => r.kind)
  expect(kinds(10, 9, false)).toEqual(["date", "unread", "message", "message", "message"])
  expect(kinds(10, 11, false)).toEqual(["date", "message", "message", "unread", "message"])
  expect(kinds(10, 5, false)).toEqual(["date", "message", "message", "message"])
  expect(kinds(10, 5, true)).toEqual(["date", "unread", "message", "message", "message"])
})
