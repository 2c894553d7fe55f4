import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { Client, MemoryStore, type ClientOptions } from "../src/index.js"
import { FakeServer } from "./fake.js"

const id = "dm:ann:bob"
const begin = 1_760_000_000_000

/** The clock and the timers are moved by the test alone. */
function clock(t: TestContext): (seconds: number) => Promise<void> {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: begin })
  return async (seconds) => {
    await settled()
    for (let n = 0; n < seconds; n++) {
      t.mock.timers.tick(1000)
      await settled()
    }
  }
}

/** What follows from what happened has happened: nothing in these tests waits for anything but microtasks. */
async function settled(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((done) => setImmediate(done))
}

const options = (s: FakeServer, store: MemoryStore): ClientOptions => ({ url: "ws://x/ws", getToken: () => "t", store, WebSocket: s.webSocket("ann"), device: { id: "d" }, random: () => 0 })

/** A server with a message, a period of 60 s and, later, messages in it; its clock is five minutes ahead. */
function server(): FakeServer {
  const s = new FakeServer()
  s.ahead = 300_000
  s.store({ conversation: id, sender: "bob", content: { type: "text", text: "before" } })
  return s
}

const say = (s: FakeServer, text: string, mentions: string[] = []): void => s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text }, mentions }))
const period = (s: FakeServer, lifetimeS: number): void => s.push(s.store({ conversation: id, sender: "bob", kind: "ENTRY_KIND_EVENT", event: { type: "EVENT_TYPE_LIFETIME_CHANGED", lifetimeS } }))
const texts = (c: Client): string[] => c.conversation(id).messages.getSnapshot().map((m) => (m.kind === "event" ? "*" : m.text))

test("what disappears is taken away by the client's own clock, corrected by the server's", async (t) => {
  const after = clock(t)
  const s = server()
  const store = new MemoryStore()
  const c = new Client(options(s, store))
  const gone: object[] = []
  c.on("gone", (e) => gone.push(e))
  await c.connected()
  period(s, 60)
  say(s, "first", ["ann"])
  await after(30)
  say(s, "second")
  await after(29)
  const unread = (): number[] => [c.conversation(id).summary.getSnapshot()?.unread ?? -1, c.conversation(id).summary.getSnapshot()?.unreadMentions ?? -1]
  assert.deepEqual(texts(c), ["before", "*", "first", "second"])
  assert.deepEqual([gone, unread()], [[], [3, 1]])
  await after(1)
  assert.deepEqual(texts(c), ["before", "*", "second"])
  assert.deepEqual([gone, unread()], [[{ conversation: id, from: 3, to: 3 }], [2, 0]])
  assert.equal((await store.entries(id)).find((e) => e.seq === 3)?.content, undefined, "nor does the store have it")

  period(s, 0)
  say(s, "stays")
  await after(30)
  assert.deepEqual(texts(c), ["before", "*", "*", "stays"])
  assert.equal(gone.length, 2)
  await after(3600)
  assert.deepEqual(texts(c), ["before", "*", "*", "stays"])
  assert.deepEqual(unread(), [2, 0])
  assert.equal(gone.length, 2)
  await c.conversation(id).markRead()
  assert.deepEqual(unread(), [0, 0])
  void c.close()
  await after(3)
})

test("what disappeared while no client ran is shown by none, and told by no event", async (t) => {
  const after = clock(t)
  const s = server()
  const store = new MemoryStore()
  const c = new Client(options(s, store))
  await c.connected()
  period(s, 60)
  say(s, "first")
  await after(1)
  assert.deepEqual(texts(c), ["before", "*", "first"])
  void c.close()
  await after(3)
  assert.equal(c.state.getSnapshot().state, "closed")
  await after(70)

  // Without a connection, and by its own clock: that of the server is not known yet.
  const late = new Client({ ...options(s, store), autoConnect: false })
  const told: string[] = []
  late.on("message", (m) => told.push(m.text))
  late.on("gone", (e) => told.push(`gone ${e.from}..${e.to}`))
  await late.conversation(id).load()
  await after(300)
  assert.deepEqual(texts(late), ["before", "*"])
  assert.equal(late.conversation(id).summary.getSnapshot()?.last?.kind, "event")
  assert.deepEqual(told, ["gone 3..3"])

  // The server tells the same by windows.
  s.more = () => ({ firstSeq: 5, earlier: [{ firstSeq: 1, untilSeq: 2, hidden: 1 }], fromSeq: 5, lifetimes: [{ after: 2, until: 4, lifetimeS: 60 }], unread: 2, entries: s.journal.get(id)!.slice(4) })
  period(s, 0)
  say(s, "on")
  void late.connect()
  await after(2)
  assert.equal(late.state.getSnapshot().state, "connected")
  assert.deepEqual(texts(late).filter((x) => x !== "*"), ["before", "on"])
  void late.close()
  await after(3)
})

