import { amends, latest, retake } from "./amend.js"
import { apply } from "./apply.js"
import { touchedBy } from "./threads.js"
import type { Core } from "./core.js"
import { after, before, lastIsKept, type Conv, type Place } from "./conv.js"
import { settle } from "./outbox.js"
import { noteChanged } from "./sync.js"
import type { ConversationRecord } from "./store.js"
import { comparePos, type ConversationState, type Entry, type Newest, type Range } from "./wire.js"

/**
 * What the places first..last of a conversation come to (SPEC §6.8): entries are those that amend nothing,
 * touched are entries before it that something in it amended; both as they are now. end names the
 * entry at last, if it is not one of them.
 */
export interface Stretch {
  first: number
  last: number
  entries: readonly Entry[]
  touched: readonly Entry[]
  end: Newest | undefined
}

/** Bounds what waits in memory of a conversation. */
const maxEarly = 256

export function stretchOf(f: Range): Stretch {
  return { first: f.firstSeq, last: f.lastSeq, entries: f.entries ?? [], touched: f.touched ?? [], end: f.last }
}

/** The stretch of a state: up to its head. */
export function toldBy(s: ConversationState): Stretch {
  return { first: s.fromSeq, last: s.seq, entries: s.entries ?? [], touched: s.touched ?? [], end: s.last }
}

/** The first entry of a stretch that may be the user's. */
export function beginOf(s: Stretch, r: ConversationRecord): number {
  return after(r, Math.max(s.first, 1) - 1)
}

/** An entry is one of those that the stretch may tell. */
export function has(s: Stretch, cv: Conv, e: Entry): boolean {
  return e.conversation === cv.rec.id && e.seq >= s.first && e.seq <= s.last && !amends(e)
}

export function newestOf(e: Entry): Newest {
  const { conversation, seq, id, storedAtMs, pos } = e
  return { conversation, seq, storedAtMs, ...(id === undefined ? {} : { id }), ...(pos === undefined ? {} : { pos }) }
}

/**
 * Gives a stretch to its conversation: from anywhere, in any order, any number of times. Afterwards the
 * window reaches to its end at least, or, if it begins after a hole, will once that is filled.
 */
export function takeStretch(k: Core, cv: Conv, s: Stretch, quiet: boolean): void {
  const r = cv.rec
  if (s.last > r.head) {
    r.head = s.last
    k.touch(cv, true)
  }
  touchedBy(k, cv, s)
  const early = beginOf(s, r) > after(r, r.high)
  if (early && !mayWait(cv, s)) return // it is known to be there, and is pulled
  for (const e of s.touched) if (e.seq < s.first) retake(k, cv, e)
  if (early) {
    keepStretch(cv, s)
    return
  }
  for (const e of s.entries) {
    if (!has(s, cv, e)) continue
    if (e.seq > r.high) {
      apply(k, cv, e, quiet)
    } else {
      settle(k, e)
      retake(k, cv, e)
    }
  }
  skip(k, cv, s.last, s.end)
  applyEarly(k, cv, false)
}

/** Moves the end of the window to seq: what lies between amends entries, and what it made of them is told apart from this. */
function skip(k: Core, cv: Conv, to: number, end: Newest | undefined): void {
  const r = cv.rec
  const seq = before(r, to + 1)
  if (seq <= r.high) return
  reach(k, cv, seq, end)
  if (seq < r.head) return
  r.head = seq
  r.lastAtMs = Math.max(r.lastAtMs, end?.storedAtMs ?? 0)
  if (lastIsKept(r) && r.last !== undefined) {
    r.headCount = r.last.count
    cv.countedTo = seq // amendments do not count
  }
}

/** The window ends at seq; which entry that is. */
export function reach(k: Core, cv: Conv, seq: number, at: Newest | undefined): void {
  const r = cv.rec
  r.high = seq
  if (at !== undefined && comparePos(at.pos, r.newest?.pos) >= 0) r.newest = at
  cv.changedTick = ++k.tick
  noteChanged(k, cv)
  k.touch(cv, true)
}

/** What a stretch touched in the hole before it can be remembered until that is filled. */
function mayWait(cv: Conv, s: Stretch): boolean {
  return cv.newer.size + s.touched.filter((e) => e.seq > cv.rec.high).length <= maxEarly
}

/** Remembers a stretch that begins after a hole. */
function keepStretch(cv: Conv, s: Stretch): void {
  let next = s.first
  for (const e of s.entries) {
    if (!has(s, cv, e) || e.seq < next) continue
    if (e.seq > next) keepEarly(cv, next, { last: e.seq - 1 })
    keepEarly(cv, e.seq, { last: e.seq, entry: e })
    next = e.seq + 1
  }
  if (next <= s.last) keepEarly(cv, next, { last: s.last, end: s.end })
}

/** Remembers what came too soon, the lowest places first. Of a place that is told twice the outcome counts, not the amendment. */
export function keepEarly(cv: Conv, seq: number, p: Place): void {
  const old = cv.early.get(seq)
  if (old !== undefined && old.entry === undefined && (p.entry !== undefined || p.last < old.last)) return
  if (old?.entry !== undefined && p.entry !== undefined) {
    cv.early.set(seq, { ...p, entry: latest(p.entry, old.entry) })
    return
  }
  if (old === undefined && cv.early.size >= maxEarly) {
    const top = Math.max(...cv.early.keys())
    if (seq > top) return
    cv.early.delete(top)
  }
  cv.early.set(seq, p)
}

/** Applies what came too soon and is next now. */
export function applyEarly(k: Core, cv: Conv, quiet: boolean): void {
  while (cv.early.size > 0) {
    const at = earlyAt(cv, after(cv.rec, cv.rec.high))
    if (at === undefined) break
    const p = cv.early.get(at)!
    cv.early.delete(at)
    if (p.entry !== undefined) apply(k, cv, p.entry, quiet)
    else skip(k, cv, p.last, p.end)
  }
  for (const [at, p] of cv.early) if (p.last <= cv.rec.high) cv.early.delete(at)
  for (const at of cv.newer.keys()) if (at <= cv.rec.high) cv.newer.delete(at)
}

function earlyAt(cv: Conv, seq: number): number | undefined {
  if (cv.early.has(seq)) return seq
  for (const [at, p] of cv.early) if (at <= seq && seq <= p.last) return at
  return undefined
}
