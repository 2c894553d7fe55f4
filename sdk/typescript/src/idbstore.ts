/// <reference lib="dom" />
import type { ConversationRecord, FeedItem, Meta, Op, OutboxRecord, Snapshot, Store } from "./store.js"
import type { Entry } from "./wire.js"

function answer<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error ?? new Error("IndexedDB failed"))
  })
}

const tables = ["meta", "conversations", "entries", "outbox", "feed"] as const

/** Keeps everything in IndexedDB, in a database of its own: one for a user. */
export class IndexedDBStore implements Store {
  private db: Promise<IDBDatabase> | undefined

  /** The factory is the browser's where it is not given. */
  constructor(private readonly name: string, private readonly factory: IDBFactory = globalThis.indexedDB) {}

  private open(): Promise<IDBDatabase> {
    this.db ??= new Promise((resolve, reject) => {
      const r = this.factory.open(this.name, 1)
      r.onupgradeneeded = () => {
        r.result.createObjectStore("meta")
        r.result.createObjectStore("conversations", { keyPath: "id" })
        r.result.createObjectStore("entries", { keyPath: ["conversation", "seq"] })
        r.result.createObjectStore("outbox", { keyPath: "n" })
        r.result.createObjectStore("feed", { keyPath: "n" })
      }
      r.onsuccess = () => resolve(r.result)
      r.onerror = () => reject(r.error ?? new Error("IndexedDB cannot be opened"))
    })
    return this.db
  }

  async load(): Promise<Snapshot> {
    const t = (await this.open()).transaction([...tables], "readonly")
    const [meta, conversations, outbox, feed] = await Promise.all([
      answer(t.objectStore("meta").get("meta") as IDBRequest<Meta | undefined>),
      answer(t.objectStore("conversations").getAll() as IDBRequest<ConversationRecord[]>),
      answer(t.objectStore("outbox").getAll() as IDBRequest<OutboxRecord[]>),
      answer(t.objectStore("feed").getAll() as IDBRequest<FeedItem[]>),
    ])
    return { meta, conversations, outbox, feed }
  }

  async apply(ops: readonly Op[]): Promise<void> {
    const t = (await this.open()).transaction([...tables], "readwrite", { durability: "strict" })
    const done = new Promise<void>((resolve, reject) => {
      t.oncomplete = () => resolve()
      t.onabort = t.onerror = () => reject(t.error ?? new Error("IndexedDB failed"))
    })
    for (const o of ops) one(t, o)
    await done
  }

  async entries(conversation: string): Promise<Entry[]> {
    const t = (await this.open()).transaction("entries", "readonly")
    return await answer(t.objectStore("entries").getAll(IDBKeyRange.bound([conversation, 0], [conversation, Infinity])) as IDBRequest<Entry[]>)
  }

  async close(): Promise<void> {
    if (this.db === undefined) return
    const db = await this.db
    db.close()
  }
}

function one(t: IDBTransaction, o: Op): void {
  switch (o.op) {
    case "reset":
      t.objectStore("conversations").clear()
      t.objectStore("entries").clear()
      return
    case "forget":
      t.objectStore("entries").delete(IDBKeyRange.bound([o.conversation, 0], [o.conversation, o.below], false, true))
      return
    case "entry":
      t.objectStore("entries").put(o.entry)
      return
    case "conversation":
      t.objectStore("conversations").put(o.record)
      return
    case "meta":
      t.objectStore("meta").put(o.meta, "meta")
      return
    case "outbox":
      t.objectStore("outbox").put(o.record)
      return
    case "outboxDelete":
      t.objectStore("outbox").delete(o.n)
      return
    case "feed":
      t.objectStore("feed").put(o.item)
      return
    case "handled":
      t.objectStore("feed").delete(IDBKeyRange.upperBound(o.n))
  }
}
