import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, MemoryStore, type Message } from "../src/index.js"
import type { ClientFrame } from "../src/wire.js"
import { FakeServer } from "./fake.js"

const id = "dm:ann:bob"
const isCode = (code: string) => (e: unknown): boolean => (e as { code?: string }).code === code

/** A server, what it was sent, and a client. */
async function ann(s = new FakeServer(), store = new MemoryStore(), now?: () => number): Promise<{ s: FakeServer; c: Client; said: ClientFrame[] }> {
  const said: ClientFrame[] = []
  const take = s.take.bind(s)
  s.take = (socket, f) => {
    said.push(f)
    take(socket, f)
    if (f.call !== undefined) socket.tell({ result: { number: f.call.number, json: {} } })
  }
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store, WebSocket: s.webSocket("ann"), device: { id: "d" }, random: () => 0, ...(now === undefined ? {} : { now }) })
  await c.connected()
  return { s, c, said }
}

test("a burst of calls is spread as the server takes it; each class for itself, and waiting can be ended", { timeout: 20_000 }, async () => {
  const s = new FakeServer()
  // Slow, so that what waits is told from what a busy machine takes.
  s.limits = { calls: { burst: 5, perSecond: 2 }, reads: { burst: 100, perSecond: 100 } }
  const { c, said } = await ann(s)
  const times: number[] = []
  const began = Date.now()
  await Promise.all(Array.from({ length: 8 }, () => c.call("skein.v1.GroupService/CreateGroup", { name: "Tea" }).then(() => times.push(Date.now() - began))))
  assert.ok(times[4]! < 1500, `the burst at once: ${String(times)}`)
  assert.ok(times[7]! >= 1450, `three more at two a second: ${String(times)}`)
  assert.equal(said.filter((f) => f.call !== undefined).length, 8)
  const stop = new AbortController()
  const late = Promise.all(Array.from({ length: 8 }, () => c.call("skein.v1.GroupService/CreateGroup", { name: "Tea" }, { signal: stop.signal })))
  const asked = Date.now()
  await c.call("skein.v1.GroupService/GetGroup", { conversation: "grp:a" })
  assert.ok(Date.now() - asked < 3500, "reading waits for no other class; behind those eight it would wait four seconds")
  stop.abort()
  await assert.rejects(late, { name: "AbortError" })
  await c.close()
})

test("a pending message is forgotten if it certainly did not leave; otherwise it is sent", { timeout: 20_000 }, async () => {
  const s = new FakeServer()
  const store = new MemoryStore()
  const { c } = await ann(s, store)
  const take = s.take
  s.take = (socket, f) => void (f.send === undefined && take(socket, f)) // no message is answered
  const v = c.conversation(id)
  const first = await v.post("one") // leaves
  const second = await v.post("two") // waits behind it
  await assert.rejects(c.discard(first.id), isCode("may_be_sent"))
  await c.discard(second.id)
  await assert.rejects(second.stored, isCode("discarded"))
  await assert.rejects(c.discard(second.id), isCode("not_found"))
  const third = await v.post("three")
  assert.deepEqual(v.messages.getSnapshot().map((m: Message) => m.text), ["one", "three"])
  for (const socket of [...s.sockets]) socket.end(1006)
  await c.close()
  s.take = take
  const { c: next } = await ann(s, store) // of what an earlier run left nobody knows
  await assert.rejects(next.discard(third.id), (e) => isCode("may_be_sent")(e) || isCode("not_found")(e))
  await next.close()
  assert.deepEqual(s.journal.get(id)?.map((e) => e.content?.text), ["one", "three"])
})

test("typing is told once in three seconds, however often the program calls it", { timeout: 20_000 }, async () => {
  let ahead = 0
  const { c, said } = await ann(new FakeServer(), new MemoryStore(), () => Date.now() + ahead)
  const v = c.conversation(id)
  const other = c.conversation("dm:ann:eve")
  const told = async (): Promise<(string | undefined)[]> => {
    await c.conversation(id).load()
    return said.filter((f) => f.typing !== undefined).map((f) => f.typing?.conversation)
  }
  for (let i = 0; i < 50; i++) v.typing()
  assert.deepEqual(await told(), [id])
  other.typing()
  ahead = 2900
  v.typing()
  assert.deepEqual(await told(), [id, "dm:ann:eve"])
  ahead = 3100
  for (let i = 0; i < 50; i++) v.typing()
  assert.deepEqual(await told(), [id, "dm:ann:eve", id])
  await c.close()
})

test("conversations that nobody looks at any more leave the memory, and are there again when somebody does", { timeout: 20_000 }, async () => {
  const s = new FakeServer()
  const store = new MemoryStore()
  const many = Array.from({ length: 100 }, (_, i) => `dm:ann:u${i}`)
  for (const conversation of many) s.store({ conversation, sender: "bob", content: { type: "text", text: `in ${conversation}` } })
  const one = await ann(s, store)
  await one.c.close()
  const { c } = await ann(s, store)
  const off = c.conversation(many[0]!).messages.subscribe(() => undefined)
  for (const conversation of many) await c.conversation(conversation).load()
  const loaded = (): string[] => [...c.k.convs.values()].filter((cv) => cv.entries !== undefined).map((cv) => cv.rec.id)
  await new Promise((done) => setTimeout(done, 10))
  assert.ok(loaded().length <= 33, `${loaded().length} are in memory`)
  assert.ok(loaded().includes(many[0]!), "who is looked at stays")
  const there = c.conversation(many[1]!)
  assert.ok(!loaded().includes(many[1]!))
  const shown = new Promise<void>((done) => there.messages.subscribe(done))
  await shown
  assert.deepEqual(there.messages.getSnapshot().map((m) => m.text), [`in ${many[1]!}`])
  s.push(s.store({ conversation: many[2]!, sender: "bob", content: { type: "text", text: "more" } }))
  await new Promise((done) => c.on("message", done))
  await c.conversation(many[2]!).load()
  assert.deepEqual(c.conversation(many[2]!).messages.getSnapshot().map((m) => m.text), [`in ${many[2]!}`, "more"])
  off()
  await c.close()
})
