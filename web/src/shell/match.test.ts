import { expect, it } from "vitest"
import { fits } from "./match.js"

it("finds by the beginning of the name, then of a word, then anywhere; case and accents do not count", () => {
  expect(fits("Hiking on Sunday", "hik")).toBe(4)
  expect(fits("Hiking on Sunday", "SUN")).toBe(3)
  expect(fits("Hiking on Sunday", "king")).toBe(2)
  expect(fits("Hiking on Sunday", "xyz")).toBe(0)
  expect(fits("Élodie Đặng", "elo")).toBe(4)
  expect(fits("产品讨论", "讨论")).toBe(2)
  expect(fits("anything", "  ")).toBe(1)
})
