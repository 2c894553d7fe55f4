/// <reference lib="dom" />
import { SkeinError } from "./errors.js"
import { randomKey } from "./ids.js"
import type { ConversationRecord, FeedItem, Meta, Op, OutboxRecord, Snapshot, Store, ThreadRecord } from "./store.js"
import type { Entry } from "./wire.js"

function answer<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error ?? new Error("IndexedDB failed"))
  })
}

function ended(t: IDBTransaction): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    t.oncomplete = () => resolve()
    t.onabort = t.onerror = () => reject(t.error ?? new Error("IndexedDB failed"))
  })
}

const taken = (): SkeinError => new SkeinError({ code: "store_taken", message: "another client, perhaps in another tab, uses this store" })

const tables = ["meta", "conversations", "entries", "outbox", "feed", "threads"] as const

/** What is used of Web Locks. */
export interface Locks {
  request(name: string, o: { ifAvailable?: boolean; steal?: boolean; signal?: AbortSignal }, held: (lock: unknown) => Promise<void> | void): Promise<unknown>
  query(): Promise<{ held?: { name?: string }[] }>
}

export interface IndexedDBOptions {
  /** Default: the browser's. */
  factory?: IDBFactory
  locks?: Locks | undefined
  /** Takes the store from the client that has it. Without this the second client is refused, where there are Web Locks. */
  takeOver?: boolean
}

/**
 * Keeps everything in IndexedDB, in a database of its own: one for a user. It serves one client at a time: a
 * second one, in this tab or another, is refused with `store_taken`. Where there are no Web Locks, and
 * with takeOver, the newer one has it: the next write of the older one fails with `store_taken`, and changes
 * nothing. So also a tab that was frozen and does not know yet that it is not the one any more does no harm.
 */
export class IndexedDBStore implements Store {
  private db: Promise<IDBDatabase> | undefined
  private readonly factory: IDBFactory
  private readonly locks: Locks | undefined
  private readonly takeOver: boolean
  /** Stands in the database for as long as it is the one. */
  private owner = ""
  private unlock: () => void = () => undefined

  constructor(private readonly name: string, o: IndexedDBOptions = {}) {
    this.factory = o.factory ?? globalThis.indexedDB
    this.locks = "locks" in o ? o.locks : (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks
    this.takeOver = o.takeOver ?? false
  }

  /** Resolves once this is the one that may use the database. */
  private lock(): Promise<void> {
    const { locks } = this
    if (locks === undefined || this.owner !== "") return Promise.resolve()
    return new Promise((resolve, reject) => {
      const how = this.takeOver ? { steal: true } : { ifAvailable: true }
      const held = (lock: unknown): Promise<void> | void => {
        if (lock === null) return reject(taken())
        resolve()
        return new Promise((done) => (this.unlock = done))
      }
      locks.request(`skein-store:${this.name}`, how, held).catch(reject) // one that was stolen is noticed by the next write
    })
  }

  /** Another client may have it. */
  release(): void {
    this.owner = ""
    this.unlock()
  }

  /** Forgets everything, whoever uses it: their next write fails. For a logout. */
  async wipe(): Promise<void> {
    const t = (await this.open()).transaction([...tables], "readwrite", { durability: "strict" })
    for (const name of tables) t.objectStore(name).clear()
    await ended(t)
  }

  private open(): Promise<IDBDatabase> {
    this.db ??= new Promise((resolve, reject) => {
      const r = this.factory.open(this.name, 2)
      r.onupgradeneeded = ({ oldVersion }) => {
        r.result.createObjectStore("threads", { keyPath: ["conversation", "root"] })
        if (oldVersion > 0) return // version 1 kept no threads: none is until it is read
        r.result.createObjectStore("meta")
        r.result.createObjectStore("conversations", { keyPath: "id" })
        r.result.createObjectStore("entries", { keyPath: ["conversation", "seq"] })
        r.result.createObjectStore("outbox", { keyPath: "n" })
        r.result.createObjectStore("feed", { keyPath: "n" })
      }
      r.onsuccess = () => {
        r.result.onversionchange = () => r.result.close() // a later version of this code, or a deletion, waits for it
        resolve(r.result)
      }
      r.onerror = () => reject(r.error ?? new Error("IndexedDB cannot be opened"))
    })
    return this.db
  }

  async load(): Promise<Snapshot> {
    await this.lock()
    this.owner = randomKey()
    const t = (await this.open()).transaction([...tables], "readwrite", { durability: "strict" })
    const stored = ended(t)
    stored.catch(() => undefined) // told by an answer
    t.objectStore("meta").put(this.owner, "owner")
    const [meta, conversations, outbox, feed, threads] = await Promise.all([
      answer(t.objectStore("meta").get("meta") as IDBRequest<Meta | undefined>),
      answer(t.objectStore("conversations").getAll() as IDBRequest<ConversationRecord[]>),
      answer(t.objectStore("outbox").getAll() as IDBRequest<OutboxRecord[]>),
      answer(t.objectStore("feed").getAll() as IDBRequest<FeedItem[]>),
      answer(t.objectStore("threads").getAll() as IDBRequest<ThreadRecord[]>),
    ])
    await stored
    return { meta, conversations, outbox, feed, threads }
  }

  async apply(ops: readonly Op[]): Promise<void> {
    const t = (await this.open()).transaction([...tables], "readwrite", { durability: "strict" })
    let lost = false
    const owner = t.objectStore("meta").get("owner") as IDBRequest<string>
    owner.onsuccess = () => {
      lost = this.owner === "" || owner.result !== this.owner
      if (lost) t.abort()
    }
    for (const o of ops) one(t, o)
    await ended(t).catch((e: unknown) => {
      throw lost ? taken() : e
    })
  }

  async entries(conversation: string): Promise<Entry[]> {
    const t = (await this.open()).transaction("entries", "readonly")
    return await answer(t.objectStore("entries").getAll(IDBKeyRange.bound([conversation, 0], [conversation, Infinity])) as IDBRequest<Entry[]>)
  }

  async close(): Promise<void> {
    this.release()
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
      t.objectStore("threads").clear()
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
    case "thread":
      t.objectStore("threads").put(o.record)
      return
    case "threadForget":
      t.objectStore("threads").delete([o.conversation, o.root])
      return
    case "feed":
      t.objectStore("feed").put(o.item)
      return
    case "handled":
      t.objectStore("feed").delete(IDBKeyRange.upperBound(o.n))
  }
}
