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
