import { take } from "./apply.js"
import { earliest, type Core } from "./core.js"
import { SkeinError, errorOf } from "./errors.js"
import { toUuid } from "./ids.js"
import { entryOf, messageOf, messageOfOutbox, type Message } from "./message.js"
import type { OutboxRecord } from "./store.js"
import { sendPing } from "./sync.js"
import type { Entry, Send, ServerFrame } from "./wire.js"

/*
 * Sends messages (SPEC §5): in the store first, then on the wire; of a conversation in the order of n; with the
 * same id until it is answered.
 */

/** An outbox record in memory. */
export interface Item {
  rec: OutboxRecord
  /** Answers the program. */
  settle: ((m: Message | undefined, e?: SkeinError) => void) | undefined
  /** On this connection, not answered. */
  sent: boolean
  /** It may have left the device, perhaps in an earlier run. */
  left: boolean
  sentAt: number
  tries: number
  /** The id's time was refused: it gets a new one once the server's time is known. */
  skewed: boolean
}

/** A conversation's pending items in order. */
export interface SendQueue {
  conversation: string
  items: Item[]
  inflight: number
  /** One was refused for now: all that are under way are answered before it is sent again, with those behind it. */
  held: boolean
  /** The refused message that will not come again: the next one takes its place. */
  instead: string
  retryAt: number
  /** In k.active. */
  listed: boolean
}

function itemOf(rec: OutboxRecord, left: boolean): Item {
  return { rec, settle: undefined, sent: false, left, sentAt: 0, tries: 0, skewed: false }
}

export function initOutbox(k: Core, records: readonly OutboxRecord[]): void {
  for (const r of records) {
    // What was acknowledged and not applied is sent once more: the answer tells where it is. SPEC §7.8.
    const rec: OutboxRecord = r.state === "stored" ? { ...r, state: "pending", seq: 0 } : { ...r }
    const it = itemOf(rec, rec.state === "pending")
    k.items.set(rec.send.id, it)
    k.lastN = Math.max(k.lastN, rec.n)
    if (rec.state === "pending") enqueue(k, it)
  }
}

function enqueue(k: Core, it: Item): void {
  const conversation = it.rec.send.conversation
  let q = k.queues.get(conversation)
  if (q === undefined) {
    q = { conversation, items: [], inflight: 0, held: false, instead: "", retryAt: 0, listed: false }
    k.queues.set(conversation, q)
  }
  const i = q.items.findIndex((x) => x.rec.n > it.rec.n)
  q.items.splice(i < 0 ? q.items.length : i, 0, it)
  activate(k, q)
}

function activate(k: Core, q: SendQueue | undefined): void {
  if (q !== undefined && !q.listed && q.items.length > 0) {
    q.listed = true
    k.active.push(q)
  }
}

/** It is no longer to be sent. */
function dequeue(k: Core, it: Item): void {
  const q = k.queues.get(it.rec.send.conversation)
  const i = q?.items.indexOf(it) ?? -1
  if (q === undefined || i < 0) return
  q.items.splice(i, 1)
  unsent(k, q, it)
  if (q.items.length === 0 && !q.listed) k.queues.delete(q.conversation)
  else activate(k, q)
}

function unsent(k: Core, q: SendQueue, it: Item): void {
  if (!it.sent) return
  it.sent = false
  q.inflight--
  k.inflight--
}

/** Takes a new message; it is sent after the commit of this turn. Answers its id. */
export function add(k: Core, send: Omit<Send, "id"> & { id?: string | undefined }, settle: Item["settle"]): string {
  const known = send.id === undefined ? undefined : k.items.get(send.id)
  if (known !== undefined) return join(known, send, settle)
  const pending = [...k.items.values()].filter((i) => i.rec.state === "pending").length
  if (pending >= k.o.outboxLimit) throw new SkeinError({ code: "outbox_full", message: "too many messages wait to be sent" })
  const id = send.id ?? k.ids.next()
  const rec: OutboxRecord = { n: ++k.lastN, state: "pending", send: { ...send, id }, madeAtMs: k.o.now(), seq: 0, code: "", number: 0, reason: "" }
  const it = itemOf(rec, false)
  it.settle = settle
  k.items.set(id, it)
  put(k, it)
  enqueue(k, it)
  if (k.state === "stopped") settleLater(k, it, undefined, k.stateError)
  return id
}

