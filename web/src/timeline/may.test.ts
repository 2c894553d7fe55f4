import { expect, test } from "vitest"
import { mayOf, type Who } from "./may.js"
import { message } from "./testing.js"

const now = message(1).atMs + 60_000
const who: Who = { me: "me", dm: false, admin: false, mayWrite: true, inThread: false, pinByAdmins: true, members: 10, nowMs: now, editWindowMs: 120_000, recallWindowMs: 120_000 }

test("of others' messages a member may answer, react and forward", () => {
  expect(mayOf(message(1), who)).toEqual({ reply: true, thread: true, react: true, edit: false, recall: false, forward: true, copy: true, pin: false, readers: false, select: true, deleteForMe: true, report: true })
  expect(mayOf(message(1), { ...who, admin: true })).toMatchObject({ recall: true, pin: true, edit: false })
})

test("one's own may be edited and taken back for a while", () => {
  const own = message(1, { own: true })
  expect(mayOf(own, who)).toMatchObject({ edit: true, recall: true, readers: true, report: false })
  expect(mayOf(own, { ...who, nowMs: now + 120_000 })).toMatchObject({ edit: false, recall: false })
  for (const more of [{ type: "image" }, { forward: { sender: "x" } }, { streaming: true }, { recalled: true }]) expect(mayOf({ ...own, ...more }, who).edit).toBe(false)
  expect(mayOf(own, { ...who, members: 201 }).readers).toBe(false)
})

test("in a thread nothing is answered by a quotation, and no marks tell who has read", () => {
  expect(mayOf(message(1), { ...who, inThread: true })).toMatchObject({ reply: false, thread: false, select: false, react: true, forward: true, deleteForMe: true })
  expect(mayOf(message(2, { own: true, thread: 1 }), { ...who, inThread: true })).toMatchObject({ edit: true, recall: true, readers: false })
})

test("what is not stored, and where one may not write", () => {
  expect(Object.values(mayOf(message(0, { own: true, status: "pending" }), who)).some(Boolean)).toBe(false)
  expect(mayOf(message(1), { ...who, mayWrite: false })).toMatchObject({ reply: false, react: false, forward: true, copy: true })
})
