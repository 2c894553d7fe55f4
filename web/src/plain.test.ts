import { expect, test } from "vitest"
import { plain } from "./plain.js"

test("tags in values are text; what Trans itself writes stays", () => {
  expect(plain({ name: "<script>x</script>", place: "<0/>", n: 3 })).toEqual({ name: "<\u2060script>x<\u2060/script>", place: "<0/>", n: 3 })
})
