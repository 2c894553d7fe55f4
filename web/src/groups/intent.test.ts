import { expect, test } from "vitest"
import { usernameOf } from "./intent.js"

test("a user name is made of what letters there are", () => {
  expect(usernameOf("Ada Lovelace")).toBe("ada.lovelace")
  expect(usernameOf("  Émile-Zola! ")).toBe("emile.zola")
  expect(usernameOf("李雷")).toBe("")
  expect(usernameOf("Al")).toBe("")
  expect(usernameOf("x".repeat(50))).toHaveLength(32)
})
