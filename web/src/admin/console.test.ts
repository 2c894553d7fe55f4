import type { ChatClient } from "@skein-im/client"
import { describe, expect, test } from "vitest"
import { isPage, may, mayActOn, pages, roles, type Act, type Role } from "./access.js"
import { accountNamed, accountOf, asked, banUntil, viewOf, views } from "./accounts.js"
import { askedOf, detailOf, exportLines, readFilters, targetOf } from "./audit.js"
import { changed, trail } from "./query.js"
import { saidIn, stateOf } from "./reports.js"
import { nameFrom, namesFrom } from "./stickerNames.js"

const [none, auditor, moderator, admin, owner] = roles as [Role, Role, Role, Role, Role]

/** A server that answers one method from a list, in pages. */
function serverOf<T>(all: readonly T[], name: string, heard: Record<string, unknown>[] = []): ChatClient["call"] {
  return (async (_: string, r: { limit?: number; cursor?: string }) => {
    heard.push(r)
    const from = Number(r.cursor || 0)
    const to = from + (r.limit ?? 100)
    return { [name]: all.slice(from, to), next: to < all.length ? String(to) : "" }
  }) as unknown as ChatClient["call"]
}

describe("what a role may", () => {
  test("the console shows of each role what docs/administration.md says", () => {
    const table: Record<Act, readonly boolean[]> = { // none, auditor, moderator, admin, owner
      look: [false, true, true, true, true], audit: [false, true, false, true, true], moderate: [false, false, true, true, true], manage: [false, false, false, true, true], roles: [false, false, false, false, true],
    }
    for (const [act, row] of Object.entries(table)) expect(roles.map((r) => may(r, act as Act)), act).toEqual(row)
    expect(may(undefined, "look")).toBe(false)
    expect(Object.keys(pages).filter((p) => isPage(p) && may(auditor, pages[p]))).toEqual(["overview", "health", "users", "groups", "audit", "links", "filters", "retention"])
    expect(Object.keys(pages).filter((p) => isPage(p) && may(moderator, pages[p]))).toEqual(["overview", "health", "users", "groups", "reports", "links", "filters", "retention"])
    expect(isPage("constructor")).toBe(false)
  })
  test("nobody acts on who has no lesser role, but owners", () => {
    for (const mine of [auditor, moderator, admin]) for (const theirs of roles) expect(mayActOn(mine, theirs), `${mine} on ${theirs}`).toBe(roles.indexOf(theirs) < roles.indexOf(mine))
    for (const theirs of roles) expect(mayActOn(owner, theirs)).toBe(true)
    expect(mayActOn(moderator, undefined)).toBe(true)
    expect(mayActOn(none, undefined)).toBe(false)
    expect(mayActOn(undefined, none)).toBe(false)
  })
})

describe("the address", () => {
  test("a change of what is looked at begins at the first page; the cursor of the next is kept", () => {
    expect(changed("?q=ann&at=50", { view: "banned" })).toBe("?q=ann&view=banned")
    expect(changed("?q=ann&at=50", { at: "100" })).toBe("?q=ann&at=100")
    expect(changed("?q=ann&at=50", { q: "" })).toBe("")
    expect(changed("", { by: "a b&c" })).toBe("?by=a+b%26c")
  })
  test("of the browser's history only what was put there counts", () => {
    expect(trail({ back: ["", "50"] })).toEqual(["", "50"])
    for (const odd of [null, undefined, 7, {}, { back: "x" }, { back: [1] }]) expect(trail(odd)).toEqual([])
  })
  test("filters of the log are read with care, and asked as they are", () => {
    const read = (q: string): ReturnType<typeof readFilters> => { const s = new URLSearchParams(q); return readFilters((n) => s.get(n) ?? "") }
    expect(read("kind=sign-in&span=day&failed=1&target=u1")).toEqual({ kind: "sign-in", span: "day", by: "", target: "u1", action: "", failed: true })
    expect(read("kind=x&span=y&by=<img>&failed=2")).toEqual({ kind: "", span: "all", by: "", target: "", action: "", failed: false })
    expect(askedOf(read(""), 1000)).toEqual({})
    expect(askedOf(read("kind=admin&span=week&by=u2&action=AdminService/BanUser"), 700_000_000)).toEqual({ kind: "AUDIT_KIND_ADMIN", fromMs: String(700_000_000 - 7 * 86_400_000), by: "u2", action: "AdminService/BanUser" })
  })
  test("views and states that are none are the first", () => {
    expect(views.map(viewOf)).toEqual([...views])
    expect(viewOf("toString")).toBe("all")
    expect(stateOf("nothing")).toBe("open")
    expect(asked("banned")).toEqual({ state: "ACCOUNT_STATE_BANNED" })
    expect(asked("all")).toEqual({})
  })
})

