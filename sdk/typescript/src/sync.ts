import { eraseRecalled } from "./amend.js"
import { dropHeld, newConv, offer, releaseHeld } from "./apply.js"
import { connected, lost } from "./connect.js"
import { due, type Core } from "./core.js"
import { gone, hidden, passWindows, type Conv } from "./conv.js"
import { digestOf } from "./digest.js"
import { takeFloor } from "./floor.js"
import { errorOf, type SkeinError } from "./errors.js"
import { delays, markLater } from "./marks.js"
import { takeMine } from "./mine.js"
import { renewIds, resend } from "./outbox.js"
import { markIsGone, serverIs, stillGone, takeLifetimes } from "./perish.js"
import { wantPull } from "./pull.js"
import { applyEarly, has, newestOf, takeStretch, toldBy, type Stretch } from "./stretch.js"
import { takeMentions, takeRecalled, withoutDeleted } from "./unread.js"
import { comparePos, type ConversationState, type Entry, type Newest, type Range, type ServerFrame, type Sync, type SyncDelta } from "./wire.js"
import { askMembership, dropOutside, listUnsure, raise, takeWindows } from "./windows.js"
import { happen, trimThreads } from "./threads.js"

/** Keeps up with the server: SPEC §7. */

/** A mark that was sent this long before an answered Ping is safe with the server. */
const markHorizon = 10_000

/** What is asked again later; at 0: nothing. */
export interface Refused {
  at: number
  tries: number
  kind: Request["kind"]
}

/** The Ping that is unanswered. */
export interface PingState {
  at: number
  digest: boolean
  heads: Map<Conv, number>
}

/** A Sync or Pull that is unanswered. */
export interface Request {
  /**
   * sync: from the position. after: the same, after the list. page: a further page of the list.
   * fill: forward, a hole. newest: to begin anew. history: either way, for the program. count: for a mark.
   */
  kind: "sync" | "after" | "page" | "fill" | "newest" | "history" | "count"
  at: number
  cold?: boolean
  tick?: number
  /** What a Sync proved its history by. */
  newest?: Newest | undefined
  /** Conversations of the pages before. */
  told?: Set<Conv>
  cv?: Conv
  from?: number
  /** The number of the first Pull of the frame it was asked in. */
  frame?: number
  mark?: number
  /** Newer states of entries that the answer may tell, which came while it was under way. */
  amended?: Entry[]
  /** Gets the answer after it is stored. */
  done?: (f: Range | undefined, e?: SkeinError) => void
}

export function newSync(k: Core): Sync {
  const s: Sync = { number: k.nextNumber(), position: k.meta.position, timeline: k.meta.timeline, limit: k.o.pageSize }
  const newest = k.proof ?? newestOfAll(k)
  return newest === undefined ? s : { ...s, newest }
}

/** The entry by which the server sees whether its history is the one that is known here. SPEC §7.8. */
function newestOfAll(k: Core): Newest | undefined {
  let newest: Newest | undefined
  const consider = (n: Newest | undefined): void => {
    if (n !== undefined && comparePos(n.pos, newest?.pos) > 0) newest = n
  }
  for (const cv of k.convs.values()) {
    consider(cv.rec.newest)
    for (const p of cv.early.values()) consider(p.entry === undefined ? p.end : newestOf(p.entry))
  }
  return newest
}

/** Asks what changed since the position; at most one at a time. */
export function requestSync(k: Core): void {
  syncAs(k, "sync")
}

function syncAs(k: Core, kind: Request["kind"]): void {
  if (k.link === undefined || k.syncing || k.again.at > 0) {
    k.wantSync = true
    return
  }
  const sync = newSync(k)
  k.syncing = true
  k.wantSync = false
  k.requests.set(sync.number, { kind, cold: !sync.position, at: k.o.now(), tick: k.tick, newest: sync.newest })
  k.send({ sync })
  k.owes()
}

function requestPage(k: Core): void {
  const number = k.nextNumber()
  k.requests.set(number, { kind: "page", cold: true, at: k.o.now() })
  k.send({ sync: { number, timeline: k.meta.timeline, limit: k.o.pageSize, cursor: k.meta.listNext } })
  k.owes()
}

