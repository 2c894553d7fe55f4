import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as after } from "node:timers/promises"
import { Client, MemoryStore } from "../src/index.js"
import type { ClientFrame } from "../src/wire.js"
import { FakeServer, type FakeSocket } from "./fake.js"

class Listening extends FakeServer {
  readonly heard: ClientFrame[] = []
  override take(s: FakeSocket, f: ClientFrame): void {
    this.heard.push(f)
    super.take(s, f)
  }
}

test("a read mark that the server told is not told to it with what was received", { timeout: 20_000 }, async () => {
  const s = new Listening()
  const id = "dm:ann:bob"
  const say = (text: string) => s.store({ conversation: id, sender: "bob", content: { type: "text", text } })
  say("one")
  s.more = () => ({ readSeq: 1, unread: 0 })
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: new MemoryStore(), WebSocket: s.webSocket("ann"), device: { id: "d" } })
  await c.connected()
  s.push(say("two"))
  const received = () => s.heard.find((f) => Number(f.received?.seq) === 2)
  for (let i = 0; i < 100 && received() === undefined; i++) await after(50)
  assert.ok(received() !== undefined)
  await c.close() // what was to be sent with it is
  assert.deepEqual(s.heard.filter((f) => f.read !== undefined), [])
})

test("a client that is closed tells at once what it received", { timeout: 20_000 }, async () => {
  const s = new Listening()
  const id = "grp:geese"
  s.store({ conversation: id, sender: "bob", content: { type: "text", text: "one" } })
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: new MemoryStore(), WebSocket: s.webSocket("ann"), device: { id: "d" } })
  await c.connected()
  const received = (seq: number) => s.heard.findIndex((f) => Number(f.received?.seq) === seq)
  for (let i = 0; i < 600 && received(1) < 0; i++) await after(5)
  assert.ok(received(1) >= 0)
  s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text: "two" } }))
  const shown = c.conversation(id).messages
  const off = shown.subscribe(() => undefined)
  for (let i = 0; i < 400 && !shown.getSnapshot().some((m) => m.seq === 2); i++) await after(5)
  assert.ok(shown.getSnapshot().some((m) => m.seq === 2)) // applied: its mark waits two seconds for others, as it is a group's
  off()
  const before = performance.now()
  await c.close()
  const took = performance.now() - before
  assert.ok(received(2) >= 0 && received(2) < s.heard.findIndex((f) => f.bye !== undefined))
  assert.ok(took < 1500, `close took ${took} ms`)
})

test("the count at a mark between two times of membership does not say what is unread", { timeout: 20_000 }, async () => {
  const s = new Listening()
  const id = "grp:geese"
  for (const text of ["1", "2", "3", "4", "5", "6"]) s.store({ conversation: id, sender: "bob", content: { type: "text", text } })
  s.more = () => ({ firstSeq: 5, earlier: [{ firstSeq: 1, untilSeq: 2, hidden: 2 }], fromSeq: 5, unread: 4, entries: s.journal.get(id)!.slice(4) })
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: new MemoryStore(), WebSocket: s.webSocket("ann"), device: { id: "d" } })
  await c.connected()
  const unread = (): number | undefined => c.conversation(id).summary.getSnapshot()?.unread
  for (let i = 0; i < 400 && unread() !== 4; i++) await after(5)
  assert.equal(unread(), 4)
  const read = (seq: number): void => { for (const one of s.sockets) one.tell({ receipt: { conversation: id, user: "ann", received: seq, read: seq, readCount: seq } }) }
  const asked = (): boolean => s.heard.some((f) => f.pull !== undefined || f.pulls !== undefined)
  read(2) // the last of the first time
  for (let i = 0; i < 400 && unread() !== 2; i++) await after(5)
  assert.deepEqual([unread(), asked()], [2, false])
  read(3) // one more that is not theirs comes behind
  for (let i = 0; i < 400 && !asked(); i++) await after(5)
  assert.ok(asked())
  await c.close()
})
