import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, MemoryStore, type Message } from "../src/index.js"
import { FakeServer } from "./fake.js"

const id = "dm:ann:bob"

async function farBack(n: number): Promise<{ s: FakeServer; c: Client }> {
  const s = new FakeServer()
  for (let i = 1; i <= n; i++) s.store({ conversation: id, sender: "bob", content: { type: "text", text: `m${i}` } })
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: new MemoryStore(), WebSocket: s.webSocket("ann"), device: { id: "d" } })
  await c.connected()
  return { s, c }
}

const seqs = (ms: readonly Message[]): number[] => ms.map((m) => m.seq)
const range = (a: number, b: number): number[] => Array.from({ length: b - a + 1 }, (_, i) => a + i)

test("a jump far back takes two requests, and leaves what is shown as it is", async () => {
  const { s, c } = await farBack(1000)
  const v = c.conversation(id)
  let pulls = 0
  const take = s.take.bind(s)
  s.take = (socket, f) => {
    pulls += (f.pull === undefined ? 0 : 1) + (f.pulls?.pulls ?? []).length
    take(socket, f)
  }
  assert.deepEqual(seqs(await v.around(300, 20)), range(280, 320))
  assert.equal(pulls, 2)
  assert.deepEqual(seqs(v.messages.getSnapshot()), [1000])
  await c.close()
})

test("what follows is read up to the last one, also over the beginning of what is stored", async () => {
  const { c } = await farBack(200)
  const v = c.conversation(id)
  await v.loadOlder(30)
  assert.deepEqual(seqs(await v.later(150, 40)), range(151, 190))
  assert.deepEqual(seqs(await v.later(190, 40)), range(191, 200))
  assert.deepEqual(await v.later(200, 40), [])
  assert.deepEqual(seqs(await v.around(2, 3)), range(1, 5))
  assert.deepEqual(seqs(await v.around(199, 3)), range(196, 200))
  await c.close()
})

test("who shows a message that is not in the view is told when it changes", async () => {
  const { s, c } = await farBack(100)
  const v = c.conversation(id)
  await v.around(50, 5)
  const told = new Promise((done) => c.on("touched", done))
  s.push(s.store({ conversation: id, sender: "bob", kind: "ENTRY_KIND_RECALL", target: 50 }))
  assert.deepEqual(await told, { conversation: id, seq: 50 })
  await c.close()
})

test("what did not change is the same object as before", async () => {
  const { s, c } = await farBack(10)
  const v = c.conversation(id)
  await v.loadOlder(30)
  const before = v.messages.getSnapshot()
  const line = c.conversation("dm:ann:bob").summary.getSnapshot()
  const came = new Promise((done) => c.on("message", done))
  s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text: "more" } }))
  await came
  const now = v.messages.getSnapshot()
  assert.deepEqual([now.length, before.every((m, i) => m === now[i])], [11, true])
  assert.notEqual(v.summary.getSnapshot(), line)
  assert.equal(c.conversations.getSnapshot()[0], v.summary.getSnapshot())
  await c.close()
})

test("a mark that is none is refused, and waiting for a page can be ended", async () => {
  const { c } = await farBack(10)
  const v = c.conversation(id)
  for (const seq of [-1, 1.5, 11, NaN]) await assert.rejects(v.markRead(seq), (e) => (e as { code?: string }).code === "invalid_argument")
  await assert.rejects(v.history(5, 5, AbortSignal.abort()), { name: "AbortError" })
  await assert.rejects(v.around(5, 5, AbortSignal.abort()), { name: "AbortError" })
  const stop = new AbortController()
  const waiting = v.loadOlder(5, stop.signal)
  stop.abort()
  await assert.rejects(waiting, { name: "AbortError" })
  await c.close()
})

test("an open conversation keeps so many messages; older ones are read again", async () => {
  const { s, c } = await farBack(10)
  const v = c.conversation(id)
  const off = v.messages.subscribe(() => undefined)
  const last = 20_500
  let most = 0
  for (let n = 11; n <= last; n += 250) {
    const entries = range(n, Math.min(n + 249, last)).map((i) => s.store({ conversation: id, sender: "bob", content: { type: "text", text: `m${i}` } }))
    const told = new Promise<void>((done) => { const stop = c.on("message", (m) => { if (m.seq === entries[entries.length - 1]!.seq) { stop(); done() } }) })
    for (const socket of s.sockets) socket.tell({ push: { entries, position: entries[entries.length - 1]!.pos! } })
    await told
    most = Math.max(most, v.messages.getSnapshot().length)
  }
  const kept = seqs(v.messages.getSnapshot())
  assert.ok(most > 19_000 && most < 20_500, `${most} were there at once`)
  assert.ok(kept.length < 11_000, `${kept.length} are there`)
  assert.deepEqual(kept, range(kept[0]!, last))
  await v.loadOlder(30)
  assert.deepEqual(seqs(v.messages.getSnapshot()), range(kept[0]! - 30, last))
  assert.deepEqual(seqs(await v.around(5, 3)), range(2, 8))
  // Who reads back keeps what they look at, also when something comes meanwhile.
  for (let n = 0; n < 200 && v.messages.getSnapshot()[0]!.seq > 100; n++) await v.loadOlder(500)
  const told = new Promise((done) => c.on("message", done))
  s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text: "one more" } }))
  await told
  await v.loadOlder(30)
  assert.ok(v.messages.getSnapshot()[0]!.seq <= 100, `it begins at ${v.messages.getSnapshot()[0]!.seq}`)
  assert.equal(v.messages.getSnapshot().at(-1)?.seq, last + 1)
  off()
  await c.close()
})