/** Applies an answer: the states, then the position, in one batch. */
export function onDelta(k: Core, d: SyncDelta): void {
  const number = d.number ?? 0
  const req = k.requests.get(number)
  if (req === undefined || !["sync", "after", "page"].includes(req.kind)) return
  k.requests.delete(number)
  if (d.error !== undefined) {
    syncRefused(k, req, errorOf(d.error))
    return
  }
  if (req.kind === "page" && d.reset !== true) {
    onPage(k, d)
    return
  }
  k.again = { at: 0, tries: 0, kind: "sync" }
  if (req.newest === k.proof) k.proof = undefined
  if (d.reset === true && (k.meta.position !== "" || k.convs.size > 0)) reset(k, d.timeline ?? "")
  const cold = req.cold === true || d.reset === true
  const told = req.told ?? new Set<Conv>()
  for (const s of d.conversations ?? []) {
    const cv = applyState(k, s, cold, req.kind)
    if (cv === undefined) continue
    told.add(cv)
    cv.atPos = Math.max(s.seq, cv.atPos)
  }
  if (!cold && d.next) {
    resumeOn(k, req, told, d.next)
    return
  }
  synced(k, d, req, told, cold)
}

/** The last page, or the first of a list: the position counts from here on. */
function synced(k: Core, d: SyncDelta, req: Request, told: ReadonlySet<Conv>, cold: boolean): void {
  k.meta.position = k.base = d.position ?? ""
  if (cold) {
    k.meta.listNext = d.next ?? ""
    k.meta.listing = !!d.next
  }
  listUnsure(k)
  k.metaDirty = true
  for (const cv of [...k.changed]) {
    // What grew before the question is below the new position, told or not.
    if (!told.has(cv) && cv.changedTick <= (req.tick ?? 0)) cv.atPos = Math.max(cv.atPos, cv.rec.high)
    noteChanged(k, cv)
  }
  k.syncing = false
  k.ping = undefined // its digest was of the old position
  if (k.state === "connecting") {
    releaseHeld(k)
    connected(k)
  } else {
    releaseHeld(k)
  }
  if (k.meta.listing && !listing(k)) requestPage(k)
  if (k.wantSync) requestSync(k)
}

/** The next page of what changed since the position, which stays until the last one. */
function resumeOn(k: Core, was: Request, told: Set<Conv>, cursor: string): void {
  const sync = { ...newSync(k), cursor }
  k.requests.set(sync.number, { kind: was.kind, at: k.o.now(), tick: was.tick ?? 0, told, newest: was.newest })
  k.send({ sync })
  k.owes()
}

/** The same again later, or, if it was the cursor or the position that is no good, once without it. SPEC §7.6. */
function syncRefused(k: Core, r: Request, e: SkeinError): void {
  const page = r.kind === "page"
  if (!page) k.syncing = false
  if (e.action === "retry" && page) {
    k.pageAgain = later(k, k.pageAgain, r.kind, e)
  } else if (e.action === "retry") {
    k.again = later(k, k.again, r.kind, e)
    if (k.state === "connected") releaseHeld(k) // receiving goes on
  } else if (e.action === "fix" && page) {
    failListing(k)
  } else if (e.action === "fix" && r.cold !== true && !k.resynced) {
    k.resynced = true
    k.meta.position = ""
    k.metaDirty = true
    requestSync(k)
  } else {
    lost(k, e)
  }
}

/** Not before the server said, and not all at once. */
function later(k: Core, was: Refused, kind: Request["kind"], e: SkeinError): Refused {
  return { at: k.o.now() + e.retryAfterMs + k.backoff(was.tries), kind, tries: was.tries + 1 }
}

export function syncAgain(k: Core, now: number): void {
  if (due(k.again.at, now)) {
    k.again.at = 0
    syncAs(k, k.again.kind)
  }
  if (due(k.pageAgain.at, now)) {
    k.pageAgain.at = 0
    if (k.meta.listing && !listing(k)) requestPage(k)
  }
}

/** A page is on its way, or will be asked for again. */
function listing(k: Core): boolean {
  return k.pageAgain.at > 0 || [...k.requests.values()].some((r) => r.kind === "page")
}

