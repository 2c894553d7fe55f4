import { Conv } from "./conv.js"
import { SkeinError } from "./errors.js"
import type { EventMap, Events } from "./events.js"
import { IdSource, randomKey } from "./ids.js"
import type { FeedItem, Meta, Op, Snapshot, ThreadRecord } from "./store.js"
import type { Limits, Newest, Pull, ServerFrame, Entry, ClientFrame, Welcome } from "./wire.js"
import type { Settings } from "./options.js"
import type { Socket } from "./socket.js"
import type { Request, Refused, PingState } from "./sync.js"
import type { Message } from "./message.js"
import type { Item, SendQueue } from "./outbox.js"
import type { CallState } from "./call.js"
import { closeStep, keepAlive, nextOfConnection, redial, startDial } from "./connect.js"
import { flushMarks } from "./marks.js"
import { initOutbox, pump } from "./outbox.js"
import { askGone, perish, perishFirst } from "./perish.js"
import { syncAgain } from "./sync.js"
import { pumpPulls, sendPulls } from "./pull.js"
import { dispatch } from "./feed.js"
import { refreshThreads, trimThreads } from "./threads.js"

export type State = "disconnected" | "connecting" | "connected" | "stopped" | "closed"

interface Input {
  conversations: readonly string[]
  run: () => void
  failed?: ((e: unknown) => void) | undefined
}

/** At most so many inputs become one batch. */
const turnInputs = 256
/** The entries of so many conversations that nobody looks at stay in memory. */
const maxIdle = 32
/** At most so many entries of a conversation are kept; older ones are pulled again when they are shown. */
const maxKept = 5000
/** So many while the conversation is open in memory: then the older half goes, unless somebody reads back and little came since. */
const maxOpen = 20_000

/**
 * The state of a client. Everything happens in turns: inputs (frames, commands, timers) are taken one
 * after the other, what they change is stored in one batch, and only then something leaves the
 * device or is told to the program. Entries of a conversation are read from the store before an
 * input that names it is handled, so handling is synchronous.
 */
export class Core {
  meta: Meta = { user: "", timeline: "", device: "", position: "", listing: false, listNext: "", settledAtMs: 0, lastFeed: 0 }
  readonly convs = new Map<string, Conv>()
  readonly ids: IdSource

  // The turn.
  private inbox: Input[] = []
  private busy = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private ops: Op[] = []
  private readonly dirty = new Set<Conv>()
  metaDirty = false
  urgent = false
  lazyAt = 0
  private afterCommit: ((failed?: SkeinError) => void)[] = []
  handled = 0
  handledAt = 0
  /** Events above this one are not handled by all that hear them: they stay in the store. */
  heardBy = Infinity
  /** Conversations whose messages somebody subscribed to, and how many did. */
  readonly looked = new Map<string, number>()
  private uses = 0
  /** Entries were read since it was looked whether some can be forgotten. */
  private opened = false
  /** Conversations that changed since the program was told; the list did. */
  readonly changedViews = new Set<string>()
  over: SkeinError | undefined
  readonly ended: Promise<void>
  private end: () => void = () => undefined
  ready = false

  // Outbox.
  readonly items = new Map<string, Item>()
  readonly queues = new Map<string, SendQueue>()
  active: SendQueue[] = []
  inflight = 0
  pumpAt = 0
  lastN = 0

  // Connection.
  state: State = "disconnected"
  stateError: SkeinError | undefined
  link: Socket | undefined
  dialing = 0
  /** A connection that is made, and has no Welcome yet. */
  greeting: Socket | undefined
  dialEndsAt = 0
  retryAt = 0
  attempt = 0
  rejected = ""
  rejections = 0
  token = ""
  goAwayAt = 0
  reason: SkeinError | undefined
  limits: Limits = {}
  heartbeat: NonNullable<Welcome["heartbeat"]> = {}
  lastSent = 0
  lastHeard = 0
  lastPing = 0
  awaiting = 0
  ping: PingState | undefined
  private number = 0
  readonly requests = new Map<number, Request>()
  readonly calls = new Map<number, CallState>()
  /** Of a class of calls, when the server has room for a burst again. */
  readonly paced = new Map<string, number>()
  watched: readonly string[] = []
  background = false
  toldBackground = false
  closeAt = 0
  byeAt = 0
  tokenEndsAt = 0
  renewAt = 0
  askingToken = false
  offered = ""
  /** By how much the server's clock is ahead. */
  ahead = 0
  readonly waiters = new Set<(e?: SkeinError) => void>()

