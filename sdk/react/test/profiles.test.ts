import { act } from "@testing-library/react"
import { expect, test } from "vitest"
import { useUser, useUsers, type User } from "../src/index.js"
import { hook, until, user, world, type Server } from "./world.js"

const getUsers = "skein.v1.UserService/GetUsers"
const names = (m: ReadonlyMap<string, User>) => [...m.values()].map((u) => u.displayName)

function people(s: Server, all: Map<string, string>): void {
  s.on(getUsers, ({ ids = [] }) => ({ users: ids.flatMap((id) => (all.has(id) ? [user(id, all.get(id))] : [])) }))
}

test("components that mount together ask together, and each user is asked once", async () => {
  const w = await world((s) => people(s, new Map([["bob", "Bob"], ["cara", "Cara"]])))
  const a = hook(w, () => [useUser("bob"), useUsers(["cara", "bob", "nobody"]), useUser(undefined)] as const, undefined)
  await until(() => expect(a.result.current[0]?.displayName).toBe("Bob"))
  expect(names(a.result.current[1])).toEqual(["Cara", "Bob"])
  expect(a.result.current[2]).toBeUndefined()
  const b = hook(w, () => useUsers(["bob", "nobody"]), undefined)
  expect(names(b.result.current)).toEqual(["Bob"])
  expect(w.server.calls(getUsers)).toEqual([{ ids: ["bob", "cara", "nobody"] }])
})

test("more than 200 users are asked in several calls", async () => {
  const ids = Array.from({ length: 450 }, (_, i) => `u${i}`)
  const w = await world((s) => people(s, new Map(ids.map((id) => [id, id.toUpperCase()]))))
  const { result } = hook(w, () => useUsers(ids), undefined)
  await until(() => expect(result.current.size).toBe(450))
  expect(w.server.calls(getUsers).map((r) => r.ids?.length)).toEqual([200, 200, 50])
})

test("a change of a profile that the feed tells of is shown; others' profiles stay the same objects", async () => {
  const all = new Map([["bob", "Bob"], ["cara", "Cara"], ["ann", "Ann"]])
  const event = (type: string, users: string[]) => ({ conversation: "me:ann", kind: "ENTRY_KIND_EVENT", event: { type: `EVENT_TYPE_${type}`, users } })
  const w = await world((s) => {
    people(s, all)
    s.store(event("CONTACT_ACCEPTED", ["bob"]))
  })
  const { result } = hook(w, () => [useUser("bob"), useUser("cara"), useUser("ann")] as const, undefined)
  await until(() => expect(result.current.map((u) => u?.displayName)).toEqual(["Bob", "Cara", "Ann"]))
  const cara = result.current[1]
  all.set("bob", "Robert")
  act(() => w.server.push(w.server.store(event("CONTACT_PROFILE_CHANGED", ["bob"]))))
  await until(() => expect(result.current[0]?.displayName).toBe("Robert"))
  expect(result.current[1]).toBe(cara)
  all.set("ann", "Anna")
  act(() => w.server.push(w.server.store(event("PROFILE_CHANGED", []))))
  await until(() => expect(result.current[2]?.displayName).toBe("Anna"))
})

test("a server that is busy is asked again when it says", async () => {
  let asked = 0
  const w = await world((s) =>
    s.on(getUsers, () => {
      if (++asked === 1) throw { code: "rate_limited", codeNumber: 0, retryAfterMs: 10 }
      return { users: [user("bob", "Bob")] }
    }),
  )
  const { result } = hook(w, () => useUser("bob"), undefined)
  await until(() => expect(result.current?.displayName).toBe("Bob"))
})

test("kept profiles are shown before the server answers, and new ones are kept", async () => {
  const saved: User[] = []
  const store = { load: () => Promise.resolve([user("bob", "Bob as he was")]), save: (u: readonly User[]) => Promise.resolve(void saved.push(...u)) }
  const w = await world((s) => people(s, new Map([["bob", "Bob"], ["cara", "Cara"]])), store)
  const shown: (string | undefined)[] = []
  const { result } = hook(w, () => {
    const u = useUsers(["bob", "cara"])
    shown.push(u.get("bob")?.displayName)
    return u
  }, undefined)
  await until(() => expect(names(result.current)).toEqual(["Bob", "Cara"]))
  expect(shown).toContain("Bob as he was")
  await until(() => expect(saved.map((u) => u.displayName).sort()).toEqual(["Bob", "Cara"]))
})
