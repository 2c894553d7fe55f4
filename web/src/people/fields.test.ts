import { expect, test } from "vitest"
import { SkeinError } from "@skein-im/client"
import { isOf, wordsOf } from "./fields.js"

const refused = (field: string, message = ""): SkeinError => new SkeinError({ code: "invalid_argument", field, message })

test("a field is known by its name, in either spelling, and in a list", () => {
  expect(isOf(refused("maxUses"), "max_uses")).toBe(true)
  expect(isOf(refused("group.display_name"), "displayName")).toBe(true)
  expect(isOf(refused("users[3]"), "users")).toBe(true)
  expect(isOf(refused("name"), "nickname")).toBe(false)
  expect(isOf(refused(""), "name")).toBe(false)
  expect(isOf(new Error("name"), "name")).toBe(false)
})

test("what is said of a field does not name it again", () => {
  expect(wordsOf(refused("maxUses", "maxUses must be at most 1000000"))).toBe("must be at most 1000000")
  expect(wordsOf(refused("name", "a name has no tricks"))).toBe("a name has no tricks")
})
