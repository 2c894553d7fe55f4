/// <reference lib="dom" />
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { Cutter } from "./cutter.js"
import type { Desk, InPage, Profile, Tab } from "./desk.js"
import { ids, login, withServer } from "./server.js"
import { toUuid } from "../src/ids.js"
import type { Client, ClientOptions, Message } from "../src/index.js"

/*
 * The tests of what browsers differ in: stores on a disk, locks and channels among tabs, sockets. Each runs in
 * Chromium (chromium.test.ts) and in Firefox (firefox.test.ts).
 */

type Globals = { skein: InPage; posted: (id: string) => void }

interface Start {
  url: string
  token: string
  device: string
}

async function startOf(o: ClientOptions): Promise<Start> {
  return { url: o.url, token: await o.getToken(""), device: o.device!.id! }
}

/** Opens the shared client in a page, and listens to it. */
function start(tab: Tab, o: Start): Promise<void> {
  return tab.run(async ({ url, token, device }) => {
    const { skein } = globalThis as unknown as Globals
    skein.client = skein.shared({ name: "ann", url, getToken: () => token, device: { id: device, class: "DEVICE_CLASS_WEB" }, random: () => 0 })
    skein.told = []
    skein.client.on("message", (m) => skein.told.push(m.id))
    skein.client.on("sent", (m) => skein.told.push(m.id))
    await skein.client.connected()
  }, o)
}

/** Posts messages under these ids, a few at a time; what was said to be posted is told to `posted`. Resolves once all are stored. */
function post(tab: Tab, conversation: string, all: readonly string[]): Promise<void> {
  return tab.run(async ([id, mids]) => {
    const { skein, posted } = globalThis as unknown as Globals
    const there = skein.client.conversation(id)
    await Promise.all(mids.map(async (mid) => {
      const { stored } = await there.post(`message ${mid}`, { id: mid })
      posted(mid)
      await stored
    }))
  }, [conversation, all] as const)
}

/** All that the server has of the conversation, as a client sees it that has nothing stored. */
async function journal(c: Client, conversation: string): Promise<Message[]> {
  const out: Message[] = []
  for (let before = 0; ; ) {
    const page = await c.conversation(conversation).history(before, 200)
    out.unshift(...page)
    if (page.length === 0 || page[0]!.seq === 1) return out.filter((m) => m.kind === "message")
    before = page[0]!.seq
  }
}

const uuids = (n: number): string[] => Array.from({ length: n }, () => toUuid(ids.next()))

async function withProfile(desk: Desk, http: string, f: (p: Profile) => Promise<void>, posted?: (id: string) => void): Promise<void> {
  const p = await desk.profile(http, posted)
  try {
    await f(p)
  } finally {
    await p.close()
  }
}

/** Ann and bob in a group; bob's client is in Node. */
async function group(client: (o: ClientOptions) => Client, http: string): Promise<{ ann: Start; bob: Client; id: string }> {
  const [a, b] = await Promise.all([login(http, "ann"), login(http, "bob")])
  const bob = client(b.options)
  await bob.connected()
  const { group } = await bob.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [a.user] })
  return { ann: await startOf(a.options), bob, id: group?.conversation ?? "" }
}

/** Two tabs post 500 messages; the leading one ends in the middle: each is stored once. */
export async function leaderEnds(desk: Desk, end: "closed" | "crashed", t: TestContext): Promise<void> {
  await withServer(async (s, client) => {
    const { ann, bob, id } = await group(client, s.http)
    const said = new Set<string>()
    await withProfile(desk, s.http, async (p) => {
      const [first, second] = [await p.open(), await p.open()]
      await start(first, ann)
      await start(second, ann)
      await second.run((id) => (globalThis as unknown as Globals).skein.client.conversation(id).load(), id)
      const [mine, theirs] = [uuids(250), uuids(250)]
      const half = new Promise<void>((done) => bob.on("message", (m) => m.seq > 100 && done()))
      void post(first, id, theirs).catch(() => undefined) // where its page crashed, no browser promises an answer
      const living = post(second, id, mine)
      await half
      await (end === "closed" ? first.close() : first.crash())
      await living
      const last = uuids(1) // behind whatever the other tab left in the outbox
      const came = new Promise<void>((done) => bob.on("message", (m) => m.id === last[0] && done()))
      await post(second, id, last)
      await came
      const all = await journal(bob, id)
      const got = all.map((m) => m.id)
      assert.equal(new Set(got).size, got.length, "each once")
      assert.deepEqual(got.filter((x) => mine.includes(x)), mine, "of the tab that lives: all, in order")
      assert.ok(theirs.some((mid) => said.has(mid)), "the tab that ended had posted some")
      for (const mid of theirs) if (said.has(mid)) assert.ok(got.includes(mid), `${mid} was said to be posted`)
      const told = (): Promise<string[]> => second.run(() => (globalThis as unknown as Globals).skein.told, 0)
      await second.until((n) => (globalThis as unknown as Globals).skein.told.length >= n, got.length)
      assert.deepEqual(await told(), got, "the tab that lives was told each once, in order")
      const shown = await second.run((id) => (globalThis as unknown as Globals).skein.client.conversation(id).messages.getSnapshot().filter((m) => m.kind === "message").map((m) => m.id), id)
      assert.deepEqual(shown, got, "and shows them")
      t.diagnostic(`${got.length} messages, ${theirs.filter((x) => got.includes(x)).length} of 250 of the tab that was ${end}`)
    }, (mid) => void said.add(mid))
  })
}

