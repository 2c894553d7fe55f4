import { expect, test } from "vitest"
import { decode } from "./blurhash.js"

test("the example of the specification comes out in its colours", () => {
  const p = decode("LEHV6nWB2yk8pyo0adR*.7kCMdnj", 8, 6)!
  expect(p.length).toBe(8 * 6 * 4)
  expect(p[3]).toBe(255)
  expect([...p.slice(0, 3)].every((v) => v > 90 && v < 200)).toBe(true)
})

test("a hash of red alone is red everywhere", () => {
  expect([...decode("00TI:j", 2, 1)!]).toEqual([255, 0, 0, 255, 255, 0, 0, 255])
})

test("what is no hash has no pixels", () => {
  for (const s of ["", "LEHV6n", "LEHV6nWB2yk8pyo0adR*.7kCMdnjX", 'LEHV6nWB2yk8pyo0adR*.7kCMd"j']) expect(decode(s, 4, 4)).toBeUndefined()
})
