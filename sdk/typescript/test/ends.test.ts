import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, MemoryStore, SkeinError, type Op, type Snapshot } from "../src/index.js"

/** No socket of this kind is ever open. */
class Silent {
  readyState = 0
  onopen = null
  onmessage = null
  onclose = null
  onerror = null
  send(): void {
    throw new Error("it is not open")
  }
  close(): void {
    this.readyState = 3
  }
}

class Broken extends MemoryStore {
  constructor(private readonly at: "load" | "apply") {
    super()
  }
  override load(): Promise<Snapshot> {
    return this.at === "load" ? Promise.reject(new Error("no disk")) : super.load()
  }
  override apply(ops: readonly Op[]): Promise<void> {
    return this.at === "apply" ? Promise.reject(new Error("disk full")) : super.apply(ops)
  }
}

const client = (store: MemoryStore): Client => new Client({ url: "ws://127.0.0.1:1/ws", getToken: () => "t", store, WebSocket: Silent, device: { id: "d" } })
const isCode = (code: string) => (e: unknown): boolean => e instanceof SkeinError && e.code === code

test("a store that cannot be read ends the client, and everybody who waits is told", async () => {
  const c = client(new Broken("load"))
  await assert.rejects(c.connected(), isCode("store"))
  await assert.rejects(c.conversation("grp:a").post("x"), isCode("store"))
  assert.equal(c.state.getSnapshot().state, "closed")
  await c.close()
})

test("what cannot be stored is not sent: the client ends", async () => {
  const c = client(new Broken("apply"))
  await assert.rejects(c.conversation("grp:a").send("x"), isCode("store"))
  await c.close()
})

test("without a connection a message waits, is shown, and is there for the next client", async () => {
  const store = new MemoryStore()
  const c = client(store)
  const v = c.conversation("dm:ann:bob")
  const { id, stored } = await v.post("hello", { extra: { k: "v" } })
  assert.deepEqual(v.messages.getSnapshot().map((m) => [m.text, m.status, m.own]), [["hello", "pending", true]])
  await c.close()
  await assert.rejects(stored, isCode("closed"))
  const next = client(store)
  await next.conversation("dm:ann:bob").load()
  assert.deepEqual(next.outbox.getSnapshot().map((m) => [m.id, m.text, m.status, m.extra]), [[id, "hello", "pending", { k: "v" }]])
  await next.close()
})

test("what no server takes is refused before it gets into the outbox", async () => {
  const c = client(new MemoryStore())
  await assert.rejects(c.conversation("dm:bob:ann").send("x"), isCode("invalid_argument"))
  await assert.rejects(c.conversation("me:ann").send("x"), isCode("invalid_argument"))
  await assert.rejects(c.conversation("grp:a").send(""), isCode("invalid_argument"))
  await assert.rejects(c.conversation("grp:a").send("\ud800"), isCode("invalid_argument"))
  await assert.rejects(c.conversation("grp:a").send("x", { fallback: "é".repeat(501) }), isCode("too_large"))
  await assert.rejects(c.discard("01965b3c-4d5e-7001-8000-000000000001"), isCode("not_found"))
  assert.deepEqual(c.outbox.getSnapshot(), [])
  await c.close()
})

test("what the server could not read as a message never gets into the outbox: its conversation would wait for ever", async () => {
  const c = client(new MemoryStore())
  const there = c.conversation("grp:a")
  const wrong: [string, unknown][] = [
    ["replyTo", 1.5], ["replyTo", NaN], ["replyTo", -1], ["mentions", "bob"], ["mentions", [1]], ["extra", { a: 1 }], ["extra", []], ["silent", "yes"],
    ["media", [1]], ["fallback", 1], ["poll", 5], ["poll", { options: [{ id: 1 }] }], ["groupMention", "ALL"], ["type", 1], ["data", "x"], ["id", 5],
  ]
  for (const [field, v] of wrong) {
    await assert.rejects(there.post("x", { [field]: v }), (e) => e instanceof SkeinError && e.code === "invalid_argument" && e.field === field, `${field}: ${String(v)}`)
  }
  for (const text of [42, {}, true, null, undefined]) await assert.rejects(there.post(text as string), isCode("invalid_argument"))
  assert.deepEqual(c.outbox.getSnapshot(), [])
  await there.post("x", { replyTo: 1, mentions: ["bob"], silent: true, poll: { options: [{ id: "a" }] } })
  assert.equal(c.outbox.getSnapshot().length, 1)
  await c.close()
})

test("waiting for a message to be stored can be ended; the message stays in the outbox", async () => {
  const c = client(new MemoryStore())
  const stop = new AbortController()
  const sent = c.conversation("grp:a").send("x", { signal: stop.signal })
  await c.conversation("grp:a").post("y")
  stop.abort()
  await assert.rejects(sent, { name: "AbortError" })
  assert.deepEqual(c.outbox.getSnapshot().map((m) => m.text), ["x", "y"])
  await c.close()
})

test("who looks at the state is told of the end", async () => {
  const c = client(new MemoryStore())
  const seen: string[] = []
  c.state.getSnapshot()
  c.state.subscribe(() => seen.push(c.state.getSnapshot().state))
  await c.close()
  assert.equal(c.state.getSnapshot().state, "closed")
  assert.equal(seen.at(-1), "closed")
})

test("a listener that another one ended hears nothing more", async () => {
  const c = client(new MemoryStore())
  const heard: string[] = []
  let off = (): void => undefined
  c.on("state", () => off())
  off = c.on("state", (e) => heard.push(e.state))
  await c.close()
  assert.deepEqual(heard, [])
})

test("why there is no connection is told, as far as the platform says it", async () => {
  class Refused extends Silent {
    constructor() {
      super()
      setTimeout(() => {
        const on = this as unknown as { onerror: (e: object) => void; onclose: (e: object) => void }
        on.onerror({ message: "connect ECONNREFUSED 127.0.0.1:1" })
        on.onclose({ code: 1006, reason: "" })
      })
    }
  }
  const c = new Client({ url: "ws://127.0.0.1:1/ws", getToken: () => "t", WebSocket: Refused, device: { id: "d" } })
  const error = await new Promise<SkeinError | undefined>((done) => c.on("state", (e) => e.state === "disconnected" && done(e.error)))
  assert.match(error?.message ?? "", /ECONNREFUSED/)
  await c.close()
})
