import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, MemoryStore, type Entry, type Op, type Snapshot, type Store } from "../src/index.js"
import { IdSource, toUuid } from "../src/ids.js"
import { FakeServer } from "./fake.js"

const id = "dm:ann:bob"
const count = 4

/** refused: the nth write fails. made: it is there, and the program is told that it failed. killed: it is there, and nothing follows. half: killed before it. */
const ways = ["refused", "made", "killed", "half"] as const
type Way = (typeof ways)[number]

/** A store whose nth write is its last one. */
class Dying implements Store {
  writes = 0
  dead = false
  readonly died: Promise<void>
  private tell: () => void = () => undefined

  constructor(private readonly base: MemoryStore, private readonly at: number, private readonly way: Way) {
    this.died = new Promise((done) => (this.tell = done))
  }
  load(): Promise<Snapshot> {
    return this.base.load()
  }
  entries(conversation: string): Promise<Entry[]> {
    return this.dead ? new Promise(() => undefined) : this.base.entries(conversation)
  }
  async apply(ops: readonly Op[]): Promise<void> {
    if (this.dead) return new Promise(() => undefined)
    if (++this.writes !== this.at) return this.base.apply(ops)
    this.dead = true
    if (this.way === "made" || this.way === "killed") await this.base.apply(ops)
    this.tell()
    if (this.way === "killed" || this.way === "half") return new Promise(() => undefined)
    throw new Error("no disk")
  }
  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** What a program sends: it begins again with what it was not told to be in the outbox, under the same ids. */
class Program {
  readonly ids: string[]
  readonly told: string[] = []
  /** Ends the waiting. */
  late: ReturnType<typeof setTimeout> | undefined
  private posted = 0

  constructor(private readonly server: FakeServer, private readonly waits: boolean) {
    const source = new IdSource(Date.now)
    this.ids = Array.from({ length: count }, () => toUuid(source.next()))
  }

  client(store: Store): Client {
    const c = new Client({ url: "ws://x/ws", getToken: () => "t", store, WebSocket: this.server.webSocket("ann"), device: { id: "d" }, random: () => 0 })
    c.on("message", (m) => this.told.push(m.text))
    c.on("sent", (m) => this.told.push(m.text))
    return c
  }

  async run(c: Client): Promise<void> {
    await c.connected()
    const post = async (n: number): Promise<void> => {
      const { stored } = await c.conversation(id).post(`ann ${n}`, { id: this.ids[n]! })
      if (this.waits) await stored
      this.posted++
    }
    // At once, most of them wait in the outbox while the first one is under way.
    if (!this.waits) await Promise.all(this.ids.map((_, n) => n).slice(this.posted).map(post))
    while (this.posted < count) await post(this.posted)
    await this.until(c, () => c.outbox.getSnapshot().length === 0 && c.conversation(id).summary.getSnapshot()?.high === 2 * count)
  }

  /** Resolves once that is so; every change of a conversation has it looked at. */
  private until(c: Client, so: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.late = setTimeout(() => reject(new Error(`not in time: ${JSON.stringify(c.conversation(id).summary.getSnapshot())}`)), 10_000)
      const look = (): void => {
        if (!so()) return
        clearTimeout(this.late)
        off()
        resolve()
      }
      const off = c.conversations.subscribe(look)
      look()
    })
  }
}

/** A server where bob answers each message at once. */
function answering(): FakeServer {
  const s = new FakeServer()
  s.onStored = (e) => s.push(s.store({ conversation: id, sender: "bob", content: { type: "text", text: `to ${e.content?.text ?? ""}` } }))
  return s
}

/** The first of each, in the order in which they came. */
const once = (texts: readonly string[]): string[] => [...new Set(texts)]

async function crash(at: number, way: Way, waits: boolean, ended: Promise<void>[]): Promise<number> {
  const s = answering()
  const disk = new MemoryStore()
  const store = new Dying(disk, at, way)
  const program = new Program(s, waits)
  const first = program.client(store)
  await Promise.race([program.run(first).catch((e: unknown) => assert.ok(store.dead, String(e))), store.died])
  if (store.dead) for (const socket of [...s.sockets]) socket.end(1006)
  else await Promise.race([first.close(), store.died])
  clearTimeout(program.late)
  const where = `${way} at ${at}${waits ? ", one after the other" : ""}`
  const before = program.told.length

  const next = program.client(disk)
  await program.run(next)
  await next.conversation(id).load()
  const journal = s.journal.get(id) ?? []
  const want = journal.map((e) => e.content?.text ?? "")
  assert.deepEqual(journal.filter((e) => e.sender === "ann").map((e) => toUuid(e.id ?? "")), program.ids, `${where}: each is stored once, in their order`)
  assert.deepEqual(next.conversation(id).messages.getSnapshot().map((m) => m.text), want, `${where}: shown`)
  assert.deepEqual((await disk.entries(id)).map((e) => e.content?.text), want, `${where}: kept`)
  assert.deepEqual(once(program.told), want, `${where}: told, in their order`)
  for (const [part, texts] of [["before", program.told.slice(0, before)], ["after", program.told.slice(before)]] as const) {
    assert.deepEqual(once(texts), texts, `${where}: told twice ${part} the crash`)
  }
  ended.push(next.close())
  return store.writes
}

test("a client that dies at any write: nothing is lost, doubled or in another order", { timeout: 60_000 }, async (t) => {
  const ended: Promise<void>[] = []
  for (const waits of [false, true]) {
    const writes = await crash(0, "refused", waits, ended)
    assert.ok(writes > count, `${writes} writes`)
    for (const way of ways) for (let at = 1; at <= writes; at++) await crash(at, way, waits, ended)
    t.diagnostic(`${writes} writes, ${ways.length * writes} crashes`)
  }
  await Promise.all(ended)
})
