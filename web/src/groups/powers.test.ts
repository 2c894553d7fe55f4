import { expect, test } from "vitest"
import { actsOn, powersIn, type Group } from "./powers.js"

const group = (more: Partial<Group>): Group => ({ conversation: "grp:g", name: "g", owner: "ann", members: 3, createdAtMs: "0", ...more })

test("the owner and admins manage, the owner alone owns and cannot leave", () => {
  expect(powersIn(group({ role: "ROLE_OWNER" }))).toMatchObject({ manage: true, own: true, leave: false, add: true })
  expect(powersIn(group({ role: "ROLE_ADMIN" }))).toMatchObject({ manage: true, own: false, leave: true, add: true })
  expect(powersIn(group({ role: "ROLE_MEMBER" }))).toMatchObject({ manage: false, own: false, leave: true, add: false, nickname: true })
})

test("switches give members what they say, and take it", () => {
  expect(powersIn(group({ role: "ROLE_MEMBER", whoMayAdd: "GROUP_POWER_ALL" })).add).toBe(true)
  expect(powersIn(group({ role: "ROLE_MEMBER", mutedAll: true })).nickname).toBe(false)
  expect(powersIn(group({ role: "ROLE_MEMBER", whoMayPost: "GROUP_POWER_ADMINS" })).nickname).toBe(false)
  expect(powersIn(group({ role: "ROLE_ADMIN", mutedAll: true })).nickname).toBe(true)
  expect(powersIn(group({ role: "ROLE_ADMIN", join: "JOIN_MODE_OPEN" })).links).toBe(true)
  expect(powersIn(group({ role: "ROLE_ADMIN", join: "JOIN_MODE_INVITATION" })).links).toBe(false)
})

test("roles act on lesser roles only", () => {
  expect(actsOn("ROLE_OWNER", "ROLE_ADMIN")).toBe(true)
  expect(actsOn("ROLE_ADMIN", "ROLE_MEMBER")).toBe(true)
  for (const [mine, theirs] of [["ROLE_ADMIN", "ROLE_ADMIN"], ["ROLE_ADMIN", "ROLE_OWNER"], ["ROLE_MEMBER", "ROLE_MEMBER"], [undefined, "ROLE_MEMBER"]] as const) expect(actsOn(mine, theirs)).toBe(false)
})
