import { expect, it } from "vitest"
import { hueOf, initialsOf } from "./people.js"

it("takes the first letters of names, and the last two characters of Chinese ones", () => {
  expect(initialsOf("Ann Liu")).toBe("AL")
  expect(initialsOf("ann")).toBe("A")
  expect(initialsOf("  Ann  van  Dyck ")).toBe("AD")
  expect(initialsOf("王小明")).toBe("小明")
  expect(initialsOf("👩‍🚀 Neil")).toBe("👩‍🚀N")
  expect(initialsOf("Tomás (climbing)")).toBe("TC")
  expect(initialsOf("Ann -")).toBe("A")
  expect(initialsOf("")).toBe("?")
})

it("gives an id the same colour always, and many ids all colours", () => {
  expect(hueOf("ann")).toBe(hueOf("ann"))
  expect(new Set(Array.from({ length: 400 }, (_, i) => hueOf(`u${i}`))).size).toBe(12)
})
