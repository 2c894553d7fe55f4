import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { FileStore } from "../conformance/filestore.js"
import { IndexedDBStore, MemoryStore } from "../src/index.js"
import { FakeBrowser } from "./browser.js"
import { FakeServer } from "./fake.js"
import { keeps, servesOne, type Check } from "./suite.js"

Object.assign(globalThis, { IDBKeyRange })

const check: Check = {
  same: (got, want) => assert.deepEqual(got, want),
  refused: (p, code) => assert.rejects(p, { code }),
}

test("MemoryStore keeps what it is given", () => keeps(() => new MemoryStore(), check))

test("IndexedDBStore keeps it, also for the next client", () => {
  const factory = new IDBFactory()
  return keeps(() => new IndexedDBStore("skein", { factory }), check)
})

test("FileStore keeps it, also for the next process", async () => {
  const dir = mkdtempSync(join(tmpdir(), "skein-ts-"))
  try {
    await keeps(() => new FileStore(dir), check)
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test("a store serves one client: the second is refused, and one that takes over has the first one's writes fail", async () => {
  const factory = new IDBFactory()
  const b = new FakeBrowser(new FakeServer())
  const tabs = [b.tab(), b.tab(), b.tab()]
  await servesOne((tab, o) => new IndexedDBStore("skein", { factory, locks: tab === "without locks" ? undefined : tabs[tab]!.locks, ...o }), check)
})

test("a database of version 1 is kept, and keeps threads from then on", { timeout: 20_000 }, async () => {
  const factory = new IDBFactory()
  const old = await new Promise<IDBDatabase>((resolve, reject) => {
    const r = factory.open("skein", 1)
    r.onupgradeneeded = () => {
      r.result.createObjectStore("meta")
      r.result.createObjectStore("conversations", { keyPath: "id" })
      r.result.createObjectStore("entries", { keyPath: ["conversation", "seq"] })
      r.result.createObjectStore("outbox", { keyPath: "n" })
      r.result.createObjectStore("feed", { keyPath: "n" }).put({ n: 7, kind: "entry" })
    }
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error)
  })
  old.close()
  const root = { conversation: "grp:a", seq: 1, storedAtMs: 1, count: 1, target: 0, amended: 0 }
  const record = { conversation: "grp:a", root: 1, thread: { root, last: 0, follows: false, unread: 0, read: 0 }, replies: [], before: 0, stale: false, used: 1 }
  for (const threads of [[], [record]]) {
    const s = new IndexedDBStore("skein", { factory, locks: undefined })
    const snap = await s.load()
    assert.deepEqual([snap.feed.map((f) => f.n), snap.threads], [[7], threads])
    await s.apply([{ op: "thread", record }])
    await s.close()
  }
})
