import { expect, test } from "vitest"
import { grow, take } from "./streamed.js"

test("parts go on where the text ends, by bytes; others wait for the next entry", () => {
  const shown = { replaced: 0, text: "héllo" }
  expect(grow(shown, { replaced: 0, offset: 6, text: " you" })).toEqual({ replaced: 0, text: "héllo you" })
  expect(grow(shown, { replaced: 0, offset: 5, text: "x" })).toBe(shown)
  expect(grow(shown, { replaced: 1, offset: 6, text: "x" })).toBe(shown)
})

test("an entry that says less of the same leaves what is shown, until it has ended", () => {
  const shown = { replaced: 0, text: "hello you" }
  expect(take(shown, { replaced: 0, text: "hello", streaming: true })).toBe(shown)
  expect(take(shown, { replaced: 0, text: "hello", streaming: false }).text).toBe("hello")
  expect(take(shown, { replaced: 1, text: "other", streaming: true })).toEqual({ replaced: 1, text: "other" })
})