  // Sync.
  syncing = false
  wantSync = false
  again: Refused = { at: 0, tries: 0, kind: "sync" }
  pageAgain: Refused = { at: 0, tries: 0, kind: "page" }
  proof: Newest | undefined
  resynced = false
  held: Entry[] = []
  heldOver = false
  base = ""
  readonly changed = new Set<Conv>()
  readonly unsure = new Set<Conv>()
  readonly unknown = new Map<string, number>()
  tick = 0
  relisted = false
  pullQueue: Conv[] = []
  pullsAt = 0
  asks: Pull[] = []
  refusedFrame = 0
  refusedUntil = 0

  // What disappears.
  perishAt = 0
  lookedAhead = 0
  readonly goneAsk = new Set<Conv>()
  goneAskAt = 0
  goneAsked = 0

  /** The messages of entries and outbox records that were shown: what did not change is the same object. */
  readonly shown = new WeakMap<object, Message>()

  // Threads that are kept, by conversation and root.
  readonly threads = new Map<string, ThreadRecord>()
  /** Counts, by conversation, what was applied to threads, kept or not: an answer that was asked for before may not have it. */
  readonly happened = new Map<string, number>()
  /** Stale threads are read again: one is asked for; the next not before threadsAt; those that the server refused on this connection. */
  refreshing = false
  threadsAt = 0
  readonly refusedThreads = new Set<string>()

  // Marks.
  readonly markDue = new Set<Conv>()
  marksAt = 0

  constructor(readonly o: Settings, readonly events: Events) {
    this.ids = new IdSource(o.now)
    this.ended = new Promise((done) => (this.end = done))
  }

  /** Reads the store and begins. */
  async start(): Promise<void> {
    this.busy = true
    let snap: Snapshot
    try {
      snap = await this.o.store.load()
    } catch (e) {
      this.die(e)
      this.busy = false
      this.drainSoon() // it ends, and so does whatever waits for it
      return
    }
    if (snap.meta !== undefined) this.meta = { ...snap.meta }
    for (const rec of snap.conversations) {
      const cv = new Conv({ ...rec, lifetimes: rec.lifetimes ?? [] }) // an earlier version kept none
      this.convs.set(rec.id, cv)
    }
    for (const t of snap.threads ?? []) this.threads.set(`${t.conversation} ${t.root}`, t)
    for (const cv of this.convs.values()) trimThreads(this, cv)
    initOutbox(this, snap.outbox)
    if (this.meta.device === "" && this.o.device.id === undefined) {
      this.meta.device = randomKey()
      this.metaDirty = true
    }
    const waiting = snap.feed
    await this.load([...new Set(waiting.map((i) => i.conversation)), ...this.withHiddenLast()])
    if (this.over === undefined) perishFirst(this) // before anything is shown
    for (const item of waiting) this.after(() => dispatch(this, item, undefined))
    this.ready = true
    for (const id of this.convs.keys()) this.changedViews.add(id)
    this.busy = false
    if (this.over === undefined && this.o.autoConnect) startDial(this)
    this.drainSoon()
  }

  /** Conversations whose last entry may not be shown: the list needs the one before. */
  private withHiddenLast(): string[] {
    return [...this.convs.values()].filter((cv) => this.needs(cv)).map((cv) => cv.rec.id)
  }

  /** Takes an input that needs the entries of these conversations. */
  post(conversations: readonly string[], run: () => void, failed?: (e: unknown) => void): void {
    this.inbox.push({ conversations, run, failed })
    this.drainSoon()
  }

