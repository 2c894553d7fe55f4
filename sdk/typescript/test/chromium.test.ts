/// <reference lib="dom" />
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Page } from "playwright-core"
import { withChromium, type InPage } from "./chromium.js"
import { ids, login, withServer } from "./server.js"
import { toUuid } from "../src/ids.js"
import type { Client, Message } from "../src/index.js"

type Globals = { skein: InPage }

interface Start {
  url: string
  token: string
  device: string
}

/** Opens the shared client in a page, and listens to it. */
async function start(page: Page, o: Start): Promise<void> {
  await page.evaluate(async ({ url, token, device }) => {
    const { skein } = globalThis as unknown as Globals
    skein.client = skein.shared({ name: "ann", url, getToken: () => token, device: { id: device, class: "DEVICE_CLASS_WEB" } })
    skein.told = []
    skein.client.on("message", (m) => skein.told.push(m.id))
    skein.client.on("sent", (m) => skein.told.push(m.id))
    await skein.client.connected()
  }, o)
}

/** Posts messages under these ids, a few at a time; what was said to be posted is told to `posted`. Resolves once all are stored. */
function post(page: Page, conversation: string, all: readonly string[]): Promise<void> {
  return page.evaluate(async ([id, mids]) => {
    const { skein, posted } = globalThis as unknown as Globals & { posted: (id: string) => void }
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

for (const end of ["closed", "crashed"] as const) {
  test(`in Chromium, two tabs post 500 messages; the leading one is ${end} in the middle: each is stored once`, { timeout: 180_000 }, async (t) => {
    await withServer(async (s, client) => {
      const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
      const bob = client(b.options)
      await bob.connected()
      const { group } = await bob.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [a.user] })
      const id = group?.conversation ?? ""
      const token = await a.options.getToken("")
      await withChromium(s.http, async (open, context) => {
        const said = new Set<string>()
        await context.exposeFunction("posted", (mid: string) => void said.add(mid))
        const o: Start = { url: a.options.url, token, device: a.options.device!.id! }
        const [first, second] = [await open(), await open()]
        await start(first, o)
        await start(second, o)
        await second.evaluate((id) => (globalThis as unknown as Globals).skein.client.conversation(id).load(), id)
        const uuids = (n: number): string[] => Array.from({ length: n }, () => toUuid(ids.next()))
        const [mine, theirs] = [uuids(250), uuids(250)]
        const half = new Promise<void>((done) => bob.on("message", (m) => m.seq > 100 && done()))
        const dying = post(first, id, theirs).catch(() => undefined)
        const living = post(second, id, mine)
        await half
        if (end === "closed") await first.close()
        else {
          const cdp = await context.newCDPSession(first)
          void cdp.send("Page.crash").catch(() => undefined) // it has no answer
          await first.waitForEvent("crash")
        }
        await Promise.all([dying, living])
        const last = uuids(1) // behind whatever the other tab left in the outbox
        const came = new Promise<void>((done) => bob.on("message", (m) => m.id === last[0] && done()))
        await post(second, id, last)
        await came
        const all = await journal(bob, id)
        const got = all.map((m) => m.id)
        assert.equal(new Set(got).size, got.length, "each once")
        assert.deepEqual(got.filter((x) => mine.includes(x)), mine, "of the tab that lives: all, in order")
        for (const mid of theirs) if (said.has(mid)) assert.ok(got.includes(mid), `${mid} was said to be posted`)
        const told = async (): Promise<string[]> => second.evaluate(() => (globalThis as unknown as Globals).skein.told)
        await second.waitForFunction((n) => (globalThis as unknown as Globals).skein.told.length >= n, got.length)
        assert.deepEqual(await told(), got, "the tab that lives was told each once, in order")
        const shown = await second.evaluate((id) => (globalThis as unknown as Globals).skein.client.conversation(id).messages.getSnapshot().filter((m) => m.kind === "message").map((m) => m.id), id)
        assert.deepEqual(shown, got, "and shows them")
        t.diagnostic(`${got.length} messages, ${theirs.filter((x) => got.includes(x)).length} of 250 of the tab that was ${end}`)
      })
    })
  })
}

test("in Chromium, a second client on a store is refused, in another tab too; the first goes on", { timeout: 120_000 }, async () => {
  await withServer(async (s) => {
    const a = await login(s.http, "ann")
    const token = await a.options.getToken("")
    await withChromium(s.http, async (open) => {
      const [first, second] = [await open(), await open()]
      const plain = (page: Page): Promise<string> =>
        page.evaluate(async ({ url, token, device }) => {
          const { skein } = globalThis as unknown as Globals
          const c = new skein.Client({ url, getToken: () => token, device: { id: device }, store: new skein.IndexedDBStore("one") })
          skein.client = c
          return c.connected().then(() => "connected", (e: { code: string }) => e.code)
        }, { url: a.options.url, token, device: a.options.device!.id! })
      assert.equal(await plain(first), "connected")
      assert.equal(await plain(second), "store_taken")
      const user = await first.evaluate(() => (globalThis as unknown as Globals).skein.client.user)
      assert.equal(await first.evaluate(async (u) => (await (globalThis as unknown as Globals).skein.client.dm(u).send("note")).text, user), "note")
      await first.evaluate(() => (globalThis as unknown as Globals).skein.client.close())
      assert.equal(await plain(second), "connected", "once the first one is closed")
    })
  })
})
