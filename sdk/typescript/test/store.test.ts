import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { FileStore } from "../conformance/filestore.js"
import { newRecord } from "../src/conv.js"
import { Client, IndexedDBStore, MemoryStore, type Entry, type Locks, type Op, type Store } from "../src/index.js"
import { FakeBrowser } from "./browser.js"
import { FakeServer } from "./fake.js"

Object.assign(globalThis, { IDBKeyRange })

const entry = (seq: number, conversation = "grp:a"): Entry => ({ conversation, seq, storedAtMs: seq, count: seq, target: 0, amended: 0 })
const feed = (n: number): Op => ({ op: "feed", item: { n, kind: "entry", conversation: "grp:a", from: 0, seq: n, by: "", outbox: 0 } })

async function suite(open: () => Store): Promise<void> {
  let s = open()
  assert.deepEqual(await s.load(), { meta: undefined, conversations: [], outbox: [], feed: [] })
  const rec = newRecord("grp:a", 0)
  const send = { conversation: "grp:a", id: "x", content: { type: "text", text: "hi" } }
  const record = { n: 1, state: "pending" as const, send, madeAtMs: 5, seq: 0, code: "", number: 0, reason: "" }
  await s.apply([
    { op: "conversation", record: rec }, ...[3, 1, 2].map((n): Op => ({ op: "entry", entry: entry(n) })), { op: "entry", entry: entry(1, "grp:b") },
    { op: "outbox", record: { ...record, n: 2 } }, { op: "outbox", record }, feed(1), feed(2), feed(3),
  ])
  await s.apply([{ op: "forget", conversation: "grp:a", below: 2 }, { op: "outboxDelete", n: 2 }, { op: "handled", n: 2 }, { op: "entry", entry: { ...entry(3), amended: 9 } }])
  if (!(s instanceof MemoryStore)) { // the others are there again
    await s.close()
    s = open()
  }
  const snap = await s.load()
  assert.deepEqual(snap.conversations.map((r) => ({ ...newRecord("", 0), ...r })), [rec]) // undefined may be absent
  assert.deepEqual(snap.outbox, [record])
  assert.deepEqual(snap.feed.map((f) => f.n), [3])
  assert.deepEqual((await s.entries("grp:a")).map((e) => [e.seq, e.amended]), [[2, 0], [3, 9]])
  await s.apply([{ op: "reset" }])
  assert.deepEqual((await s.load()).conversations, [])
  assert.deepEqual(await s.entries("grp:b"), [])
  assert.equal((await s.load()).outbox.length, 1)
  await s.close()
}

test("MemoryStore keeps what it is given", () => suite(() => new MemoryStore()))

test("IndexedDBStore keeps it, also for the next client", () => {
  const factory = new IDBFactory()
  return suite(() => new IndexedDBStore("skein", { factory }))
})

test("FileStore keeps it, also for the next process", async () => {
  const dir = mkdtempSync(join(tmpdir(), "skein-ts-"))
  try {
    await suite(() => new FileStore(dir))
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test("a store serves one client: the second is refused, and one that takes over has the first one's writes fail", async () => {
  const factory = new IDBFactory()
  const b = new FakeBrowser(new FakeServer())
  const locks = [b.tab(), b.tab(), b.tab()].map((t) => t.locks) as [Locks, Locks, Locks]
  const taken = { code: "store_taken" }
  const one = new IndexedDBStore("skein", { factory, locks: locks[0] })
  await one.load()
  await one.apply([feed(1)])
  await assert.rejects(new IndexedDBStore("skein", { factory, locks: locks[1] }).load(), taken)
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: new IndexedDBStore("skein", { factory, locks: locks[1] }), WebSocket: class {} as never })
  await assert.rejects(c.connected(), taken)
  assert.equal(c.state.getSnapshot().error?.code, "store_taken")
  await one.apply([feed(2)])

  const next = new IndexedDBStore("skein", { factory, locks: locks[2], takeOver: true })
  assert.equal((await next.load()).feed.length, 2)
  await assert.rejects(one.apply([feed(3)]), taken)
  await next.apply([feed(4)])
  next.release()
  await assert.rejects(next.apply([feed(5)]), taken)
  const last = new IndexedDBStore("skein", { factory, locks: locks[1] })
  assert.deepEqual((await last.load()).feed.map((f) => f.n), [1, 2, 4])

  const without = new IndexedDBStore("skein", { factory, locks: undefined })
  await without.load()
  await assert.rejects(last.apply([feed(6)]), taken)
  await without.wipe()
  await assert.rejects(without.apply([feed(7)]), taken)
  assert.deepEqual((await without.load()).feed, [])
})