function onPage(k: Core, d: SyncDelta): void {
  k.pageAgain = { at: 0, tries: 0, kind: "page" }
  for (const s of d.conversations ?? []) applyState(k, s, true, "page")
  k.meta.listNext = d.next ?? ""
  k.meta.listing = !!d.next
  k.metaDirty = true
  if (k.meta.listing) requestPage(k)
  if (k.syncing) return
  if (!k.meta.listing && (k.unsure.size > 0 || k.held.some((e) => !k.convs.has(e.conversation)))) {
    syncAs(k, "after")
    return
  }
  releaseHeld(k)
}

/** Begins the list again, once, after its cursor was refused. */
function failListing(k: Core): void {
  k.metaDirty = true
  k.meta.listNext = ""
  if (k.relisted) { // given up: the rest appears as it changes
    k.meta.listing = false
    requestSync(k)
    return
  }
  k.relisted = true
  requestPage(k)
}

/**
 * Takes over what the server says of a conversation. Cold: one that was not known begins at its last
 * entry, as history; otherwise at its first visible one, as news.
 */
function applyState(k: Core, s: ConversationState, cold: boolean, kind: Request["kind"]): Conv | undefined {
  if (!s.conversation) return undefined
  let cv = k.convs.get(s.conversation)
  let quiet = false
  let begins = false
  if (cv === undefined) {
    const from = baseOf(k, s, cold, kind)
    quiet = from.quiet
    cv = newConv(k, s.conversation, from.base)
    begins = from.base + 1 === s.fromSeq
  }
  const r = cv.rec
  r.title = s.title ?? ""
  takeLifetimes(k, cv, s)
  const low = takeWindows(cv, s)
  if (low > 0) raise(k, cv, low)
  dropOutside(k, cv, s.floor)
  k.unsure.delete(cv)
  const recalled = takeUnread(k, cv, s)
  r.peerReceived = Math.max(r.peerReceived, s.peerReceived)
  r.peerRead = Math.max(r.peerRead, s.peerRead)
  k.touch(cv, true)
  takeFloor(k, cv, s.floor)
  applyEarly(k, cv, false)
  if (s.fromSeq > 0) takeTold(k, cv, toldBy(s), cold && !begins, quiet)
  for (const seq of recalled) if (!gone(r, seq)) eraseRecalled(k, cv, seq)
  trimThreads(k, cv)
  wantPull(k, cv)
  return cv
}

/** Head, marks, what is unread and what the user set; answers recalls that were not known. */
function takeUnread(k: Core, cv: Conv, s: ConversationState): number[] {
  const r = cv.rec
  if (s.seq >= r.head) {
    r.head = cv.countedTo = s.seq
    r.headCount = s.count
    r.lastAtMs = Math.max(r.lastAtMs, s.lastAtMs)
  }
  r.head = Math.max(r.head, s.untilSeq)
  if (s.readSeq >= r.read) {
    r.read = s.readSeq
    cv.sentRead = Math.max(cv.sentRead, s.readSeq) // what the server tells need not be told to it
    const not = s.unread + hidden(r) + s.recalled
    if (s.count >= not) {
      r.readCount = s.count - not
      cv.uncounted = false
    }
  } else {
    passWindows(r, r.read)
    cv.sentRead = 0 // ours is ahead: tell again
    markLater(k, cv, delays.read)
    markIsGone(k, cv)
  }
  const counted = r.recalled
  const recalled = takeRecalled(r, s)
  takeMentions(k, cv, s)
  stillGone(r, counted)
  const known = r.mine?.revision ?? 0
  takeMine(k, cv, s.mine, false)
  withoutDeleted(k, cv, known > (s.mine?.revision ?? 0))
  return recalled
}

/**
 * Takes the stretch of a state. Listed: it is a line of the list, which leaves out what was touched before it,
 * so in a conversation that is known only its entries count, and what amends is pulled.
 */
function takeTold(k: Core, cv: Conv, s: Stretch, listed: boolean, quiet: boolean): void {
  if (!listed) takeStretch(k, cv, s, quiet)
  else for (const e of s.entries) if (has(s, cv, e)) offer(k, cv, e, quiet)
}

/** The seq after which the window of a new conversation begins. */
function baseOf(k: Core, s: ConversationState, cold: boolean, kind: Request["kind"]): { base: number; quiet: boolean } {
  if (!cold && kind === "sync") return { base: Math.max(s.earlier?.[0]?.firstSeq ?? s.firstSeq, 1) - 1, quiet: false }
  let base = s.fromSeq > 0 ? s.fromSeq - 1 : s.seq
  let quiet = cold // otherwise its entries are from after the position
  for (const e of k.held) {
    if (e.conversation === s.conversation && e.seq <= base + 1) { // pushed while the list was read: from here on it is news
      base = e.seq - 1
      quiet = false
    }
  }
  return { base, quiet }
}