describe("accounts", () => {
  const users = Array.from({ length: 1200 }, (_, i) => ({ user: { id: `id${String(i).padStart(4, "0")}`, username: `user${i}` } }))
  test("one is found by id or user name, behind others whose names begin so", async () => {
    const heard: Record<string, unknown>[] = []
    const call = serverOf(users, "accounts", heard)
    expect((await accountOf(call, "id1100"))?.user?.username).toBe("user1100")
    expect(heard.length).toBe(3)
    expect(await accountOf(call, "user1")).toBeUndefined() // a name is no id
    expect((await accountNamed(call, " @USER7 "))?.user?.id).toBe("id0007")
    expect(await accountNamed(call, "nobody")).toBeUndefined()
    const twin = serverOf([{ user: { id: "other", username: "id1100" } }, ...users], "accounts")
    expect((await accountNamed(twin, "id1100"))?.user?.id).toBe("id1100") // on a later page than who is called so
    expect((await accountNamed(twin, "@id1100"))?.user?.id).toBe("other") // with an @ it is a name
    expect(await accountNamed(call, "@id1100")).toBeUndefined()
    const before = heard.length
    expect(await accountNamed(call, " ")).toBeUndefined()
    expect(heard.length).toBe(before) // nothing is asked
  })
  test("until when a ban is", () => {
    expect(banUntil("hour", undefined, 1000)).toBe(3_601_000)
    expect(banUntil("ever", undefined, 1000)).toBe(0)
    expect(banUntil("until", 5000, 1000)).toBe(5000)
    expect(banUntil("until", 1000, 1000)).toBeUndefined()
    expect(banUntil("until", undefined, 1000)).toBeUndefined()
  })
})

describe("the audit log", () => {
  test("what a line was done to leads to its page", () => {
    expect(targetOf({ action: "AdminService/BanUser", target: "u1" } as never)).toEqual({ t: "user", id: "u1" })
    expect(targetOf({ action: "login", kind: "AUDIT_KIND_SIGN_IN", target: "u1" } as never)).toEqual({ t: "user", id: "u1" })
    expect(targetOf({ action: "AdminService/CloseGroup", target: "grp:x" } as never)).toEqual({ t: "group", id: "grp:x" })
    expect(targetOf({ action: "AdminService/DecideReport", target: "r1" } as never)).toEqual({ t: "report", id: "r1" })
    expect(targetOf({ action: "AdminService/Unheard", target: "x" } as never)).toEqual({ t: "other", id: "x" })
    expect(targetOf({ action: "AdminService/SetServerSettings" } as never)).toBeUndefined()
  })
  test("a detail is laid out, and shown as it is where it is no JSON", () => {
    expect(detailOf('{"user":"u1"}')).toBe('{\n  "user": "u1"\n}')
    expect(detailOf("cut off {")).toBe("cut off {")
  })
  test("the export reads all pages, the oldest first, and writes a line for each; a bound is told", async () => {
    const entries = Array.from({ length: 2500 }, (_, i) => ({ id: String(i), atMs: String(i) }))
    const heard: Record<string, unknown>[] = []
    const progress: number[] = []
    const got = await exportLines(serverOf(entries, "entries", heard), { by: "u1" }, new AbortController().signal, (n) => progress.push(n))
    expect(got.lines).toBe(2500)
    expect(got.more).toBe(false)
    expect(progress).toEqual([1000, 2000, 2500])
    expect(heard.every((r) => r["by"] === "u1" && r["oldestFirst"] === true)).toBe(true)
    const lines = got.parts.join("").split("\n")
    expect(lines.pop()).toBe("")
    expect(lines.map((l) => (JSON.parse(l) as { id: string }).id)).toEqual(entries.map((e) => e.id))
    const some = await exportLines(serverOf(entries, "entries"), {}, new AbortController().signal, () => undefined, 1500)
    expect([some.lines, some.more]).toEqual([1500, true])
    expect((await exportLines(serverOf([], "entries"), {}, new AbortController().signal, () => undefined)).parts).toEqual([])
  })
})

describe("what stands around a reported message", () => {
  const entry = (more: object): never => ({ conversation: "grp:x", seq: "1", id: "", storedAtMs: "1", kind: "ENTRY_KIND_MESSAGE", ...more }) as never
  test("messages say what they say, others what they are", () => {
    expect(saidIn(entry({ content: { type: "text", text: "hi <b>" } }))).toEqual({ t: "text", text: "hi <b>" })
    expect(saidIn(entry({ kind: "ENTRY_KIND_THREAD_REPLY", content: { type: "text", text: "in a thread" } }))).toEqual({ t: "text", text: "in a thread" })
    expect(saidIn(entry({ content: { type: "file", text: JSON.stringify({ media: "A".repeat(26), mime: "text/plain", bytes: 3, name: "a.txt", caption: "read" }) } }))).toEqual({ t: "thing", type: "file", text: "a.txt · read" })
    expect(saidIn(entry({ content: { type: "x-new", fallback: "a new thing" } }))).toEqual({ t: "text", text: "a new thing" })
    expect(saidIn(entry({ recalled: true }))).toEqual({ t: "recalled" })
    expect(saidIn(entry({}))).toEqual({ t: "recalled" })
    expect(saidIn(entry({ kind: "ENTRY_KIND_EVENT", event: { type: "EVENT_TYPE_MEMBER_LEFT", users: ["u1"] } }))).toEqual({ t: "event", what: "left", users: ["u1"] })
    expect(saidIn(entry({ kind: "ENTRY_KIND_EVENT", event: { type: "EVENT_TYPE_GROUP_RENAMED" } }))).toEqual({ t: "event", what: "other", users: [] })
    expect(saidIn(entry({ kind: "ENTRY_KIND_REACTION" }))).toBeUndefined()
  })
})

test("files become names of stickers, each its own", () => {
  expect(nameFrom("Grey Goose!.PNG")).toBe("grey_goose")
  expect(nameFrom("鹅.png")).toBe("")
  expect(nameFrom("Éclair.webp")).toBe("eclair")
  expect(namesFrom(["a.png", "A.gif", "鹅.png", "雁.png"])).toEqual(["a", "a_2", "sticker", "sticker_2"])
  expect(namesFrom([`${"x".repeat(40)}.png`, `${"x".repeat(40)}.gif`]).every((n) => /^[a-z0-9_+-]{1,32}$/.test(n))).toBe(true)
})