  /** Runs f in a turn, and answers once what it changed is stored. */
  do<T>(conversations: readonly string[], f: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.over !== undefined && !this.busy) {
        reject(this.over)
        return
      }
      this.post(
        conversations,
        () => {
          const v = f()
          this.after((failed) => (failed === undefined ? resolve(v) : reject(failed)))
        },
        reject,
      )
    })
  }

  private drainSoon(): void {
    if (!this.busy) {
      this.busy = true
      queueMicrotask(() => void this.drain())
    }
  }

  private async drain(): Promise<void> {
    try {
      do {
        for (const input of this.inbox.splice(0, turnInputs)) {
          if (this.over !== undefined) {
            input.failed?.(this.over)
            continue
          }
          await this.load(input.conversations)
          try {
            input.run()
          } catch (e) {
            if (input.failed === undefined) throw e
            input.failed(e)
          }
        }
        await this.turn()
      } while (this.inbox.length > 0)
    } catch (e) {
      this.die(e)
    }
    if (this.over !== undefined && this.state !== "closed") this.finish()
    this.busy = false
    if (this.inbox.length > 0) this.drainSoon()
    else {
      if (this.opened && this.ops.length === 0) this.forgetIdle()
      this.schedule()
    }
  }

  private async turn(): Promise<void> {
    await this.commit()
    if (this.over === undefined) {
      this.timers(this.o.now())
      await this.commit()
    }
    if (this.over === undefined) {
      pump(this)
      pumpPulls(this)
      sendPulls(this)
      refreshThreads(this, this.o.now())
      await this.commit()
    }
  }

  private schedule(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.over !== undefined) return
    const at = this.nextDeadline()
    if (at > 0) this.timer = setTimeout(() => this.drainSoon(), Math.max(0, Math.min(at - this.o.now(), 3600_000)))
  }

  private timers(now: number): void {
    if (due(this.retryAt, now)) {
      this.retryAt = 0
      redial(this)
    }
    if (due(this.marksAt, now)) flushMarks(this)
    keepAlive(this, now)
    if (this.link !== undefined) syncAgain(this, now)
    askGone(this, now)
    perish(this, now)
    closeStep(this, now)
  }

  private nextDeadline(): number {
    return earliest(this.retryAt, this.marksAt, this.lazyAt, this.pumpAt, this.pullsAt, this.threadsAt, this.handledAt, this.perishAt, nextOfConnection(this))
  }

  /** Has the entries of conversations read that are not yet. */
  async load(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const cv = this.convs.get(id)
      if (cv !== undefined) cv.usedAt = ++this.uses
      if (cv === undefined) continue
      if (cv.entries !== undefined) {
        if (cv.entries.length > maxOpen && cv.rec.high >= cv.readBack + maxOpen / 2) this.keepLast(cv, maxOpen / 2)
        continue
      }
      try {
        const all = (await this.o.store.entries(id)).filter((e) => e.seq >= cv.rec.low && e.seq <= cv.rec.high)
        if (cv.entries !== undefined) continue
        cv.entries = all
        this.opened = true
        if (all.length > maxKept) this.keepLast(cv, maxKept)
      } catch (e) {
        this.die(e)
      }
    }
  }

  /** Keeps so many entries of a conversation, in memory and in the store. */
  private keepLast(cv: Conv, n: number): void {
    const all = cv.kept()
    const low = all[all.length - n]!.seq
    this.op({ op: "forget", conversation: cv.rec.id, below: low })
    cv.forgetEntries(low)
    cv.rec.low = low
    this.touch(cv, true)
  }

  /** Of conversations that nobody looks at, the entries of those that were used last stay in memory. */
  private forgetIdle(): void {
    this.opened = false
    const idle = [...this.convs.values()].filter((cv) => cv.entries !== undefined && !this.looked.has(cv.rec.id) && !this.needs(cv))
    if (idle.length <= maxIdle) return
    idle.sort((a, b) => a.usedAt - b.usedAt)
    for (const cv of idle.slice(0, idle.length - maxIdle)) {
      cv.entries = undefined
      this.events.changed([cv.rec.id]) // the views let go of its messages, too
    }
  }

  /** Its line of the list is made from its entries, or something of it disappears. */
  private needs(cv: Conv): boolean {
    const r = cv.rec
    return (r.mine?.deleted?.length ?? 0) > 0 || r.lifetimes.length > 0 || r.last?.deleted === true
  }

  op(o: Op): void {
    this.ops.push(o)
  }

  /** Runs after the batch of this turn is stored; with an error, the client ends and it is not known. */
  after(f: (failed?: SkeinError) => void): void {
    this.afterCommit.push(f)
  }

  /** A conversation's record changed; urgent ones are stored this turn. */
  touch(cv: Conv, urgent: boolean): void {
    this.dirty.add(cv)
    this.changedViews.add(cv.rec.id)
    this.urgent ||= urgent
  }

  /** Forgets what was to be stored of conversations: they are all gone. */
  forgetConvs(): void {
    for (const id of this.convs.keys()) this.changedViews.add(id)
    this.convs.clear()
    this.dirty.clear()
    this.goneAsk.clear()
  }

  /** An event about something stored: told once it is stored, and again if the program dies before. */
  feed(item: Partial<FeedItem> & Pick<FeedItem, "kind">, entry?: Entry): void {
    const full: FeedItem = { n: ++this.meta.lastFeed, conversation: "", from: 0, seq: 0, by: "", outbox: 0, ...item }
    this.metaDirty = true
    this.op({ op: "feed", item: full })
    this.after((failed) => {
      if (failed === undefined) dispatch(this, full, entry)
    })
  }

  /** A passing event, after what was stored before it. */
  tell<K extends keyof EventMap>(name: K, e: EventMap[K]): void {
    this.after((failed) => {
      if (failed === undefined) this.events.emit(name, e)
    })
  }

  async commit(): Promise<void> {
    const now = this.o.now()
    if (this.dirty.size > 0 && this.lazyAt === 0) this.lazyAt = now + 1000
    const lazy = due(this.lazyAt, now) || due(this.handledAt, now)
    if ((this.ops.length > 0 || this.urgent || this.metaDirty || lazy) && this.over === undefined) {
      const ops = this.ops
      for (const cv of this.dirty) if (this.convs.get(cv.rec.id) === cv) ops.push({ op: "conversation", record: { ...cv.rec } })
      if (this.metaDirty) ops.push({ op: "meta", meta: { ...this.meta } })
      if (this.handledAt > 0) ops.push({ op: "handled", n: Math.min(this.handled, this.heardBy) })
      this.ops = []
      this.dirty.clear()
      this.metaDirty = this.urgent = false
      this.lazyAt = this.handledAt = 0
      try {
        if (ops.length > 0) await this.o.store.apply(ops)
      } catch (e) {
        this.die(e)
      }
    }
    if (this.over !== undefined) return
    const after = this.afterCommit
    this.afterCommit = []
    for (const f of after) f()
    if (this.changedViews.size > 0) {
      const views = [...this.changedViews]
      this.changedViews.clear()
      for (const id of views) {
        const cv = this.convs.get(id)
        if (cv !== undefined) cv.line = undefined
      }
      this.events.changed(views)
    }
  }

  send(f: ClientFrame): boolean {
    if (this.link === undefined) return false
    this.link.send(f)
    this.lastSent = this.o.now()
    return true
  }

  nextNumber(): number {
    this.number = (this.number % 0xffffffff) + 1
    return this.number
  }

  /** The server has to answer what was just sent. */
  owes(): void {
    if (this.awaiting === 0) this.awaiting = this.o.now()
  }

  backoff(attempt: number): number {
    return this.jitter(Math.min(20_000, 500 * 2 ** Math.min(attempt, 10)))
  }

  jitter(most: number): number {
    return this.o.random() * most
  }

  die(cause: unknown): void {
    if (this.over !== undefined) return
    this.over = cause instanceof SkeinError ? cause : new SkeinError({ code: "store", message: cause instanceof Error ? cause.message : String(cause), cause })
  }

  private finish(): void {
    const why = this.over ?? new SkeinError({ code: "closed" })
    clearTimeout(this.timer)
    for (const f of this.afterCommit) f(why)
    this.afterCommit = []
    this.greeting?.close()
    this.link?.close()
    this.link = this.greeting = undefined
    for (const c of this.calls.values()) c.done({ lost: why })
    this.calls.clear()
    for (const r of this.requests.values()) r.done?.(undefined, why)
    this.requests.clear()
    for (const it of this.items.values()) it.settle?.(undefined, why)
    for (const w of this.waiters) w(why)
    this.waiters.clear()
    this.o.store.release?.()
    this.state = "closed"
    this.stateError = why.code === "closed" ? undefined : why
    this.events.changed([""])
    this.events.emit("state", { state: "closed", error: this.stateError })
    this.end()
  }
}

export function due(at: number, now: number): boolean {
  return at > 0 && now >= at
}

/** The first of the times that are set. */
export function earliest(...times: number[]): number {
  let first = 0
  for (const t of times) if (t > 0 && (first === 0 || t < first)) first = t
  return first
}

/** The conversations that a frame names: their entries are read before it is handled. */
export function named(k: Core, f: ServerFrame): string[] {
  const of = (es: readonly { conversation?: string }[] | undefined): string[] => (es ?? []).map((e) => e.conversation ?? "")
  if (f.push !== undefined) return of(f.push.entries)
  if (f.syncDelta !== undefined) return [...of(f.syncDelta.conversations), ...of(k.held)]
  if (f.heads !== undefined) return of(f.heads.heads)
  const one = f.sendAck ?? f.range ?? f.receipt ?? f.myState ?? f.part ?? f.floor
  return one?.conversation === undefined ? [] : [one.conversation]
}