/** Forgets everything of another history; the outbox stays and is sent again. */
export function reset(k: Core, timeline: string): void {
  k.op({ op: "reset" })
  k.forgetConvs()
  happen(k, "")
  k.threads.clear()
  for (const set of [k.changed, k.unsure, k.markDue]) set.clear()
  k.unknown.clear()
  k.pullQueue = []
  k.wantSync = false
  k.pageAgain = { at: 0, tries: 0, kind: "page" }
  if (k.state === "connected") dropHeld(k) // on a connection that was there before it may be of either
  for (const [n, r] of [...k.requests]) {
    if (r.cv === undefined && r.kind !== "page") continue
    k.requests.delete(n)
    r.done?.(undefined, errorOf({ code: "unknown", message: "the server went back" }))
  }
  k.meta = { ...k.meta, timeline, position: "", listing: false, listNext: "" }
  k.proof = undefined
  k.metaDirty = true
  k.feed({ kind: "reset" })
  resend(k)
}

/** Puts a conversation into the digest's set, or takes it out. */
export function noteChanged(k: Core, cv: Conv): void {
  if (cv.rec.high > cv.atPos && cv.rec.high >= cv.rec.low) k.changed.add(cv)
  else k.changed.delete(cv)
}

/** What is missing is pulled. SPEC §6.5. */
export function onHeads(k: Core, heads: readonly { conversation?: string; seq: number }[]): void {
  for (const h of heads) if (h.conversation) noteHead(k, h.conversation, h.seq)
}

/** A conversation reaches up to seq. */
export function noteHead(k: Core, conversation: string, seq: number): void {
  const cv = k.convs.get(conversation)
  if (cv === undefined) {
    if (!k.meta.listing && seq > 0) requestSync(k)
    return
  }
  if (seq > cv.rec.head) {
    cv.rec.head = seq
    k.touch(cv, true)
  }
  if (cv.returned(seq)) askMembership(k, cv)
  wantPull(k, cv)
}

/** Says that we live, and what we have. SPEC §7.4, §9.1. */
export function sendPing(k: Core): void {
  const now = k.o.now()
  const p: PingState = { at: now, digest: k.base !== "" && !k.syncing, heads: new Map() }
  if (p.digest) for (const cv of k.changed) p.heads.set(cv, cv.rec.high)
  k.ping = p
  k.lastPing = now
  k.send({ ping: p.digest ? { position: k.base, digest: digestOf([...p.heads].map(([cv, seq]) => [cv.rec.id, seq] as const)) } : {} })
  k.owes()
}

/**
 * Takes a position that came with a push. What came before it is in the batch that it is saved with, or
 * known to be missing, unless it waits: for a sync's answer, or for the list. SPEC §7.7.
 */
export function onPosition(k: Core, position: string): void {
  const waits = k.syncing || k.wantSync || k.again.at > 0 || k.meta.listing || k.held.length > 0 || k.heldOver
  if (position === "" || k.state !== "connected" || waits) return
  k.meta.position = position
  k.metaDirty = true
}

/** Pushes were dropped, or the server went back: what was pushed before may be of a history that is gone. SPEC §6.4, §7.8. */
export function onResync(k: Core): void {
  dropHeld(k)
  k.proof ??= newestOfAll(k)
  requestSync(k)
}

export function onPong(k: Core, f: NonNullable<ServerFrame["pong"]>): void {
  if (f.serverTimeMs > 0) {
    k.ids.setServerTime(f.serverTimeMs)
    serverIs(k, f.serverTimeMs)
    renewIds(k)
  }
  const p = k.ping
  k.ping = undefined
  if (f.resync === true) {
    onResync(k)
  } else if (p?.digest === true && f.position && !k.syncing) {
    k.meta.position = k.base = f.position
    for (const [cv, seq] of p.heads) {
      cv.atPos = Math.max(cv.atPos, seq)
      noteChanged(k, cv)
    }
    k.meta.settledAtMs = p.at - markHorizon
    k.metaDirty = true
  }
}
