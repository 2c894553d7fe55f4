import { amends, latest } from "./amend.js"
import { jump } from "./apply.js"
import { earliest, type Core } from "./core.js"
import { after, before, hides, lastIsKept, startAt, theirs, type Conv } from "./conv.js"
import { SkeinError, errorOf } from "./errors.js"
import { askCount, countAt } from "./marks.js"
import { forgetStored, settle } from "./outbox.js"
import { arrivesLate, blanked } from "./perish.js"
import { beginOf, stretchOf, takeStretch } from "./stretch.js"
import type { Request } from "./sync.js"
import { mentions, noteMention } from "./unread.js"
import type { Pull, Range } from "./wire.js"
import { askMembership, countBefore } from "./windows.js"

/** Asks for what is missing. SPEC §6.1, §6.8, §7.9. */

/** Bounds the conversations that are asked for and not answered. */
const maxPulls = 8
/** How many entries a window begins with that starts anew. */
const newestBlock = 50

export function wantPull(k: Core, cv: Conv): void {
  if (cv.missing() && !cv.pulling) k.pullQueue.push(cv)
}

/** After a connect: all that miss something, and counts that are not known. */
export function wantPulls(k: Core): void {
  for (const cv of k.convs.values()) {
    wantPull(k, cv)
    if (cv.uncounted) askCount(k, cv, cv.rec.read)
  }
}

/** The most entries that a Pull may ask for. */
export function pageLimit(k: Core): number {
  return k.limits.pullEntries ? Math.min(k.limits.pullEntries, 500) : 50
}

export function pumpPulls(k: Core): void {
  k.pullsAt = 0
  if (k.link === undefined || k.syncing || k.state !== "connected") return
  const now = k.o.now()
  let { room, entries } = pullRoom(k)
  const later: Conv[] = []
  const seen = new Set<Conv>()
  for (const cv of k.pullQueue) {
    if (seen.has(cv) || k.convs.get(cv.rec.id) !== cv || cv.pulling || !cv.missing()) continue
    seen.add(cv)
    if (room === 0) {
      later.push(cv)
    } else if (now < cv.pullAt) {
      k.pullsAt = earliest(k.pullsAt, cv.pullAt)
      later.push(cv)
    } else {
      const { request, backward, limit } = lacks(k, cv)
      if (limit > entries) { // with the next frame
        room = 0
        later.push(cv)
        continue
      }
      pull(k, request, backward, limit)
      room--
      entries -= limit
    }
  }
  k.pullQueue = later
}

/** How many further conversations may be asked for now, and for how many entries. */
function pullRoom(k: Core): { room: number; entries: number } {
  const under = [...k.requests.values()].filter((r) => r.kind === "fill" || r.kind === "newest").length
  const most = k.limits.pulls ?? 0
  if (under >= maxPulls) return { room: 0, entries: 0 }
  if (most > 1) return { room: most, entries: Math.max(k.limits.pullsEntries ?? 0, pageLimit(k)) }
  return { room: maxPulls - under, entries: Infinity }
}

/** The hole after the window, or, if it is too large, its newest entries. */
function lacks(k: Core, cv: Conv): { request: Request; backward: boolean; limit: number } {
  const r = cv.rec
  const from = after(r, r.high)
  let upTo = r.head
  for (const seq of cv.early.keys()) upTo = Math.min(upTo, seq - 1)
  const n = theirs(r, from, upTo)
  if (k.o.maxGap === 0 || n <= k.o.maxGap) {
    return { request: { kind: "fill", cv, at: 0, from }, backward: false, limit: Math.min(n, pageLimit(k)) }
  }
  // How much of it amends, and is none to be shown, only the answer tells.
  const request: Request = { kind: "newest", cv, at: 0, from: upTo < r.head ? upTo : 0 }
  return { request, backward: true, limit: Math.min(newestBlock, pageLimit(k)) }
}

/** Asks at the end of the turn. */
export function pull(k: Core, r: Request, backward: boolean, limit: number): void {
  const number = k.nextNumber()
  r.at = k.o.now()
  if (r.cv !== undefined && (r.kind === "fill" || r.kind === "newest")) r.cv.pulling = true
  k.requests.set(number, r)
  const p: Pull = { number, conversation: r.cv?.rec.id ?? "", limit }
  if (r.from) p.from = r.from
  if (backward) p.backward = true
  k.asks.push(p)
}

/** Sends what the turn asked for, in as few frames as the server takes. */
export function sendPulls(k: Core): void {
  let asks = k.asks
  k.asks = []
  while (asks.length > 0) {
    let n = 0
    let sum = 0
    while (n < Math.min(asks.length, k.limits.pulls ?? 0)) {
      sum += asks[n]!.limit ?? 50
      if (sum > (k.limits.pullsEntries ?? 0)) break
      n++
    }
    if (n < 2) { // one is a Pull, as for a server that takes no more
      n = 1
      k.send({ pull: asks[0]! })
    } else {
      const pulls = asks.slice(0, n)
      for (const p of pulls) k.requests.get(p.number)!.frame = pulls[0]!.number
      k.send({ pulls: { pulls } })
    }
    asks = asks.slice(n)
    k.owes()
  }
}

