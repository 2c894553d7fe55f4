import assert from "node:assert/strict"
import { after, test } from "node:test"
import { IdSource, toUuid } from "../src/ids.js"
import type { ChatClient, Message } from "../src/index.js"
import { shared } from "../src/tabs/index.js"
import { SharedClient } from "../src/tabs/tab.js"
import { FakeBrowser, seeded, type FakeTab } from "./browser.js"
import type { ClientFrame } from "../src/wire.js"
import { FakeServer } from "./fake.js"

const id = "dm:ann:bob"

const opened: [FakeTab, SharedClient][] = []

// What a dead tab still waits for ends with its process; here all are in one.
after(() => {
  for (const [tab, c] of opened) if (tab.dead) clearTimeout(c["hub"]?.client.k["timer"])
})

function open(tab: FakeTab, user?: string): ChatClient {
  const c = new SharedClient({
    name: "ann", ...(user === undefined ? {} : { user }), url: "ws://x/ws", getToken: () => "t", store: () => tab.store(), platform: tab.platform, WebSocket: tab.webSocket("ann"),
    device: { id: "d" }, random: () => 0,
  })
  opened.push([tab, c])
  return c
}

/** A server where bob answers each message at once. */
function answering(): FakeServer {
  const s = new FakeServer()
  s.onStored = (e) => s.push(s.store({ conversation: id, id: `bob-${e.id ?? ""}`, sender: "bob", content: { type: "text", text: `to ${e.content?.text ?? ""}` } }))
  return s
}