/** A message that is in the outbox already, by the program's own id. */
function join(it: Item, send: Omit<Send, "id">, settle: Item["settle"]): string {
  const { id, ...was } = it.rec.send
  const { id: _, ...now } = send as Send
  if (JSON.stringify(was) !== JSON.stringify(now)) throw new SkeinError({ code: "id_conflict", message: "another message in the outbox has this id" })
  if (it.rec.state === "failed") throw new SkeinError({ code: it.rec.code, number: it.rec.number, message: it.rec.reason })
  const before = it.settle
  it.settle = (m, e) => {
    before?.(m, e)
    settle?.(m, e)
  }
  return id
}

function put(k: Core, it: Item): void {
  k.changedViews.add(it.rec.send.conversation)
  k.op({ op: "outbox", record: { ...it.rec } })
}

function unput(k: Core, it: Item): void {
  k.changedViews.add(it.rec.send.conversation)
  k.op({ op: "outboxDelete", n: it.rec.n })
}

/** Sends what may be sent: each conversation in order, conversations in turn. What is in the queues is stored. */
export function pump(k: Core): void {
  k.pumpAt = 0
  if (k.state !== "connected" || k.byeAt > 0) return
  const now = k.o.now()
  const waiting: SendQueue[] = []
  const most = Math.min(128, k.limits.inFlight || 128)
  while (k.active.length > 0 && k.inflight < most) {
    const q = k.active.shift()!
    const it = next(q, k.o.pipeline)
    if (it === undefined) {
      q.listed = false // an answer lists it again
      if (q.items.length === 0) k.queues.delete(q.conversation)
    } else if (it.skewed) {
      q.listed = false // the server's time lists it again
    } else if (now < q.retryAt) {
      k.pumpAt = earliest(k.pumpAt, q.retryAt)
      waiting.push(q)
    } else {
      transmit(k, q, it, now)
      k.active.push(q)
      if (k.markDue.size > 0) k.marksAt = now // they go with it
    }
  }
  k.active.push(...waiting)
}

function next(q: SendQueue, pipeline: number): Item | undefined {
  if ((q.held && q.inflight > 0) || q.inflight >= pipeline) return undefined
  q.held = false
  return q.items.find((it) => !it.sent)
}

function transmit(k: Core, q: SendQueue, it: Item, now: number): void {
  const most = k.limits.contentBytes ?? 0
  if (most > 0 && contentBytes(it.rec.send) > most) {
    refuse(k, it, new SkeinError({ code: "too_large", message: "the content is longer than the server takes" }))
    return
  }
  const send = q.instead === "" ? it.rec.send : { ...it.rec.send, insteadOf: q.instead }
  q.instead = ""
  k.send({ send })
  it.sent = it.left = true
  it.sentAt = now
  q.inflight++
  k.inflight++
  k.owes()
}

export function contentBytes(s: Pick<Send, "content">): number {
  return new TextEncoder().encode(s.content.text ?? "").length + Math.floor(((s.content.data ?? "").replace(/=+$/, "").length * 3) / 4)
}

export function oldestInFlight(k: Core): number {
  let at = 0
  if (k.inflight > 0) for (const it of k.items.values()) if (it.sent) at = earliest(at, it.sentAt)
  return at
}