test("a clock that was wrong is corrected by the server's, and what is gone by that goes at once", async (t) => {
  const after = clock(t)
  const s = server()
  const c = new Client(options(s, new MemoryStore()))
  await c.connected()
  period(s, 60)
  say(s, "first")
  await after(20)
  assert.deepEqual(texts(c), ["before", "*", "first"])
  s.ahead += 45_000
  await after(15) // by then there was a Ping
  assert.deepEqual(texts(c), ["before", "*"])
  void c.close()
  await after(3)
})

test("what arrives when it is gone already is neither shown nor told nor unread", async (t) => {
  const after = clock(t)
  const s = server()
  const c = new Client(options(s, new MemoryStore()))
  const told: string[] = []
  c.on("message", (m) => told.push(m.text))
  await c.connected()
  period(s, 60)
  await after(1)
  s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text: "late" }, storedAtMs: s.now() - 61_000 }))
  await after(1)
  assert.deepEqual([texts(c), told, c.conversation(id).summary.getSnapshot()?.unread], [["before", "*"], [], 1])
  void c.close()
  await after(3)
})

test("a floor that rises takes away what lies up to it, also where that is all there is", async (t) => {
  const after = clock(t)
  const s = server()
  const store = new MemoryStore()
  const c = new Client(options(s, store))
  const gone: object[] = []
  c.on("gone", (e) => gone.push(e))
  await c.connected()
  say(s, "second", ["ann"])
  say(s, "third")
  await after(1)
  const rises = async (seq: number, count: number): Promise<void> => {
    for (const one of s.sockets) one.tell({ floor: { conversation: id, seq, count } })
    await after(1)
  }
  const shown = (): unknown[] => {
    const line = c.conversation(id).summary.getSnapshot()
    return [texts(c), line?.unread, line?.unreadMentions, line?.last?.text, line?.complete]
  }
  assert.deepEqual(shown(), [["before", "second", "third"], 3, 1, "third", true])
  await rises(1, 1)
  assert.deepEqual(shown(), [["second", "third"], 2, 1, "third", true])
  await rises(1, 1)
  await rises(3, 3)
  assert.deepEqual(shown(), [[], 0, 0, undefined, true])
  assert.deepEqual(gone, [{ conversation: id, from: 1, to: 1 }, { conversation: id, from: 2, to: 3 }])
  assert.deepEqual(await store.entries(id), [])
  say(s, "fourth")
  await after(1)
  assert.deepEqual(shown(), [["fourth"], 1, 0, "fourth", true])
  void c.close()
  await after(3)
})

test("a floor between two times of membership has the server asked what is left", async (t) => {
  const after = clock(t)
  const s = server()
  const c = new Client(options(s, new MemoryStore()))
  await c.connected()
  for (const text of ["2", "3", "4", "5", "6"]) say(s, text)
  await after(1)
  const all = s.journal.get(id)!
  s.more = () => ({ firstSeq: 5, earlier: [{ firstSeq: 1, untilSeq: 2, hidden: 2 }], fromSeq: 5, unread: 4, entries: all.slice(4) })
  for (const one of s.sockets) one.tell({ resync: {} })
  say(s, "7")
  await after(2)
  s.more = () => ({ firstSeq: 5, fromSeq: 7, unread: 3, entries: all.slice(6), floor: 3 })
  for (const one of s.sockets) one.tell({ floor: { conversation: id, seq: 3, count: 3 } })
  await after(10)
  assert.deepEqual([texts(c), c.conversation(id).summary.getSnapshot()?.unread], [["5", "6", "7"], 3])
  void c.close()
  await after(3)
})

test("what disappears, or is not kept any more, goes from the threads that are kept", async (t) => {
  const after = clock(t)
  const s = server()
  const store = new MemoryStore()
  const c = new Client(options(s, store))
  await c.connected()
  period(s, 60)
  say(s, "first")
  await after(1)
  void c.close()
  await after(3)
  const [root, , reply] = await store.entries(id)
  const thread = { root: root!, last: 3, follows: false, unread: 1, read: 0 }
  await store.apply([{ op: "thread", record: { conversation: id, root: 1, thread, replies: [reply!], before: 0, stale: false, used: 1 } }])
  const kept = async (): Promise<unknown> => (await store.load()).threads.map((x) => [x.replies.length, x.thread.unread])
  const next = new Client(options(s, store))
  await next.connected()
  await after(54)
  assert.deepEqual(await kept(), [[1, 1]])
  await after(3)
  assert.deepEqual(await kept(), [[0, 0]])
  for (const socket of s.sockets) socket.tell({ floor: { conversation: id, seq: 1, count: 1 } })
  await after(2)
  assert.deepEqual(await kept(), [])
  void next.close()
  await after(3)
})
