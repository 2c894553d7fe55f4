import { earliest, type Core } from "./core.js"
import { amidTimes, before, lastIsKept, passWindows, peerOf, theirs, type Conv } from "./conv.js"
import { invalid } from "./errors.js"
import { markIsGone } from "./perish.js"
import { pull } from "./pull.js"
import type { Receipt } from "./wire.js"
import { passMentions, passRecalled, unnamed } from "./unread.js"
import { askMembership } from "./windows.js"

/** Tells what was received and read, a little late, so that many become one. SPEC §6.2, §6.3. */

export const delays = { received: 200, group: 2000, read: 50 }
const maxMarksDue = 256

/** A mark of the conversation moved. */
export function markLater(k: Core, cv: Conv, delay: number): void {
  cv.rec.markedAtMs = k.o.now()
  k.markDue.add(cv)
  marksSoon(k, delay)
}

export function marksSoon(k: Core, delay: number): void {
  if (k.state !== "connected") return
  const waits = k.markDue.size < maxMarksDue && k.closeAt === 0 // who closes waits for no others
  k.marksAt = earliest(k.marksAt, k.o.now() + (waits ? delay : 0))
}

/** Sends what moved. Everything in the records is stored by now. */
export function flushMarks(k: Core): void {
  k.marksAt = 0
  if (k.state !== "connected") return
  if (k.proof !== undefined) { // perhaps of a history that the server does not have
    k.marksAt = k.o.now() + delays.read
    return
  }
  for (const cv of [...k.markDue]) {
    k.markDue.delete(cv)
    const { id, received, read } = cv.rec
    if (k.convs.get(id) !== cv) continue
    if (received > cv.sentReceived) {
      cv.sentReceived = received
      k.send({ received: { conversation: id, seq: received } })
    }
    if (read > cv.sentRead) {
      cv.sentRead = read
      k.send({ read: { conversation: id, seq: read } })
      if (unnamed(cv.rec)) askMembership(k, cv) // the answer tells what is unread as well
    }
  }
}

/** Sends again, on a new connection, those that the server may have lost. */
export function repeatMarks(k: Core): void {
  for (const cv of k.convs.values()) {
    if (cv.rec.markedAtMs > 0 && cv.rec.markedAtMs >= k.meta.settledAtMs) {
      cv.sentReceived = cv.sentRead = 0
      k.markDue.add(cv)
    }
  }
  if (k.markDue.size > 0) marksSoon(k, delays.read)
}

/** Moves the user's own read mark. */
export function readUpTo(k: Core, cv: Conv, seq: number, count: number): void {
  const r = cv.rec
  if (seq <= r.read) return
  r.read = seq
  r.readCount = Math.max(r.readCount, count)
  passWindows(r, seq)
  passRecalled(r, seq)
  passMentions(r, seq)
  markIsGone(k, cv)
  k.touch(cv, false)
}

/** The program's markRead: stored, then told. */
export function markRead(k: Core, cv: Conv, seq: number): void {
  const r = cv.rec
  if (!Number.isSafeInteger(seq) || seq < 0 || seq > r.head) throw invalid(`seq ${seq} is none of 0 to the last entry, ${r.head}`)
  const to = before(r, Math.min(seq, r.high) + 1)
  if (to <= r.read) return
  const count = countAt(cv, to)
  readUpTo(k, cv, to, count ?? 0)
  if (count === undefined) askCount(k, cv, to)
  markLater(k, cv, delays.read)
  k.touch(cv, true)
}

/** Takes over somebody's marks; the user's own come from other devices. */
export function onReceipt(k: Core, f: Receipt): void {
  const cv = k.convs.get(f.conversation ?? "")
  if (cv === undefined) return
  const r = cv.rec
  if (f.user === k.meta.user) {
    if (f.read > r.read) {
      const count = countAt(cv, f.read) ?? (amidTimes(r, f.read) ? undefined : f.readCount || undefined)
      readUpTo(k, cv, f.read, count ?? 0)
      if (count === undefined) askCount(k, cv, f.read)
      cv.sentRead = Math.max(cv.sentRead, f.read)
      if (unnamed(r)) askMembership(k, cv)
    }
    cv.ownReceived = Math.max(cv.ownReceived, f.received, r.received, r.read)
    k.touch(cv, false)
    k.tell("receipt", { conversation: r.id, user: f.user, received: cv.ownReceived, read: r.read })
  } else if (f.user && peerOf(r.id, k.meta.user) === f.user) {
    peerMarks(k, cv, f.user, f.received, f.read)
  }
}

/** Takes over the marks of a dm's other side, as far as they are news. */
export function peerMarks(k: Core, cv: Conv, user: string, received: number, read: number): void {
  const r = cv.rec
  const most = Math.max(received, read)
  if (most <= r.peerReceived && read <= r.peerRead) return
  r.peerReceived = Math.max(r.peerReceived, most)
  r.peerRead = Math.max(r.peerRead, read)
  k.touch(cv, false)
  k.tell("receipt", { conversation: r.id, user, received: r.peerReceived, read: r.peerRead })
}

/** The running count at seq, if it is known here: of the last entry up to it that amends nothing. */
export function countAt(cv: Conv, seq: number): number | undefined {
  const r = cv.rec
  if (seq === cv.countedTo) return r.headCount
  if (seq < r.low || seq > r.high) return undefined
  if (seq === r.high && lastIsKept(r)) return r.last?.count
  const last = cv.entryUpTo(seq)
  // What lies between and is not the user's may count.
  return last === undefined || theirs(r, last.seq, seq) !== seq - last.seq + 1 ? undefined : last.count
}

/** Asks for the count of a mark that is not known here, once there is a connection. */
export function askCount(k: Core, cv: Conv, seq: number): void {
  cv.uncounted = true
  if (k.state === "connected") pull(k, { kind: "count", cv, at: 0, from: seq, mark: seq }, false, 1)
}
