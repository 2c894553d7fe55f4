import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as after } from "node:timers/promises"
import { Client, MemoryStore, type ClientOptions, type Message, type Thread } from "../src/index.js"
import type { Core } from "../src/core.js"
import { refreshThreads } from "../src/threads.js"
import { FakeServer } from "./fake.js"
import { login, next, shown, withServer } from "./server.js"

async function until(what: string, f: () => Promise<boolean> | boolean): Promise<void> {
  for (let n = 0; n < 200; n++) {
    if (await f()) return
    await after(50)
  }
  assert.fail(what)
}

/** What a client with that store shows of a thread without a server. */
async function offline(o: ClientOptions, id: string, root: number, before = 0, limit = 50): Promise<{ thread: Thread; replies: Message[]; next: number }> {
  const c = new Client({ ...o, url: "ws://127.0.0.1:1/ws" })
  try {
    const r = await c.conversation(id).thread(root, before, limit, AbortSignal.timeout(5000))
    assert.equal(r.thread.kept, true)
    return r
  } finally {
    await c.close()
  }
}

const texts = (r: { replies: Message[] }): string[] => r.replies.map((m) => m.text)

test("a thread that was read is shown without a connection, and brought up to date when it is back", { timeout: 90_000 }, async () => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = client(a.options)
    const store = new MemoryStore()
    const mine = { ...b.options, store }
    let bob = client(mine)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const hers = ann.conversation(id)
    const root = (await hers.send("who comes?")).seq
    const other = (await hers.send("where?")).seq
    const one = (await hers.send("one", { thread: root })).seq
    const two = (await hers.send("two", { thread: root })).seq
    await shown(bob, id, (ms) => ms.some((m) => m.seq === other) && ms.some((m) => m.seq === root && m.replies?.count === 2))
    const read = await bob.conversation(id).thread(two)
    assert.deepEqual([texts(read), read.thread.kept, read.thread.unread], [["one", "two"], false, 2])

    // Live.
    const last = next(bob, "thread", (e) => e.message?.text === "three")
    await hers.edit(one, "One")
    await hers.react(one, "+")
    await hers.recall(two)
    await bob.conversation(id).send("mine", { thread: root })
    await hers.send("both", { thread: root, alsoInMain: true })
    await hers.send("three", { thread: root })
    await last
    await bob.close()
    const kept = await offline(mine, id, one)
    assert.deepEqual([texts(kept), kept.next], [["One", "mine", "both", "three"], 0])
    assert.deepEqual([kept.replies[0]?.reactions.length, kept.replies[0]?.editedAtMs !== 0, kept.replies.every((m) => m.thread === root && m.replies === undefined)], [1, true, true])
    assert.deepEqual([kept.thread.root.seq, kept.thread.root.replies?.count, kept.thread.unread, kept.thread.follows, kept.thread.last], [root, 4, 2, true, kept.replies[3]?.seq])
    const page = await offline(mine, id, root, 0, 1)
    assert.deepEqual([texts(page), page.next], [["three"], kept.replies[3]?.seq])
    assert.deepEqual(texts(await offline(mine, id, root, page.next, 2)), ["mine", "both"])

    // While nobody looks.
    await hers.edit(one, "ONE")
    await hers.send("four", { thread: root })
    await hers.send("elsewhere", { thread: other })
    bob = client(mine)
    await bob.connected()
    await until("it is not read again", async () => (await store.load()).threads.every((t) => !t.stale && t.replies.length === 5))
    const secret = await hers.send("secret", { thread: root })
    await next(bob, "thread", (e) => e.message?.text === "secret")
    await bob.conversation(id).deleteForMe(secret.seq)
    await until("it is kept", async () => !JSON.stringify((await store.load()).threads).includes("secret"))
    await bob.conversation(id).setMyState({ thread: { root: String(root), read: String(kept.thread.last), follow: false } })
    await bob.close()
    const now = await offline(mine, id, root)
    assert.deepEqual([texts(now), now.thread.unread, now.thread.follows], [["ONE", "mine", "both", "three", "four"], 1, false])

    // What the user clears is nowhere.
    bob = client(mine)
    await bob.connected()
    await bob.conversation(id).setMyState({ clearedBelow: String(root + 1) })
    await until("a thread without a root is kept", async () => (await store.load()).threads.length === 0)
  })
})

