import { expect, test } from "vitest"
import { joinUrl, madePassword, registrationUrl, resetUrl, usesLeft } from "./links.js"
import { retentionSeconds } from "./retentionTime.js"

test("codes in addresses are kept whole", () => {
  expect(registrationUrl("https://a.example", "a b&c")).toBe("https://a.example/register?invite=a%20b%26c")
  expect(resetUrl("https://a.example", "x/y")).toBe("https://a.example/reset?code=x%2Fy")
  expect(joinUrl("https://a.example", "abc")).toBe("https://a.example/join/abc")
})

test("what is left of a link", () => {
  expect(usesLeft({})).toBeUndefined()
  expect(usesLeft({ uses: 3, maxUses: 5 })).toBe(2)
  expect(usesLeft({ uses: 9, maxUses: 5 })).toBe(0)
})

test("a made password is long, of letters that do not look alike, and evenly random", () => {
  expect(madePassword()).toMatch(/^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/)
  expect(madePassword((n) => new Uint8Array(n).fill(0))).toBe("aaaa-aaaa-aaaa-aaaa")
  let turn = 0
  expect(madePassword((n) => new Uint8Array(n).fill(turn++ === 0 ? 255 : 1))).toBe("bbbb-bbbb-bbbb-bbbb") // 255 would favour the first letters
})

test("hours and days as seconds", () => {
  expect(retentionSeconds("2", "days")).toBe(172_800)
  expect(retentionSeconds("1", "hours")).toBe(3600)
  expect(retentionSeconds("x", "days")).toBe(0)
})
