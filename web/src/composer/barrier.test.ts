import { expect, test } from "vitest"
import type { GroupState } from "../timeline/group.js"
import { barrierOf, slowFor, type About } from "./barrier.js"

const group = (more: object, mutedUntilMs = "0"): GroupState => ({
  group: { conversation: "grp:a", name: "A", owner: "ann", members: 2, createdAtMs: "0", role: "ROLE_MEMBER", ...more },
  members: new Map([["me", { user: "me", role: "ROLE_MEMBER", joinedAtMs: "0", mutedUntilMs }]]), error: undefined,
})
const about = (more: Partial<About>): About => ({
  dm: false, summary: { member: true, head: 1 }, shelf: undefined, group: group({}), me: "me", peerDeleted: false, refused: undefined, nowMs: 1000, ...more,
})

test("who may write, and why not", () => {
  expect(barrierOf(about({}))).toBeUndefined()
  expect(barrierOf(about({ summary: { member: false, head: 1 } }))?.why).toBe("left")
  expect(barrierOf(about({ group: group({}, "2000") }))).toEqual({ why: "muted", untilMs: 2000, react: false })
  expect(barrierOf(about({ group: group({}, "999") }))).toBeUndefined()
  expect(barrierOf(about({ group: group({ mutedAll: true }) }))?.why).toBe("muted_all")
  expect(barrierOf(about({ group: group({ whoMayPost: "GROUP_POWER_ADMINS" }) }))).toEqual({ why: "admins", react: true })
  expect(barrierOf(about({ group: group({ whoMayPost: "GROUP_POWER_ADMINS", role: "ROLE_ADMIN" }) }))).toBeUndefined()
  expect(barrierOf(about({ dm: true, peerDeleted: true }))?.why).toBe("deleted")
})

test("whoever is no contact is asked before a message is refused", () => {
  const fresh = about({ dm: true, summary: undefined })
  expect(barrierOf(fresh)?.why).toBe("stranger")
  expect(barrierOf({ ...fresh, summary: { member: true, head: 0 } })?.why).toBe("stranger")
  expect(barrierOf({ ...fresh, shelf: "asked" })?.why).toBe("asked")
  expect(barrierOf({ ...fresh, shelf: "asksMe" })?.why).toBe("asksMe")
  expect(barrierOf({ ...fresh, shelf: "contacts" })).toBeUndefined()
  expect(barrierOf({ ...fresh, shelf: "unknown" }), "the contacts are not read yet").toBeUndefined()
  const begun = about({ dm: true })
  expect(barrierOf(begun), "they let one write before").toBeUndefined()
  expect(barrierOf({ ...begun, refused: "not_contact" })?.why).toBe("stranger")
  expect(barrierOf({ ...begun, refused: "not_contact", shelf: "contacts" }), "they accepted: the message can be sent again").toBeUndefined()
})

test("slow mode has members wait, and no admins", () => {
  expect(slowFor(group({ slowModeS: 30 }), 1000, 11_000)).toBe(20_000)
  expect(slowFor(group({ slowModeS: 30 }), 1000, 31_000)).toBe(0)
  expect(slowFor(group({ slowModeS: 30, role: "ROLE_OWNER" }), 1000, 2000)).toBe(0)
  expect(slowFor(group({}), 1000, 2000)).toBe(0)
})
