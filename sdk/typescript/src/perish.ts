import { change } from "./amend.js"
import { lastIsKept, theirs, type Conv } from "./conv.js"
import { due, earliest, type Core } from "./core.js"
import type { ConversationRecord, Lifetime } from "./store.js"
import { noMention, recallOf } from "./unread.js"
import { trimThreads } from "./threads.js"
import { KIND, type ConversationState, type Entry } from "./wire.js"
import { askMembership, countBefore } from "./windows.js"

/*
 * What disappears (SPEC §4.27) the client takes away by itself: of an entry that is gone it keeps
 * the place alone, as of a message that was deleted for the user, and a message among them is not
 * unread, as one that was recalled. The windows that the server tells have gaps there later. So it
 * does not matter which of the two clocks is the first.
 */

/** After what time the server is asked what is left: its clock may be a little late; and how often at most. */
const askDelay = 2000
const askEvery = 60_000

function within(l: Lifetime, seq: number): boolean {
  return l.after < seq && (l.until === 0 || seq <= l.until)
}

/** When an entry of the period is gone, by the server's clock. */
function endOf(l: Lifetime, e: Entry): number {
  return e.storedAtMs + l.seconds * 1000
}

function lifetimeOf(r: ConversationRecord, seq: number): Lifetime | undefined {
  return r.lifetimes.find((l) => within(l, seq))
}

/** It was noticed here that an entry is gone. */
function perished(r: ConversationRecord, seq: number): boolean {
  const l = lifetimeOf(r, seq)
  return l !== undefined && seq <= l.gone
}

/** What is kept of an entry that is gone: its place, as the server tells one that was deleted. */
export function blanked(e: Entry): Entry {
  const { conversation, seq, id, sender, storedAtMs, kind, count, target, pos, amended, recalled } = e
  const out: Entry = { conversation, seq, storedAtMs, count, target, amended, deleted: true }
  for (const [name, v] of Object.entries({ id, sender, kind, pos, recalled })) if (v !== undefined) Object.assign(out, { [name]: v })
  return out
}

function serverMs(k: Core): number {
  return k.o.now() + k.ahead
}

/** Has a conversation looked at when the server's clock is at ms. */
function perishSoon(k: Core, cv: Conv, ms: number): void {
  const at = Math.max(1, ms - k.ahead)
  cv.perishAt = earliest(cv.perishAt, at)
  k.perishAt = earliest(k.perishAt, at)
}

/** Has all conversations looked at: the server's clock is another than it was taken for. */
function lookForGone(k: Core): void {
  for (const cv of k.convs.values()) if (cv.rec.lifetimes.length > 0) perishSoon(k, cv, serverMs(k))
}

/** Takes note of what the server's clock says: the device's own may have been set. */
export function serverIs(k: Core, ms: number): void {
  k.ahead = ms - k.o.now()
  if (Math.abs(k.ahead - k.lookedAhead) < 1000) return
  k.lookedAhead = k.ahead
  lookForGone(k)
}

/**
 * The client begins; entries of conversations that have periods are read. What is gone and behind the
 * read marks is looked at once more: nothing tells whether it was still to be asked what is left of it.
 */
export function perishFirst(k: Core): void {
  for (const cv of k.convs.values()) {
    const r = cv.rec
    if (r.lifetimes.length === 0) continue
    r.lifetimes = r.lifetimes.map((l) => ({ ...l, gone: Math.min(l.gone, Math.max(r.read, l.after)) }))
    perishIn(k, cv)
  }
}

/** Takes away what is gone by now, once the entries of the conversations that are due are read. */
export function perish(k: Core, now: number): void {
  if (!due(k.perishAt, now)) return
  k.perishAt = 0
  const ids: string[] = []
  for (const cv of k.convs.values()) {
    if (due(cv.perishAt, now)) {
      cv.perishAt = 0
      ids.push(cv.rec.id)
    }
    k.perishAt = earliest(k.perishAt, cv.perishAt)
  }
  k.post(ids, () => {
    for (const id of ids) {
      const cv = k.convs.get(id)
      if (cv !== undefined) perishIn(k, cv)
    }
  })
}