test("of threads few are kept, and of each its end", { timeout: 90_000 }, async () => {
  await withServer(async (s, client) => {
    const { options, user } = await login(s.http, "ann")
    const store = new MemoryStore()
    const c = client({ ...options, store })
    await c.connected()
    const notes = c.dm(user)
    const roots: number[] = []
    for (let n = 0; n < 66; n++) roots.push((await notes.send(`root ${n}`)).seq)
    const root = roots[0]!
    await notes.thread(root)
    await Promise.all(Array.from({ length: 210 }, (_, n) => notes.send(`r${n}`, { thread: root })))
    await until("not all came", async () => (await store.load()).threads[0]?.replies.length === 200)
    const [t] = (await store.load()).threads
    assert.deepEqual([t?.before, t?.stale, t?.replies.at(-1)?.content?.text], [t?.replies[0]?.seq, false, "r209"])
    const big = "x".repeat(60_000)
    for (let n = 0; n < 6; n++) await notes.send(big, { thread: root })
    await until("they are too large", async () => (await store.load()).threads[0]?.replies.length === 4)
    for (const r of roots.slice(1)) await notes.thread(r)
    await until("too many are kept", async () => (await store.load()).threads.length === 64)
    assert.deepEqual((await store.load()).threads.map((x) => x.root).sort((x, y) => x - y), roots.slice(2))
  })
})

test("a thread that is asked for as the connection is cut is shown as it is kept, at once, and is brought up to date afterwards", { timeout: 30_000 }, async () => {
  const s = new FakeServer()
  const id = "dm:ann:bob"
  const said = (text: string, more: object = {}): void => s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text }, ...more }))
  said("root")
  const reply = { kind: "ENTRY_KIND_THREAD_REPLY", target: 1, thread: 1 } as const
  said("one", reply)
  let cut = false
  let asked = 0
  s.onCall = (socket) => {
    asked++
    const [root, ...entries] = s.journal.get(id) ?? []
    if (!cut) return { thread: { root, last: String(entries.at(-1)?.seq ?? 0) }, entries }
    socket.end(1006)
    return undefined
  }
  const real = s.webSocket("ann")
  const nowhere = (): never => {
    throw new Error("there is no network")
  }
  const store = new MemoryStore()
  const c = new Client({
    url: "ws://server.example/ws", getToken: () => "token", store, device: { id: "device", class: "DEVICE_CLASS_WEB" },
    WebSocket: function (url: string) { return cut ? nowhere() : new real(url, []) } as unknown as ClientOptions["WebSocket"],
  })
  try {
    await c.connected()
    const v = c.conversation(id)
    assert.deepEqual(texts(await v.thread(1)), ["one"])
    cut = true
    const r = await v.thread(1, 0, 50, AbortSignal.timeout(2000))
    assert.deepEqual([texts(r), r.thread.kept, asked], [["one"], true, 2])
    await assert.rejects(v.thread(2000, 0, 50, AbortSignal.timeout(50)), (e: Error) => e.name === "TimeoutError", "what is not kept waits")
    said("two", reply)
    cut = false
    c.reconnect()
    await until("it is not read again", async () => (await store.load()).threads[0]?.replies.map((e) => e.content?.text).join() === "one,two")
  } finally {
    await c.close()
  }
})

test("a thread that the server refuses just before the cut is refused, though it is kept", { timeout: 30_000 }, async () => {
  const s = new FakeServer()
  const id = "dm:ann:bob"
  const said = (text: string, more: object = {}): void => s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text }, ...more }))
  said("root")
  said("one", { kind: "ENTRY_KIND_THREAD_REPLY", target: 1, thread: 1 })
  s.onCall = () => {
    const [root, ...entries] = s.journal.get(id) ?? []
    return { thread: { root, last: "2" }, entries }
  }
  let cut = false
  const take = s.take.bind(s)
  s.take = (socket, f) => {
    if (!cut || f.call === undefined) return take(socket, f)
    socket.tell({ result: { number: f.call.number, error: { code: "not_found" } } })
    queueMicrotask(() => socket.end(1006)) // right behind the answer: both are there before who asked goes on
  }
  const real = s.webSocket("ann")
  const nowhere = (): never => {
    throw new Error("there is no network")
  }
  const c = new Client({
    url: "ws://server.example/ws", getToken: () => "token", device: { id: "device", class: "DEVICE_CLASS_WEB" },
    WebSocket: function (url: string) { return cut ? nowhere() : new real(url, []) } as unknown as ClientOptions["WebSocket"],
  })
  try {
    await c.connected()
    const v = c.conversation(id)
    assert.deepEqual(texts(await v.thread(1)), ["one"])
    cut = true
    await assert.rejects(v.thread(1, 0, 50, AbortSignal.timeout(2000)), (e: Error & { code?: string }) => e.code === "not_found")
    const r = await v.thread(1, 0, 50, AbortSignal.timeout(2000))
    assert.deepEqual([texts(r), r.thread.kept], [["one"], true], "without a connection it is there")
  } finally {
    await c.close()
  }
})

test("without a connection no time stands that is over: turns would follow each other without end", () => {
  for (const state of ["connecting", "waiting", "stopped", "closed"]) {
    const k = { threadsAt: 5, refreshing: false, state, closeAt: 0, threads: new Map(), refusedThreads: new Set() } as unknown as Core
    refreshThreads(k, 4)
    assert.equal(k.threadsAt, 5, "its time has not come")
    refreshThreads(k, 6)
    assert.equal(k.threadsAt, 0, state)
  }
})
