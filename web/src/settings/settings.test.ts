import { describe, expect, test } from "vitest"
import { SkeinError } from "@skein-im/client"
import { fromBase64url, sameBytes, toBase64url } from "./base64url.js"
import { blamed, fieldOf, sentence } from "./blame.js"
import { centred, mostZoom, moved, resultSide, squareOf, within } from "../people/crop.js"
import { dayToMs, localDay, localMinute, minuteToMs } from "./dates.js"
import { minutesOf, minuteText } from "./quiet.js"
import { wholeUnits } from "./spans.js"

describe("the square of a picture", () => {
  const wide = { width: 400, height: 200 }
  test("is as much as fits, in the middle", () => {
    expect(squareOf(wide, centred)).toEqual({ left: 100, top: 0, side: 200 })
  })
  test("never leaves the picture, however far it is moved", () => {
    for (const [dx, dy] of [[9, 9], [-9, -9], [9, -9], [0.3, 0]] as const) {
      for (const zoom of [1, 2.5, mostZoom]) {
        const { left, top, side } = squareOf(wide, moved(wide, { ...centred, zoom }, dx, dy))
        expect(left).toBeGreaterThanOrEqual(-1e-9)
        expect(top).toBeGreaterThanOrEqual(-1e-9)
        expect(left + side).toBeLessThanOrEqual(wide.width + 1e-9)
        expect(top + side).toBeLessThanOrEqual(wide.height + 1e-9)
      }
    }
  })
  test("follows the hand: moved by its whole side, it shows what was beside it", () => {
    const v = { ...centred, zoom: 4 }
    expect(squareOf(wide, moved(wide, v, 1, 0)).left).toBeCloseTo(squareOf(wide, v).left - 50)
  })
  test("zooms within bounds", () => {
    expect(within(wide, { ...centred, zoom: 99 }).zoom).toBe(mostZoom)
    expect(within(wide, { ...centred, zoom: 0.1 }).zoom).toBe(1)
  })
  test("has no more pixels than are seen", () => {
    expect(resultSide(wide, centred)).toBe(200)
    expect(resultSide({ width: 4000, height: 3000 }, centred)).toBe(640)
  })
})

describe("whose fault an error is", () => {
  const e = (code: string, field = ""): SkeinError => new SkeinError({ code, field })
  test("the field is the last of its path", () => {
    expect(fieldOf(e("invalid_argument", "user.displayName"))).toBe("displayName")
    expect(fieldOf(e("invalid_argument", "members[3]"))).toBe("members")
    expect(fieldOf(new Error("x"))).toBe("")
  })
  test("a field that the form does not have is nobody's", () => {
    expect(blamed(e("invalid_argument", "about"), ["displayName"])).toBe("")
  })
  test("a wrong password is the password's, a wrong code the code's where one was asked for", () => {
    expect(blamed(e("bad_credentials"), ["username", "password"])).toBe("password")
    expect(blamed(e("bad_credentials"), ["password", "code"])).toBe("code")
    expect(blamed(e("bad_credentials"), ["oldPassword", "newPassword"])).toBe("oldPassword")
    expect(blamed(e("bad_credentials"), ["note"])).toBe("")
  })
  test("what is taken is the user name", () => {
    expect(blamed(e("already_exists"), ["username"])).toBe("username")
    expect(blamed(e("already_exists"), ["password"])).toBe("")
  })
  test("what the server says becomes a sentence", () => {
    expect(sentence("must be short")).toBe("Must be short.")
    expect(sentence("Too long!")).toBe("Too long!")
  })
})

describe("times of the browser's fields", () => {
  test("go there and back", () => {
    const ms = new Date(2026, 10, 25, 15, 4).getTime()
    expect(localMinute(ms)).toBe("2026-11-25T15:04")
    expect(minuteToMs("2026-11-25T15:04")).toBe(ms)
    expect(localDay(ms)).toBe("2026-11-25")
  })
  test("a day is from its beginning to that of the next", () => {
    expect(dayToMs("2026-12-31")).toBe(new Date(2026, 11, 31).getTime())
    expect(dayToMs("2026-12-31", 1)).toBe(new Date(2027, 0, 1).getTime())
  })
  test("nothing, and nonsense, is none", () => {
    for (const t of ["", "2026", "yesterday"]) {
      expect(dayToMs(t)).toBeUndefined()
      expect(minuteToMs(t)).toBeUndefined()
    }
  })
})

test("a length of time is told in the largest whole unit", () => {
  expect(wholeUnits(48 * 3_600_000)).toEqual({ unit: "day", count: 2 })
  expect(wholeUnits(36 * 3_600_000)).toEqual({ unit: "hour", count: 36 })
  expect(wholeUnits(90 * 60_000)).toEqual({ unit: "minute", count: 90 })
  expect(wholeUnits(1)).toEqual({ unit: "minute", count: 1 })
})

test("bytes of a key go there and back", () => {
  const b = new Uint8Array([0, 255, 62, 63, 250, 1])
  expect(toBase64url(b.buffer)).toBe("AP8-P_oB")
  expect([...fromBase64url("AP8-P_oB")]).toEqual([...b])
  expect(sameBytes(b.buffer, fromBase64url("AP8-P_oB"))).toBe(true)
  expect(sameBytes(b.buffer, fromBase64url("AP8-P_oA"))).toBe(false)
  expect(sameBytes(null, b)).toBe(false)
})

test("quiet hours are minutes of the day", () => {
  expect(minuteText(22 * 60 + 5)).toBe("22:05")
  expect(minutesOf("22:05")).toBe(1325)
  expect(minutesOf("00:00")).toBe(0)
  for (const t of ["", "24:00", "7:00"]) expect(minutesOf(t)).toBeUndefined()
})