export function onRange(k: Core, f: Range): void {
  const r = k.requests.get(f.number ?? 0)
  if (r?.cv === undefined) return
  if (f.error === undefined && f.conversation !== r.cv.rec.id) return // an answer of another conversation
  k.requests.delete(f.number ?? 0)
  if (r.frame) { // the others' answers come behind it
    const now = k.o.now()
    for (const o of k.requests.values()) if (o.frame === r.frame) o.at = now
  }
  const error = f.error === undefined ? undefined : errorOf(f.error)
  switch (r.kind) {
    case "fill":
    case "newest":
      r.cv.pulling = false
      if (error === undefined) filled(k, r, r.cv, f)
      else pullRefused(k, r, r.cv, error)
      wantPull(k, r.cv)
      if (r.cv.uncounted && !r.cv.missing()) askCount(k, r.cv, r.cv.rec.read)
      return
    case "history": {
      if (error === undefined) extend(k, r, r.cv, f)
      const done = r.done
      k.after((failed) => done?.(f, failed ?? error))
      return
    }
    case "count":
      if (error === undefined && r.cv.rec.read === r.mark) counted(k, r, r.cv, f)
  }
}

/** Takes the running count at a mark from what follows it: amendments, which it may stand at, do not count. */
function counted(k: Core, r: Request, cv: Conv, f: Range): void {
  const mark = r.mark ?? 0
  const e = f.entries?.[0]
  let count = countAt(cv, f.lastSeq)
  if (e !== undefined) count = e.seq > mark ? countBefore(e) : e.count // it also may lie between two times of membership
  else if (f.lastSeq === 0) return
  else if (count === undefined) {
    // Otherwise it is asked again when what is missing is here.
    if (f.lastSeq < f.head) pull(k, { kind: "count", cv, at: 0, from: f.lastSeq + 1, mark }, false, Math.min(newestBlock, pageLimit(k)))
    return
  }
  cv.rec.readCount = count
  cv.uncounted = false
  k.touch(cv, false)
}

/** Later again, or, if it is not the user's to read, never. */
function pullRefused(k: Core, r: Request, cv: Conv, e: SkeinError): void {
  if (e.action === "fix") {
    giveUp(k, cv)
    return
  }
  pullLater(k, cv, e.retryAfterMs)
  if (!r.frame) return
  // What was asked for in one frame is asked for at one time, if none of it is too early then.
  if (r.frame === k.refusedFrame && k.refusedUntil >= k.o.now() + e.retryAfterMs) {
    cv.pullAt = k.refusedUntil
  } else {
    k.refusedFrame = r.frame
    k.refusedUntil = cv.pullAt
  }
}

/** What lies beyond the window is not the user's to read. */
function giveUp(k: Core, cv: Conv): void {
  cv.rec.head = cv.rec.high
  cv.early.clear()
  cv.newer.clear()
  forgetStored(k, cv.rec.id, Infinity)
  k.touch(cv, true)
}

function pullLater(k: Core, cv: Conv, least: number): void {
  cv.pullFailed++
  cv.pullAt = k.o.now() + Math.max(least, k.backoff(cv.pullFailed))
}

/** Takes the answer of a forward or newest Pull. */
function filled(k: Core, r: Request, cv: Conv, f: Range): void {
  const rec = cv.rec
  const was = rec.high
  let s = stretchOf(f)
  if (f.head > rec.head) {
    rec.head = f.head
    k.touch(cv, true)
  }
  const first = beginOf(s, rec)
  const next = after(rec, rec.high)
  if (rec.until !== 0 && s.last > rec.until) { // see take; what follows is pulled once more is known
    s = { ...s, last: rec.until, end: undefined }
    askMembership(k, cv)
  }
  if (s.last === 0 && r.kind === "newest" && r.from) {
    jump(k, cv, r.from + 1, false) // nothing is shown of what lies before that which came early
  } else if (s.last === 0 && f.head > rec.high) {
    giveUp(k, cv) // it exists, but is not shown
    return
  } else if (s.last > rec.high && first > next) {
    if (r.kind === "newest") jump(k, cv, first, true)
    // Asked forward from the next one: what is left out is not the user's to read.
    else if (r.from === next) jump(k, cv, first, rec.high >= rec.low)
  }
  if (s.last > 0) takeStretch(k, cv, s, false)
  if (rec.high === was && cv.missing()) { // no progress: do not ask in a circle
    pullLater(k, cv, 0)
    return
  }
  cv.pullFailed = cv.pullAt = 0
}

/** Adds an older stretch to the window if it touches it. */
function extend(k: Core, r: Request, cv: Conv, f: Range): void {
  const rec = cv.rec
  f.entries = (f.entries ?? []).map((e) => (e.seq <= cv.floor ? blanked(e) : (r.amended ?? []).reduce(latest, e))) // below the floor: by a node that had not noticed yet
  if (f.entries.some((e) => e.conversation !== rec.id || amends(e))) return
  if (k.convs.get(rec.id) !== cv || r.from !== before(rec, rec.low)) return
  const s = stretchOf(f)
  const low = beginOf(s, rec)
  if (s.last < (r.from ?? 0) || low >= rec.low) { // nothing older is the user's to read
    startAt(rec, rec.low)
    k.touch(cv, true)
    return
  }
  const top = rec.low
  rec.low = low
  cv.readBack = rec.high
  f.entries = f.entries.map((e) => (e.seq < low || e.seq >= top ? e : arrivesLate(k, cv, e)))
  for (const e of f.entries) {
    if (e.seq < low || e.seq >= top) continue
    cv.put(e)
    k.op({ op: "entry", entry: e })
    noteMention(k, cv, e.seq, Math.max(e.seq, e.amended), mentions(k, e) && !hides(rec, e))
    settle(k, e)
    if (!lastIsKept(rec) && (rec.last === undefined || rec.last.seq < e.seq)) rec.last = e // all behind it amends
  }
  k.touch(cv, true)
}
