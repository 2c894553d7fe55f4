import { i18n } from "@lingui/core"
import { expect, it } from "vitest"
import { shortTime } from "../conversations/when.js"
import { momentOf, timeOf } from "./format.js"

// It was 1:45 in Britain, from midnight to ten: a test that looks at the clock saw it at night alone.
it("tells the time as it is written where the reader is, at night as well", () => {
  i18n.loadAndActivate({ locale: "en", locales: ["en-GB", "en"], messages: {} })
  const night = new Date(2026, 0, 2, 1, 45).getTime()
  expect(timeOf(night)).toBe("01:45")
  expect(shortTime(night, night + 60_000)).toBe("01:45")
  expect(momentOf(night)).toMatch(/^2 Jan 2026.* 01:45$/)
})