/** A second client on a store is refused, in another tab too; the first goes on. */
export async function secondRefused(desk: Desk): Promise<void> {
  await withServer(async (s) => {
    const a = await startOf((await login(s.http, "ann")).options)
    await withProfile(desk, s.http, async (p) => {
      const [first, second] = [await p.open(), await p.open()]
      const plain = (tab: Tab): Promise<string> =>
        tab.run(async ({ url, token, device }) => {
          const { skein } = globalThis as unknown as Globals
          const c = new skein.Client({ url, getToken: () => token, device: { id: device }, store: new skein.IndexedDBStore("one") })
          skein.client = c
          return c.connected().then(() => "connected", (e: { code: string }) => e.code)
        }, a)
      assert.equal(await plain(first), "connected")
      assert.equal(await plain(second), "store_taken")
      const user = await first.run(() => (globalThis as unknown as Globals).skein.client.user, 0)
      assert.equal(await first.run(async (u) => (await (globalThis as unknown as Globals).skein.client.dm(u).send("note")).text, user), "note")
      await first.run(() => (globalThis as unknown as Globals).skein.client.close(), 0)
      assert.equal(await plain(second), "connected", "once the first one is closed")
    })
  })
}

/** What the tests of stores ask, of the browser's own IndexedDB and Web Locks. */
export async function stores(desk: Desk): Promise<void> {
  await withServer(async (s) => {
    await withProfile(desk, s.http, async (p) => {
      const tab = await p.open()
      await tab.run(async () => {
        const { skein } = globalThis as unknown as Globals
        await skein.keeps(() => new skein.IndexedDBStore("keeps"), skein.pageCheck)
        await skein.servesOne((from, o) => new skein.IndexedDBStore("one", { ...(from === "without locks" ? { locks: undefined } : {}), ...o }), skein.pageCheck)
      }, 0)
    })
  })
}

/** Byte counts that end within the handshake, the Hello, its answer, a Send, its ack, and beyond some of each. */
const counts = [1, 211, 701, 1303, 1907, 3001, 6007]

/** Connections of a page that are cut after any number of bytes: what it posts is there once, in its order. */
export async function cutOff(desk: Desk, t: TestContext): Promise<void> {
  await withServer(async (s, client) => {
    const { ann, bob, id } = await group(client, s.http)
    const cutter = new Cutter(Number(new URL(s.http).port))
    try {
      const port = await cutter.listen()
      const http = `http://127.0.0.1:${port}` // the page's own server, as far as its policy goes
      await withProfile(desk, http, async (p) => {
        const tab = await p.open()
        await start(tab, { ...ann, url: `ws://127.0.0.1:${port}/ws` })
        const wanted: string[] = []
        for (const k of counts) {
          cutter.after = k
          cutter.drop()
          const mids = uuids(3)
          wanted.push(...mids)
          const stored = post(tab, id, mids)
          await Promise.race([cutter.cut(3), stored])
          cutter.after = 0
          cutter.drop()
          await tab.run(() => (globalThis as unknown as Globals).skein.client.reconnect(), 0)
          await stored
        }
        assert.deepEqual((await journal(bob, id)).map((m) => m.id), wanted, "each once, in the order in which they were written")
        await tab.until((n) => (globalThis as unknown as Globals).skein.told.length >= n, wanted.length)
        assert.deepEqual(await tab.run(() => (globalThis as unknown as Globals).skein.told, 0), wanted, "told once, in that order")
        assert.ok(cutter.cuts >= 2 * counts.length, `${cutter.cuts} cuts`)
        t.diagnostic(`${cutter.cuts} cuts, ${wanted.length} messages`)
      })
    } finally {
      await cutter.close()
    }
  })
}