/** The message is durable. If its turn has come it is applied in the batch that takes it out of the outbox. */
export function onAck(k: Core, a: NonNullable<ServerFrame["sendAck"]>): void {
  const it = k.items.get(a.id ?? "")
  if (it === undefined || it.rec.state === "stored" || a.conversation !== it.rec.send.conversation || a.seq === 0) return // answered twice
  if (it.rec.state === "pending") dequeue(k, it)
  it.rec = { ...it.rec, state: "stored", seq: a.seq, code: "", number: 0, reason: "" }
  put(k, it)
  const e: Entry = { ...entryOf(it.rec.send, k.meta.user), seq: a.seq, storedAtMs: a.storedAtMs, count: a.count }
  if (a.pos !== undefined) e.pos = a.pos
  settleLater(k, it, messageOf(e, k.meta.user))
  take(k, [e])
}

function settleLater(k: Core, it: Item, m: Message | undefined, error?: SkeinError): void {
  const settle = it.settle
  it.settle = undefined
  if (settle !== undefined) k.after((failed) => (failed === undefined ? settle(m, error) : settle(undefined, failed)))
}

/** For each own entry that is applied: if it is one of the outbox, it leaves it. Whether this client sent it. */
export function settle(k: Core, e: Entry): boolean {
  const it = k.items.get(e.id ?? "")
  if (it === undefined || e.sender !== k.meta.user || e.conversation !== it.rec.send.conversation) return false
  if (it.rec.state === "pending") dequeue(k, it) // the ack was lost; this is as good
  k.items.delete(it.rec.send.id)
  unput(k, it)
  settleLater(k, it, messageOf(e, k.meta.user))
  return true
}

/** By the code's range wait and repeat, with all behind it, or keep as failed. SPEC §5.9. */
export function onSendError(k: Core, f: NonNullable<ServerFrame["sendError"]>): void {
  const it = k.items.get(f.id ?? "")
  const q = it === undefined ? undefined : k.queues.get(it.rec.send.conversation)
  if (it === undefined || q === undefined || !it.sent) return
  const e = errorOf(f.error)
  unsent(k, q, it)
  if (e.code === "clock_skew") {
    it.skewed = true
    if (k.ping === undefined) sendPing(k) // its answer tells the time
  } else if (e.action === "fix") {
    refuse(k, it, e)
  } else {
    q.held = true
    const first = f.first === undefined ? undefined : k.items.get(f.first)
    const waits = e.code === "out_of_order" && first !== undefined && first !== it && first.rec.state === "pending"
    if (!waits) { // otherwise it waits with that one
      if (e.code === "out_of_order" && first !== it) q.instead = f.first ?? ""
      it.tries++
      q.retryAt = k.o.now() + Math.max(e.retryAfterMs, k.backoff(it.tries))
    }
  }
  activate(k, q)
}

/** Keeps a message as failed. Those after it go on. */
function refuse(k: Core, it: Item, e: SkeinError): void {
  dequeue(k, it)
  it.rec = { ...it.rec, state: "failed", code: e.code, number: e.number, reason: e.message }
  put(k, it)
  k.feed({ kind: "failed", conversation: it.rec.send.conversation, outbox: it.rec.n })
  settleLater(k, it, undefined, e)
}

/** Messages whose id lay in the future get a new one; they were never stored. */
export function renewIds(k: Core): void {
  for (const it of [...k.items.values()]) {
    if (!it.skewed) continue
    it.skewed = false
    newId(k, it)
    activate(k, k.queues.get(it.rec.send.conversation))
  }
}

function newId(k: Core, it: Item): void {
  k.items.delete(it.rec.send.id)
  it.rec = { ...it.rec, send: { ...it.rec.send, id: k.ids.next() } }
  k.items.set(it.rec.send.id, it)
  put(k, it)
}

/** Everything unanswered is sent again, in order, on the next connection. */
export function requeue(k: Core): void {
  for (const q of k.queues.values()) {
    for (const it of q.items) unsent(k, q, it)
    q.retryAt = 0
    q.held = false
    q.instead = ""
    activate(k, q)
  }
  k.active.sort((a, b) => (a.items[0]?.rec.n ?? 0) - (b.items[0]?.rec.n ?? 0))
}