function perishIn(k: Core, cv: Conv): void {
  const r = cv.rec
  let unsure = false
  cv.alive.clear()
  r.lifetimes = r.lifetimes.map((l) => {
    const { taken, shown } = perishOf(k, cv, l)
    const first = taken[0]?.seq
    if (first === undefined) return l
    // What lies before the window is gone as well, and only the server knows what it was.
    unsure ||= theirs(r, Math.max(r.read, l.after) + 1, Math.min(r.low - 1, first - 1)) > 0
    for (const e of taken) unsure = !notUnread(r, e) || unsure
    const gone = taken[taken.length - 1]!.seq
    if (shown) k.feed({ kind: "gone", conversation: r.id, from: first, seq: gone })
    k.touch(cv, true)
    return { ...l, gone }
  })
  perishLast(k, cv)
  trimThreads(k, cv)
  if (unsure) askWhatIsLeft(k, cv)
}

/** Finds what is gone of a period since it was last looked at, and blanks it. shown: something of it was there to be shown. */
function perishOf(k: Core, cv: Conv, l: Lifetime): { taken: Entry[]; shown: boolean } {
  const now = serverMs(k)
  const taken: Entry[] = []
  let shown = false
  for (const e of [...cv.kept()]) {
    if (e.seq <= l.gone || !within(l, e.seq)) continue
    const end = endOf(l, e)
    if (end > now) {
      cv.alive.set(l.after, end)
      perishSoon(k, cv, end)
      break
    }
    if (e.deleted !== true) {
      shown = true
      change(k, cv, blanked(e))
    }
    taken.push(e)
  }
  return { taken, shown }
}

/** An entry that is kept elsewhere than in the window disappeared; otherwise it is noted when it will. */
export function disappeared(k: Core, cv: Conv, e: Entry): boolean {
  const l = lifetimeOf(cv.rec, e.seq)
  if (l !== undefined && (e.seq <= l.gone || endOf(l, e) <= serverMs(k))) return true
  perishAfter(k, cv, e)
  return false
}

/** Has the conversation looked at when that entry disappears. */
export function perishAfter(k: Core, cv: Conv, e: Entry): void {
  const l = lifetimeOf(cv.rec, e.seq)
  if (l !== undefined) perishSoon(k, cv, endOf(l, e))
}

/** The last entry may lie before the window, where everything in it amends. */
function perishLast(k: Core, cv: Conv): void {
  const { last, low } = cv.rec
  const l = last === undefined || last.seq >= low || last.deleted === true ? undefined : lifetimeOf(cv.rec, last.seq)
  if (l === undefined || last === undefined) return
  if (endOf(l, last) > serverMs(k)) {
    perishSoon(k, cv, endOf(l, last))
    return
  }
  cv.rec.last = blanked(last)
  k.touch(cv, true)
}

/** Whether an entry that is the next of its conversation is gone already; otherwise it is noted when it will be. */
export function arrives(k: Core, cv: Conv, e: Entry): boolean {
  if (e.seq <= cv.floor) return true
  const l = lifetimeOf(cv.rec, e.seq)
  if (l === undefined) return false
  const now = serverMs(k)
  const alive = cv.alive.get(l.after)
  if (endOf(l, e) <= now && (alive === undefined || alive <= now)) {
    perishSoon(k, cv, now)
    return true
  }
  if (alive === undefined) {
    cv.alive.set(l.after, endOf(l, e))
    perishSoon(k, cv, endOf(l, e))
  }
  return false
}

/** The same of an entry from before the window, which has no time to come: as it is to be kept. */
export function arrivesLate(k: Core, cv: Conv, e: Entry): Entry {
  const l = lifetimeOf(cv.rec, e.seq)
  if (l === undefined || e.deleted === true) return e
  if (e.seq <= l.gone || endOf(l, e) <= serverMs(k)) {
    if (!notUnread(cv.rec, e)) askWhatIsLeft(k, cv)
    return blanked(e)
  }
  perishSoon(k, cv, endOf(l, e))
  return e
}

