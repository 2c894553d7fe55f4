import { groupEvents } from "../../../sdk/typescript/src/wire.js"
import { expect, test } from "vitest"
import { changesOf, lineOf, spanOf } from "./events.js"

const line = (type: string, more: object = {}, sender = "ann") => lineOf({ sender, event: { type: `EVENT_TYPE_${type}`, ...more } })

test("every event of a conversation that the SPEC has says something", () => {
  for (const type of groupEvents) expect(line(type, { users: ["bob"] }), type).toBeDefined()
  expect(line("SOMETHING_LATER")).toBeUndefined()
})

test("who joined by themselves was not added", () => {
  expect(line("MEMBER_ADDED", { users: ["ann"] })).toEqual({ t: "joined", who: "ann" })
  expect(line("MEMBER_ADDED", { users: ["bob", "cat"] })).toEqual({ t: "added", by: "ann", users: ["bob", "cat"] })
})

test("removed, banned, muted and not any more", () => {
  expect(line("MEMBER_REMOVED", { users: ["bob"] })).toEqual({ t: "removed", by: "ann", users: ["bob"] })
  expect(line("MEMBER_REMOVED", { users: ["bob"], banned: true, text: "spam" })).toEqual({ t: "banned", by: "ann", users: ["bob"], untilMs: 0, reason: "spam" })
  expect(line("MEMBER_MUTED", { users: ["bob"], untilMs: 5 })).toEqual({ t: "muted", by: "ann", users: ["bob"], untilMs: 5 })
  expect(line("MEMBER_MUTED", { users: ["bob"] })).toEqual({ t: "unmuted", by: "ann", users: ["bob"] })
})

test("each setting of a group that changed", () => {
  expect(changesOf({ whoMayPost: "GROUP_POWER_ADMINS", slowModeS: 30, announcement: "", mutedAll: true, join: "JOIN_MODE_OPEN", history: "GROUP_HISTORY_ALL" })).toEqual([
    { what: "announcement", set: false, text: "" }, { what: "who_may_post", power: "admins" }, { what: "join", how: "open" }, { what: "history", all: true },
    { what: "muted_all", on: true }, { what: "slow_mode", seconds: 30 },
  ])
  expect(changesOf({})).toEqual([{ what: "other" }])
})

test("times in the largest unit that they fill", () => {
  expect([30, 60, 5400, 7200, 604_800].map(spanOf)).toEqual([{ n: 30, unit: "second" }, { n: 1, unit: "minute" }, { n: 90, unit: "minute" }, { n: 2, unit: "hour" }, { n: 7, unit: "day" }])
})
