import { expect, test } from "vitest"
import { unitOf } from "./times.js"

test("a length of time is told by the greatest unit that fits it whole", () => {
  expect(unitOf(45)).toEqual({ unit: "second", n: 45 })
  expect(unitOf(60)).toEqual({ unit: "minute", n: 1 })
  expect(unitOf(5400)).toEqual({ unit: "minute", n: 90 })
  expect(unitOf(7200)).toEqual({ unit: "hour", n: 2 })
  expect(unitOf(86400)).toEqual({ unit: "day", n: 1 })
  expect(unitOf(14 * 86400)).toEqual({ unit: "week", n: 2 })
})
