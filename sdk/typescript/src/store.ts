import type { Entry, MyState, Newest, Send } from "./wire.js"

/**
 * Keeps what a client knows. One store serves one client at a time; the client does not close it.
 * What is passed in or returned is changed by neither side afterwards.
 */
export interface Store {
  /** What the client keeps in memory. */
  load(): Promise<Snapshot>
  /** Makes all changes, in their order, or none. When it resolves they are durable. */
  apply(ops: readonly Op[]): Promise<void>
  /** All entries of a conversation, ascending. */
  entries(conversation: string): Promise<Entry[]>
  close(): Promise<void>
  /** The client is done with it: another one may have it. */
  release?(): void
}

export interface Snapshot {
  meta: Meta | undefined
  conversations: ConversationRecord[]
  /** Ascending by n. */
  outbox: OutboxRecord[]
  /** Events that were not handled, ascending by n. */
  feed: FeedItem[]
  /** The threads that are kept: at most 64, with at most 200 replies and 256 KiB each, or one reply. */
  threads: ThreadRecord[]
}

/** A change. */
export type Op =
  /** Forgets conversations, entries and threads; meta, outbox and feed stay. */
  | { op: "reset" }
  /** Drops the entries of a conversation below a seq. */
  | { op: "forget"; conversation: string; below: number }
  /** Adds an entry, or replaces it. */
  | { op: "entry"; entry: Entry }
  | { op: "conversation"; record: ConversationRecord }
  | { op: "meta"; meta: Meta }
  | { op: "outbox"; record: OutboxRecord }
  | { op: "outboxDelete"; n: number }
  | { op: "feed"; item: FeedItem }
  /** Adds a thread, or replaces it as a whole; forgets one. Nothing else touches a thread. */
  | { op: "thread"; record: ThreadRecord }
  | { op: "threadForget"; conversation: string; root: number }
  /** Drops events up to that number. */
  | { op: "handled"; n: number }

/** What there is one of. */
export interface Meta {
  /** Whose journal it is, and which; empty at first. */
  user: string
  timeline: string
  /** The id that the client made for itself, if it was given none. */
  device: string
  /** Up to here everything is in the store, or known to be missing. */
  position: string
  /** The list of a cold start is not complete; listNext is the cursor of the next page. */
  listing: boolean
  listNext: string
  /** Marks that were sent before (Unix ms) need no repetition. */
  settledAtMs: number
  /** The highest feed number ever used. */
  lastFeed: number
}

/** A time of membership that is over, with another one after it. SPEC §4.3. */
export interface Window {
  first: number
  until: number
  /** Messages between it and the next one, as far as the read mark is not behind them. */
  hidden: number
}

/** A period in which what is said disappears. SPEC §4.27. */
export interface Lifetime {
  /** The entry that began it; until is its last one, 0: it goes on. */
  after: number
  until: number
  /** How long after it was stored an entry of it is gone. */
  seconds: number
  /** The last entry of it that was noticed here to be gone, 0: none. */
  gone: number
}

/** What is known of a conversation. Lists in it are replaced, never changed. */
export interface ConversationRecord {
  id: string
  title: string
  /** First visible entry of the last time the user was a member, 0 = not known; last, 0 = still a member. */
  first: number
  until: number
  earlier: readonly Window[]
  /** The window of entries in the store; empty when high < low. */
  low: number
  high: number
  /** Last seq known to exist, and its running count. */
  head: number
  headCount: number
  lastAtMs: number
  read: number
  readCount: number
  /** Messages after the read mark that were recalled, ascending, and how many more there are behind the last one. */
  recalled: readonly number[]
  recalledMore: number
  /** The same of those that mention the user. */
  mentions: readonly number[]
  mentionsMore: number
  received: number
  /** When read or received last moved here. */
  markedAtMs: number
  peerReceived: number
  peerRead: number
  /** The last entry up to high that amends nothing. */
  last: Entry | undefined
  /** The entry with the greatest pos that was applied. */
  newest: Newest | undefined
  mine: MyState | undefined
  /** Ascending. */
  lifetimes: readonly Lifetime[]
}

