import { change } from "./amend.js"
import { after, before, theirs, type Conv } from "./conv.js"
import type { Core } from "./core.js"
import { blanked } from "./perish.js"
import type { ConversationRecord, Window } from "./store.js"
import { requestSync } from "./sync.js"
import { KIND, type ConversationState, type Entry } from "./wire.js"

/** The times of membership: SPEC §4.3. What lies between two windows is not the user's to read, and no hole. */

/** The running count before an entry. */
export function countBefore(e: Entry): number {
  return e.kind === KIND.message && e.count > 0 ? e.count - 1 : e.count
}

/** Asks since when the user is a member, and what is unread there; undefined: of a conversation that is not known at all. */
export function askMembership(k: Core, cv: Conv | undefined): void {
  if (cv !== undefined) k.unsure.add(cv)
  if (!k.meta.listing) requestSync(k)
}

/** The list is read again if a sync did not tell of a membership that it was asked for. */
export function listUnsure(k: Core): void {
  if (k.unsure.size > 0 && !k.meta.listing && !k.wantSync) {
    k.meta.listing = true
    k.meta.listNext = ""
    k.unsure.clear() // once
  }
}

/**
 * Takes over the windows as the server tells them. One that the store holds stays, also where the
 * server does not name it any more, as far as it is not gone for all (§4.33). Answers where the
 * stored window has to begin now, 0: as it did.
 */
export function takeWindows(cv: Conv, s: ConversationState): number {
  const r = cv.rec
  const newer = s.seq >= r.high
  if (!newer && s.firstSeq < r.first) return 0 // as it was before the user came back
  const was = { ...r }
  const told = s.earlier ?? []
  const begins = told[0]?.firstSeq ?? s.firstSeq
  const all: Window[] = r.earlier
    .filter((w) => w.until >= r.low && w.until > s.floor && w.until < begins)
    .map((w) => ({ first: Math.max(w.first, s.floor + 1), until: w.until, hidden: 0 }))
  for (const w of told) all.push({ first: w.firstSeq, until: w.untilSeq, hidden: w.hidden })
  r.first = s.firstSeq
  r.earlier = all
  if (newer) {
    r.until = s.untilSeq
    cv.told = s.seq
  }
  cv.forgetEarly(after(r, r.high))
  return opened(r, was)
}

/** The first entry behind the last one of the stored window that was not the user's before and is now. */
function opened(r: ConversationRecord, was: ConversationRecord): number {
  let next = was.first
  for (let i = was.earlier.length - 1; i >= 0; i--) {
    const w = was.earlier[i]!
    const last = before(r, next)
    if (next <= r.high && last > w.until && last >= r.low) return next
    next = w.first
  }
  return 0
}

/** The stored window begins at a later entry; what is before it is read again when it is shown. */
export function raise(k: Core, cv: Conv, low: number): void {
  k.op({ op: "forget", conversation: cv.rec.id, below: low })
  cv.forgetEntries(low)
  cv.rec.low = low
  k.touch(cv, true)
}

/** Entries that no window has any more (disappeared, or below the floor) are not kept. */
export function dropOutside(k: Core, cv: Conv, floor: number): void {
  const r = cv.rec
  if (floor >= r.low) {
    const to = Math.min(floor, r.high)
    const from = cv.kept().find((e) => e.seq <= to && e.deleted !== true)?.seq
    raise(k, cv, to + 1)
    if (from !== undefined) k.feed({ kind: "gone", conversation: r.id, from, seq: to })
  }
  if (r.last !== undefined && r.last.seq <= floor && r.last.deleted !== true) r.last = blanked(r.last)
  const gaps = cv.kept().filter((e) => e.deleted !== true && !r.earlier.some((w) => w.first <= e.seq && e.seq <= w.until) && e.seq < r.first)
  for (const e of gaps) change(k, cv, blanked(e))
  if (gaps.length > 0) k.feed({ kind: "gone", conversation: r.id, from: gaps[0]!.seq, seq: gaps[gaps.length - 1]!.seq })
  if (r.lifetimes.length === 0 && gaps.length === 0) return
  r.recalled = r.recalled.filter((seq) => theirs(r, seq, seq) > 0)
  r.mentions = r.mentions.filter((seq) => theirs(r, seq, seq) > 0)
}
