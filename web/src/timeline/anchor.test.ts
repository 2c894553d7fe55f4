import { expect, test } from "vitest"
import { firstSeen, isAtEnd, placeOf, scrollFor, type Box } from "./anchor.js"

const boxes = (heights: readonly number[], prefix = "r"): Box[] => {
  let top = 0
  return heights.map((height, i) => {
    const b = { key: `${prefix}${i}`, top, height }
    top += height
    return b
  })
}
const view = (all: readonly Box[], scrollTop: number, height = 100) => ({ scrollTop, height, content: all.reduce((n, b) => n + b.height, 0) })
const topIn = (all: readonly Box[]) => (key: string) => all.find((b) => b.key === key)?.top

test("the first row that is seen", () => {
  const all = boxes([10, 20, 30])
  expect([0, 9, 10, 29, 30, 60].map((y) => firstSeen(3, (i) => all[i]!, y))).toEqual([0, 0, 1, 1, 2, 3])
})

test("rows that come above leave the row where it is", () => {
  const old = boxes([50, 50, 50, 50, 50])
  const p = placeOf(view(old, 60), old.length, (i) => old[i]!, true)
  expect(p).toEqual({ end: false, key: "r2", offset: 40 })
  const now = [...boxes([33, 77, 10], "older"), ...old.map((b) => ({ ...b, top: b.top + 120 }))]
  expect(scrollFor(p, view(now, 60), topIn(now))).toBe(180)
})

test("a row above that grows leaves the row where it is; a gone row says so", () => {
  const old = boxes([50, 50, 50, 50, 50])
  const p = placeOf(view(old, 100), old.length, (i) => old[i]!, true)
  const now = boxes([50, 90, 50, 50, 50])
  expect(scrollFor(p, view(now, 100), topIn(now))).toBe(140)
  expect(scrollFor(p, view(now, 100), () => undefined)).toBeUndefined()
})

test("a row that fills the view holds itself", () => {
  const old = boxes([10, 500, 50])
  expect(placeOf(view(old, 200), 3, (i) => old[i]!, true)).toEqual({ end: false, key: "r1", offset: -190 })
})

test("at the end it follows, elsewhere and where newer ones are not shown it does not", () => {
  const all = boxes([50, 50, 50, 50])
  expect(isAtEnd(view(all, 100))).toBe(true)
  expect(placeOf(view(all, 100), 4, (i) => all[i]!, true)).toEqual({ end: true })
  expect(placeOf(view(all, 100), 4, (i) => all[i]!, false).end).toBe(false)
  expect(placeOf(view(all, 70), 4, (i) => all[i]!, true).end).toBe(false)
  expect(scrollFor({ end: true }, view(boxes([50, 50, 50, 50, 80]), 100), () => undefined)).toBe(180)
})