/** Takes what is gone out of what is unread. False: only the server knows whether that is done already. */
function notUnread(r: ConversationRecord, e: Entry): boolean {
  if (e.kind !== KIND.message || e.seq <= r.read) return true
  const sure = recallOf(r, e.seq)
  return noMention(r, e.seq) && sure
}

/** Asks the server what is unread in a conversation, a little later. */
export function askWhatIsLeft(k: Core, cv: Conv): void {
  k.goneAsk.add(cv)
  if (k.goneAskAt > 0) return
  k.goneAskAt = Math.max(k.o.now() + askDelay, k.goneAsked > 0 ? k.goneAsked + askEvery : 0)
}

export function askGone(k: Core, now: number): void {
  if (k.state !== "connected" || !due(k.goneAskAt, now)) return
  for (const cv of k.goneAsk) if (k.convs.get(cv.rec.id) === cv) askMembership(k, cv)
  k.goneAsk.clear()
  k.goneAskAt = 0
  k.goneAsked = now
}

/** Takes the entry that began a period, and ended the one before. */
export function begins(k: Core, cv: Conv, e: Entry): void {
  const r = cv.rec
  if (r.lifetimes.some((l) => l.after >= e.seq)) return // the server told it, or a later one
  // Where the period behind one has no entry, the one that began it goes with that one.
  const all = r.lifetimes.map((l) => (l.until === 0 || l.until === e.seq - 2 ? { ...l, until: e.seq - 1 } : l)).filter((l) => l.until !== l.after)
  if (all.some((l) => l.until === e.seq - 1)) perishSoon(k, cv, serverMs(k))
  const seconds = e.event?.lifetimeS ?? 0
  r.lifetimes = seconds > 0 ? [...all, { after: e.seq, until: 0, seconds, gone: 0 }] : all
}

/** Takes over the periods as the server tells them. Those that it does not tell any more are over: they stay until that was noticed here. */
export function takeLifetimes(k: Core, cv: Conv, s: ConversationState): void {
  const r = cv.rec
  if ((s.lifetimes?.length ?? 0) === 0 && r.lifetimes.length === 0) return
  const all: Lifetime[] = (s.lifetimes ?? []).map((l) => ({ after: l.after, until: l.until, seconds: l.lifetimeS ?? 0, gone: 0 }))
  for (const old of r.lifetimes) {
    const told = all.find((l) => l.after === old.after)
    if (told !== undefined) {
      told.gone = old.gone
      if (told.until === 0 && old.until >= s.seq) told.until = old.until // it ended since the server looked
    } else if (old.after > s.seq || (old.until !== 0 && old.gone < Math.min(old.until, r.high))) {
      all.push(old)
    }
  }
  r.lifetimes = all.sort((a, b) => a.after - b.after)
  perishSoon(k, cv, serverMs(k))
}

/** Takes out of what the server says is unread what is gone here; was is what was counted as recalled before. */
export function stillGone(r: ConversationRecord, was: readonly number[]): void {
  for (const seq of was) if (perished(r, seq)) recallOf(r, seq)
  for (const seq of r.mentions) if (perished(r, seq)) noMention(r, seq)
}

/** Has the server asked where the read mark lies between two windows: how many of what is gone there it passed is not known here. */
export function markIsGone(k: Core, cv: Conv): void {
  const r = cv.rec
  if (r.lifetimes.length > 0 && r.read >= r.low && theirs(r, r.read, r.read) === 0) askWhatIsLeft(k, cv)
}

/** Has the server asked where messages before the next entry were not told: they were gone before they were read here. */
export function noteMissing(k: Core, cv: Conv, e: Entry): void {
  const r = cv.rec
  if (r.lifetimes.length === 0 || !lastIsKept(r) || r.last === undefined) return
  if (countBefore(e) > r.last.count && theirs(r, r.last.seq, e.seq) === e.seq - r.last.seq + 1) askWhatIsLeft(k, cv)
}