/** A message of this device that is not an applied entry yet. */
export interface OutboxRecord {
  /** Orders the outbox. */
  n: number
  /** pending: to be sent (again). stored: acknowledged, waits for those before it. failed: refused for good. */
  state: "pending" | "stored" | "failed"
  send: Send
  madeAtMs: number
  /** Of a stored one. */
  seq: number
  /** Of a failed one. */
  code: string
  number: number
  reason: string
}

/** A thread as it is kept. */
export interface ThreadRecord {
  conversation: string
  /** Seq of its root. */
  root: number
  /** What the user has of it, with its root as it is now. */
  thread: { root: Entry; last: number; follows: boolean; unread: number; read: number }
  /** A run of its replies up to the last one that is known, ascending, as they are now, without what was taken back. */
  replies: readonly Entry[]
  /** Where those before them are asked for; 0: there are none. */
  before: number
  /** There may be replies, and changes of them, that are not known here. */
  stale: boolean
  /** Orders the threads: the greatest was read last. */
  used: number
}

/** An event that the program has not handled yet: what it tells is looked up by seq. */
export interface FeedItem {
  n: number
  kind: "entry" | "ack" | "failed" | "gap" | "reset" | "changed" | "recalled" | "gone"
  conversation: string
  from: number
  seq: number
  /** recalled: who took it back, if known. */
  by: string
  /** failed: the outbox record's n. */
  outbox: number
}

/** Applies changes to plain maps: what a store in memory does, and one that keeps a log. */
export class Tables {
  meta: Meta | undefined
  readonly conversations = new Map<string, ConversationRecord>()
  readonly entries = new Map<string, Map<number, Entry>>()
  readonly outbox = new Map<number, OutboxRecord>()
  readonly feed = new Map<number, FeedItem>()
  readonly threads = new Map<string, ThreadRecord>()

  apply(ops: readonly Op[]): void {
    for (const o of ops) this.one(o)
  }

  private one(o: Op): void {
    switch (o.op) {
      case "reset":
        this.conversations.clear()
        this.entries.clear()
        this.threads.clear()
        return
      case "forget": {
        const all = this.entries.get(o.conversation)
        for (const seq of all?.keys() ?? []) if (seq < o.below) all?.delete(seq)
        return
      }
      case "entry": {
        let all = this.entries.get(o.entry.conversation)
        if (all === undefined) this.entries.set(o.entry.conversation, (all = new Map<number, Entry>()))
        all.set(o.entry.seq, o.entry)
        return
      }
      case "conversation":
        this.conversations.set(o.record.id, o.record)
        return
      case "meta":
        this.meta = o.meta
        return
      case "outbox":
        this.outbox.set(o.record.n, o.record)
        return
      case "outboxDelete":
        this.outbox.delete(o.n)
        return
      case "thread":
        this.threads.set(`${o.record.conversation} ${o.record.root}`, o.record)
        return
      case "threadForget":
        this.threads.delete(`${o.conversation} ${o.root}`)
        return
      case "feed":
        this.feed.set(o.item.n, o.item)
        return
      case "handled":
        for (const n of this.feed.keys()) if (n <= o.n) this.feed.delete(n)
    }
  }

  snapshot(): Snapshot {
    return {
      meta: this.meta,
      conversations: [...this.conversations.values()],
      outbox: [...this.outbox.values()].sort((a, b) => a.n - b.n),
      feed: [...this.feed.values()].sort((a, b) => a.n - b.n),
      threads: [...this.threads.values()],
    }
  }

  of(conversation: string): Entry[] {
    return [...(this.entries.get(conversation)?.values() ?? [])].sort((a, b) => a.seq - b.seq)
  }
}

/** Keeps everything while the process lives. */
export class MemoryStore implements Store {
  private readonly tables = new Tables()
  load(): Promise<Snapshot> {
    return Promise.resolve(this.tables.snapshot())
  }
  apply(ops: readonly Op[]): Promise<void> {
    this.tables.apply(ops)
    return Promise.resolve()
  }
  entries(conversation: string): Promise<Entry[]> {
    return Promise.resolve(this.tables.of(conversation))
  }
  close(): Promise<void> {
    return Promise.resolve()
  }
}