/** Acknowledged messages whose entries were forgotten are pending again. */
export function resend(k: Core): void {
  for (const it of k.items.values()) {
    if (it.rec.state !== "stored") continue
    it.rec = { ...it.rec, state: "pending", seq: 0 }
    put(k, it)
    enqueue(k, it)
  }
}

/** Drops acknowledged messages below seq whose entries will not be applied. */
export function forgetStored(k: Core, conversation: string, below: number): void {
  for (const it of [...k.items.values()]) {
    if (it.rec.state === "stored" && it.rec.send.conversation === conversation && it.rec.seq < below) {
      k.items.delete(it.rec.send.id)
      unput(k, it)
    }
  }
}

function failedItem(k: Core, id: string): Item {
  const it = k.items.get(id)
  if (it === undefined || it.rec.state !== "failed") throw new SkeinError({ code: "not_found", message: "no failed message has this id" })
  return it
}

export function retry(k: Core, id: string, settle: Item["settle"]): void {
  const it = failedItem(k, id)
  unput(k, it) // its place in the order is gone
  const renew = it.rec.code === "id_conflict"
  it.rec = { ...it.rec, n: ++k.lastN, state: "pending", code: "", number: 0, reason: "" }
  it.settle = settle
  if (renew) newId(k, it)
  else put(k, it)
  enqueue(k, it)
}

/** Forgets a failed message, and a pending one of which it is certain that it did not leave. */
export function discard(k: Core, id: string): void {
  const it = k.items.get(id)
  if (it?.rec.state === "pending" && it.left) throw new SkeinError({ code: "may_be_sent", message: "it may have been sent already: recall it once it is stored" })
  if (it?.rec.state !== "pending") failedItem(k, id)
  if (it === undefined) return
  dequeue(k, it)
  k.items.delete(id)
  unput(k, it)
  settleLater(k, it, undefined, new SkeinError({ code: "discarded", message: "it was discarded before it was sent" }))
}

/** What became of a message that was in the outbox: settle is told, at once or later. */
export function outcome(k: Core, conversation: string, id: string, settle: NonNullable<Item["settle"]>): void {
  const it = k.items.get(id)
  if (it?.rec.state === "failed") {
    settle(undefined, new SkeinError({ code: it.rec.code, number: it.rec.number, message: it.rec.reason }))
  } else if (it !== undefined) {
    const before = it.settle
    it.settle = (m, e) => {
      before?.(m, e)
      settle(m, e)
    }
    if (it.rec.state === "stored") settleLater(k, it, messageOfOutbox(it.rec, k.meta.user))
  } else {
    const e = storedAs(k, conversation, id)
    if (e !== undefined) settle(messageOf(e, k.meta.user))
    else settle(undefined, new SkeinError({ code: "connection_lost", message: "it is not in the outbox any more, and not among the messages that are here" }))
  }
}

/** The entry that a message of the outbox became, if it is here. */
export function storedAs(k: Core, conversation: string, id: string): Entry | undefined {
  return k.convs.get(conversation)?.entries?.find((e) => e.id === id && e.sender === k.meta.user)
}

/** What is not an applied entry, of one conversation or all. */
export function outboxMessages(k: Core, conversation?: string): Message[] {
  return [...k.items.values()]
    .filter((it) => conversation === undefined || it.rec.send.conversation === conversation)
    .sort((a, b) => a.rec.n - b.rec.n)
    .map((it) => shownItem(k, it.rec))
}

function shownItem(k: Core, rec: OutboxRecord): Message {
  const was = k.shown.get(rec)
  if (was !== undefined && was.sender === k.meta.user) return was
  const m = messageOfOutbox(rec, k.meta.user)
  k.shown.set(rec, m)
  return m
}

/** The ack will not come by itself; the messages stay in the outbox. */
export function release(k: Core, e: SkeinError): void {
  for (const it of k.items.values()) settleLater(k, it, undefined, e)
}

export function uuidOf(it: Item): string {
  return toUuid(it.rec.send.id)
}