/** Resolves once that is so; looked at now and then. */
async function until(what: string, so: () => boolean, within = 20_000): Promise<void> {
  const end = Date.now() + within
  while (!so()) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`)
    await new Promise((done) => setTimeout(done, 2))
  }
}

const textsOf = (ms: readonly Message[]): string[] => ms.map((m) => m.text)

/** What a tab is told. */
function listen(c: ChatClient): string[] {
  const told: string[] = []
  c.on("message", (m) => told.push(m.text))
  c.on("sent", (m) => told.push(m.text))
  return told
}

/** Posts n messages: at once, or one after the other. Of each it is known whether it was said to be posted. */
class Writer {
  readonly ids: string[]
  readonly posted = new Set<string>()
  readonly stored = new Set<string>()

  constructor(readonly name: string, n: number, private readonly waits: boolean) {
    const source = new IdSource(Date.now)
    this.ids = Array.from({ length: n }, () => toUuid(source.next()))
  }

  async run(c: ChatClient): Promise<void> {
    const one = async (mid: string, i: number): Promise<void> => {
      const { stored } = await c.conversation(id).post(`${this.name}${i}`, { id: mid })
      this.posted.add(mid)
      const m = await stored
      assert.equal(m.id, mid)
      this.stored.add(mid)
    }
    if (!this.waits) await Promise.all(this.ids.map(one))
    else for (const [i, mid] of this.ids.entries()) await one(mid, i)
  }
}

/** The first tab leads and dies at a step; two others go on. Answers how many steps there were. */
async function story(dieAt: number, lost: number, seed: number): Promise<number> {
  const s = answering()
  const b = new FakeBrowser(s, { lost, random: seeded(seed) })
  const where = `step ${dieAt}, lost ${lost} %, seed ${seed}`
  const [first, second, third] = [b.tab(), b.tab(), b.tab()]
  const ann = open(first)
  await ann.connected()
  const others = [open(second), open(third)]
  await Promise.all(others.map((c) => c.connected()))
  const told = others.map(listen)
  for (const c of others) await c.conversation(id).load()
  const looks = others.map((c) => c.conversation(id).messages.subscribe(() => undefined))

  first.dieAt = dieAt === 0 ? 0 : first.steps + dieAt
  const before = first.steps
  const writers = [new Writer("a", 3, false), new Writer("b", 3, false), new Writer("c", 3, true)]
  const [a, bb, cc] = writers as [Writer, Writer, Writer]
  const dying = a.run(ann).catch((e: unknown) => assert.ok(first.dead, `${where}: ${String(e)}`))
  await Promise.all([bb.run(others[0]!), cc.run(others[1]!)])
  await Promise.race([dying, first.died])
  const n = 6 + (first.dead ? a.posted.size : 3)
  await until(`${where}: stored`, () => (s.journal.get(id)?.filter((e) => e.sender === "ann").length ?? 0) >= n)
  const all = s.journal.get(id)!
  const want = (): string[] => all.map((e) => e.content?.text ?? "")
  const shown = (): boolean => others.every((c) => JSON.stringify(textsOf(c.conversation(id).messages.getSnapshot())) === JSON.stringify(want()))
  await until(`${where}: shown`, shown).catch((e: unknown) => assert.deepEqual(textsOf(others[0]!.conversation(id).messages.getSnapshot()), want(), `${String(e)}`))
  await until(`${where}: told`, () => told.every((t) => t.length >= want().length)).catch(() => undefined)
  for (const [i, t] of told.entries()) assert.deepEqual(t, want(), `${where}: tab ${i} is told each once, in order`)
  const mine = all.filter((e) => e.sender === "ann").map((e) => toUuid(e.id ?? ""))
  assert.equal(new Set(mine).size, mine.length, `${where}: each once`)
  for (const w of [bb, cc]) assert.deepEqual(mine.filter((x) => w.ids.includes(x)), w.ids, `${where}: ${w.name} in order`)
  for (const x of a.posted) assert.ok(mine.includes(x), `${where}: what was said to be posted is stored`)
  const steps = first.steps - before
  for (const off of looks) off()
  await Promise.all([...others, ...(first.dead ? [] : [ann])].map((c) => c.close()))
  assert.equal(b.holders.size, 0, `${where}: no lock is left`)
  return steps
}

test("the leading tab dies at any step: nothing is lost, doubled, or told twice", { timeout: 300_000 }, async (t) => {
  const steps = await story(0, 0, 1)
  assert.ok(steps > 30, `${steps} steps`)
  for (let at = 1; at <= steps; at++) await story(at, 0, at)
  t.diagnostic(`${steps} steps`)
})

interface Three {
  b: FakeBrowser
  s: FakeServer
  tabs: FakeTab[]
  clients: ChatClient[]
  told: string[][]
}

/** Three tabs that all look at the conversation; the first leads. */
async function three(s: FakeServer, n = 3): Promise<Three> {
  const b = new FakeBrowser(s)
  const tabs = Array.from({ length: n }, () => b.tab())
  const clients: ChatClient[] = []
  for (const t of tabs) {
    const c = open(t)
    clients.push(c)
    await c.connected()
    await c.conversation(id).load()
    c.conversation(id).messages.subscribe(() => undefined)
  }
  return { b, s, tabs, clients, told: clients.map(listen) }
}

const wanted = (s: FakeServer): string[] => (s.journal.get(id) ?? []).map((e) => e.content?.text ?? "")

async function allShow({ s, clients }: Pick<Three, "s" | "clients">, what: string): Promise<void> {
  await until(what, () => clients.every((c) => JSON.stringify(textsOf(c.conversation(id).messages.getSnapshot())) === JSON.stringify(wanted(s))))
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))
const isCode = (code: string) => (e: unknown): boolean => (e as { code?: string }).code === code

// What an app keeps by the user's id would otherwise be looked for under "", and written there.
test("a tab that was told whose it is says so at once, and goes on saying it before the first connect", { timeout: 60_000 }, async () => {
  const s = answering()
  const b = new FakeBrowser(s, { lost: 0, random: seeded(1) })
  const said: string[] = []
  const told = open(b.tab(), "ann")
  told.state.subscribe(() => said.push(told.user))
  assert.equal(told.user, "ann")
  assert.equal(told.dm("bob").id, id)
  const untold = open(b.tab())
  assert.equal(untold.user, "")
  await Promise.all([told.connected(), untold.connected()])
  assert.ok(said.length > 0)
  assert.deepEqual(said.filter((u) => u !== "ann"), [])
  assert.equal(untold.user, "ann")
  await Promise.all([told.close(), untold.close()])
})

test("a frozen leader is replaced; when it wakes it changes nothing, and follows", { timeout: 60_000 }, async () => {
  const t = await three(answering())
  const [first] = t.tabs as [FakeTab]
  const [ann, second, third] = t.clients as [ChatClient, ChatClient, ChatClient]
  await ann.conversation(id).send("before")
  const late = ann.conversation(id).post("posted as it froze").then((p) => p.stored)
  first.freeze()
  await Promise.all([second.conversation(id).send("two"), third.conversation(id).send("three")])
  t.s.push(t.s.store({ conversation: id, id: "bob-x", sender: "bob", content: { type: "text", text: "from bob" } }))
  first.wake()
  await late
  await ann.conversation(id).send("after")
  await allShow(t, "all show all")
  for (const texts of t.told.slice(1)) await until("told", () => texts.length === wanted(t.s).length).then(() => assert.deepEqual(texts, wanted(t.s)))
  assert.equal(new Set(wanted(t.s)).size, wanted(t.s).length)
  await Promise.all(t.clients.map((c) => c.close()))
})

test("an event stays in the store until every tab heard it: also the one whose messages got lost with the leader", { timeout: 60_000 }, async () => {
  const t = await three(answering())
  const third = t.tabs[2]!
  third.freeze()
  await t.clients[0]!.conversation(id).send("one")
  await pause(300) // the others heard it long ago
  t.tabs[0]!.kill()
  third.lose()
  third.wake()
  await until("told", () => t.told[2]!.length >= 2)
  await t.clients[1]!.conversation(id).send("two")
  await until("told", () => t.told[2]!.length >= 4)
  for (const told of t.told.slice(1)) assert.deepEqual(told, wanted(t.s))
  await Promise.all(t.clients.slice(1).map((c) => c.close()))
})

test("close ends one tab, also the leading one; the others go on", { timeout: 60_000 }, async () => {
  const t = await three(answering())
  const [a, b, c] = t.clients as [ChatClient, ChatClient, ChatClient]
  const waiting = b.conversation(id).send("while it closes")
  await a.close()
  await waiting
  assert.equal(a.state.getSnapshot().state, "closed")
  await assert.rejects(a.conversation(id).send("x"), isCode("closed"))
  await c.close()
  await b.conversation(id).send("alone")
  await allShow({ s: t.s, clients: [b] }, "shown")
  await b.close()
  assert.deepEqual([t.b.holders.size, t.b.queue.length, t.b.channels.size, t.s.sockets.size], [0, 0, 0, 0], "nothing is left")
})

test("one connection; the user is present while a tab is, and whom one tab watches is watched", { timeout: 60_000 }, async () => {
  const s = answering()
  const said: ClientFrame[] = []
  const take = s.take.bind(s)
  s.take = (socket, f) => {
    said.push(f)
    take(socket, f)
  }
  const t = await three(s)
  assert.equal(s.sockets.size, 1)
  const [a, b, c] = t.clients as [ChatClient, ChatClient, ChatClient]
  const background = (): (boolean | undefined)[] => said.filter((f) => f.background !== undefined).map((f) => f.background?.on)
  a.setBackground(true)
  b.setBackground(true)
  await pause(50)
  assert.deepEqual(background(), [])
  c.setBackground(true)
  await until("in the background", () => background().at(-1) === true)
  await Promise.all([a.watchPresence(["bob"]), b.watchPresence(["eve"])])
  await until("watched", () => said.some((f) => f.watchPresence?.users?.length === 2))
  t.tabs[1]!.kill() // nobody says goodbye
  await until("no more watched", () => JSON.stringify(said.filter((f) => f.watchPresence !== undefined).at(-1)?.watchPresence?.users) === '["bob"]')
  a.setBackground(false)
  await until("back", () => background().at(-1) === false)
  await Promise.all([a, c].map((x) => x.close()))
})

test("a call whose leader dies is carried out once", { timeout: 60_000 }, async () => {
  for (const when of ["before", "after"]) {
    const s = answering()
    const done = new Map<string, number>()
    let tabs: FakeTab[] = []
    const take = s.take.bind(s)
    s.take = (socket, f) => {
      take(socket, f)
      if (f.call === undefined) return
      const key = f.call.idempotencyKey ?? ""
      if (when === "before" && tabs[0]?.dead === false) return tabs[0].kill()
      const first = !done.has(key)
      if (first) done.set(key, done.size + 1)
      if (first && when === "after") return tabs[0]?.kill()
      socket.tell({ result: { number: f.call.number, json: { group: { conversation: `grp:${done.get(key) ?? 0}` } } } })
    }
    s.limits = { idempotencyKeys: 1000 }
    const t = await three(s, 2)
    tabs = t.tabs
    const { group } = await t.clients[1]!.call("skein.v1.GroupService/CreateGroup", { name: "Tea" })
    assert.deepEqual([group?.conversation, done.size, t.tabs[0]!.dead], ["grp:1", 1, true], when)
    await t.clients[1]!.close()
  }
})

test("what was refused is failed in every tab, and any of them tries it again or forgets it", { timeout: 60_000 }, async () => {
  const s = answering()
  let refuses = true
  const take = s.take.bind(s)
  s.take = (socket, f) => {
    if (f.send === undefined || !refuses) take(socket, f)
    else socket.tell({ sendError: { id: f.send.id, error: { code: "permission_denied" } } })
  }
  s.store({ conversation: id, sender: "bob", content: { type: "text", text: "hi" } })
  const t = await three(s, 2)
  const [a, b] = t.clients as [ChatClient, ChatClient]
  const outboxes = [a, b].map((c) => c.outbox)
  for (const o of outboxes) o.subscribe(() => undefined)
  const failed = new Promise<Message>((done) => a.on("failed", (e) => done(e.message)))
  await assert.rejects(b.conversation(id).send("one"), isCode("permission_denied"))
  const m = await failed
  assert.equal(m.error?.code, "permission_denied")
  await until("failed everywhere", () => outboxes.every((o) => o.getSnapshot()[0]?.error?.code === "permission_denied"))
  refuses = false
  assert.equal((await a.retry(m.id)).text, "one")
  refuses = true
  await assert.rejects(a.conversation(id).send("two"), isCode("permission_denied"))
  await until("failed", () => outboxes.every((o) => o.getSnapshot().length === 1))
  await b.discard(outboxes[1]!.getSnapshot()[0]!.id)
  await until("forgotten", () => outboxes.every((o) => o.getSnapshot().length === 0))
  t.tabs[0]!.kill()
  await b.connected()
  assert.deepEqual(b.outbox.getSnapshot(), [])
  await b.close()
})

test("tabs with another version of the code are refused, and say so, until they are gone", { timeout: 60_000 }, async () => {
  const s = answering()
  const b = new FakeBrowser(s)
  const [old, mine] = [b.tab(), b.tab()]
  // An old tab that leads, as far as this version sees it: it has the lock, and its own number on the common channel.
  let leave = (): void => undefined
  let answers = true
  void old.locks.request("skein-leader:ann", {}, () => new Promise<void>((done) => (leave = done)))
  const common = old.platform.channel("skein:ann")
  const refused: string[] = []
  common.onmessage = (e) => {
    const c = e.data as { skein: number; hello?: string; refuse?: string }
    if (c.hello !== undefined && answers) common.postMessage({ skein: 0, refuse: c.hello })
    if (c.refuse !== undefined) refused.push(c.refuse)
  }
  const c = open(mine)
  const waits = c.connected()
  await assert.rejects(waits, isCode("other_version"))
  assert.deepEqual([c.state.getSnapshot().state, c.state.getSnapshot().error?.code], ["stopped", "other_version"])
  await assert.rejects(c.conversation(id).post("x"), isCode("other_version"))
  const states: string[] = []
  const off = c.state.subscribe(() => states.push(`${c.state.getSnapshot().state} ${c.state.getSnapshot().error?.code ?? ""}`))
  const steps = mine.steps
  c.reconnect()
  assert.equal(mine.steps, steps + 1, "it asks at once, and does not wait for its next beat")
  await until("it asks again, and is refused again", () => states.length === 2)
  assert.deepEqual(states, ["connecting ", "stopped other_version"])
  off()
  // While nobody refuses, what the program asks waits for whoever leads.
  answers = false
  c.reconnect()
  const sent = c.conversation(id).send("now")
  leave()
  await sent
  assert.equal(c.state.getSnapshot().state, "connected", "it leads")
  common.postMessage({ skein: 0, hello: "old-tab" })
  await until("the old one is refused", () => refused.includes("old-tab"))
  await c.close()
})

test("what nobody looks at is given up, and there again when somebody does", { timeout: 60_000 }, async () => {
  const t = await three(answering(), 2)
  const c = t.clients[1]!
  const there = c.conversation("dm:ann:eve")
  t.s.store({ conversation: "dm:ann:eve", sender: "eve", content: { type: "text", text: "hello" } })
  t.s.push(t.s.journal.get("dm:ann:eve")![0]!)
  const seen = (): number => there.messages.getSnapshot().length
  await until("shown", () => seen() === 1)
  await pause(1000)
  assert.equal(seen(), 0, "given up")
  await until("shown again", () => seen() === 1)
  const before = there.messages.getSnapshot()[0]
  await there.post("x")
  await until("more", () => seen() > 1)
  assert.equal(there.messages.getSnapshot()[0], before, "what did not change is the same object")
  await Promise.all(t.clients.map((x) => x.close()))
})

test("what stopped the connection is over: any tab has it made again, not the leader's alone", { timeout: 60_000 }, async () => {
  const t = await three(answering(), 2)
  const states = (): string => t.clients.map((c) => `${c.state.getSnapshot().state} ${c.state.getSnapshot().error?.code ?? ""}`).join(", ")
  for (const which of [1, 0]) {
    for (const s of [...t.s.sockets]) s.end(4600)
    await until("both are told", () => states() === "stopped replaced, stopped replaced")
    t.clients[which]!.reconnect()
    await until("both are connected", () => states() === "connected , connected ")
    await t.clients[which]!.conversation(id).send(`by ${which}`)
  }
  await Promise.all(t.clients.map((c) => c.close()))
})

test("without locks the tab that came last has the store; the other one says so, and takes it back", { timeout: 60_000 }, async () => {
  const s = answering()
  const b = new FakeBrowser(s)
  const [one, two] = [b.tab(), b.tab()]
  const alone = (t: FakeTab): ChatClient => shared({
    name: "ann", url: "ws://x/ws", getToken: () => "t", store: () => t.store(), platform: { ...t.platform, locks: undefined }, WebSocket: t.webSocket("ann"), device: { id: "d" }, random: () => 0,
  })
  const a = alone(one)
  await a.connected()
  await a.conversation(id).send("one")
  const c = alone(two)
  await c.connected()
  await c.conversation(id).send("two")
  await until("it is told", () => a.state.getSnapshot().state === "stopped")
  assert.equal(a.state.getSnapshot().error?.code, "store_taken")
  a.reconnect()
  await a.connected()
  await a.conversation(id).send("three")
  await until("the other one is told", () => c.state.getSnapshot().error?.code === "store_taken")
  assert.deepEqual(wanted(s), ["one", "to one", "two", "to two", "three", "to three"])
  await Promise.all([a, c].map((x) => x.close()))
})

test("channels that lose messages, and a leader that dies", { timeout: 300_000 }, async (t) => {
  for (let seed = 1; seed <= 15; seed++) await story(seed * 8, 8, seed)
  t.diagnostic("15 runs, 8 % lost")
})
