import { amends, known, latest, recall, retake, revise, sayInBoth, withoutReplies } from "./amend.js"
import { Conv, after, before, begin, gone, hides, newRecord, peerOf } from "./conv.js"
import type { Core } from "./core.js"
import { delays, markLater, peerMarks, readUpTo } from "./marks.js"
import { forgetStored, settle } from "./outbox.js"
import { arrives, begins, blanked, noteMissing } from "./perish.js"
import { wantPull } from "./pull.js"
import { applyEarly, keepEarly, newestOf, reach } from "./stretch.js"
import { requestSync } from "./sync.js"
import { allStale } from "./threads.js"
import { mentions, noteMention, recalled, withoutDeleted } from "./unread.js"
import { KIND, type Entry } from "./wire.js"
import { askMembership, countBefore } from "./windows.js"

/** Applies entries: in the order of their seqs, each once. SPEC §6.1. */

/**
 * Takes entries that were pushed, or made from an ack. While a sync is unanswered they wait: its answer
 * may begin another timeline. So do those of a conversation that is not known, unless they are its
 * very first, and those of a group that the user had left: what lies between is not theirs.
 */
export function take(k: Core, entries: readonly Entry[]): void {
  for (const e of entries) {
    if (!e.conversation || e.seq === 0) continue
    if (k.syncing || (k.state !== "connected" && k.again.at > 0)) {
      hold(k, e)
      continue
    }
    let cv = k.convs.get(e.conversation)
    if (cv === undefined && e.seq !== 1) {
      holdUnknown(k, e)
      continue
    }
    if (cv?.returned(e.seq) === true) {
      holdReturned(k, cv, e)
      continue
    }
    cv ??= newConv(k, e.conversation, 0)
    offer(k, cv, e, false)
    wantPull(k, cv)
  }
}

function holdReturned(k: Core, cv: Conv, e: Entry): void {
  cv.askedAt = Math.max(cv.askedAt, e.seq)
  hold(k, e)
  askMembership(k, cv)
}

function holdUnknown(k: Core, e: Entry): void {
  if (!k.meta.listing) k.unknown.set(e.conversation, Math.max(k.unknown.get(e.conversation) ?? 0, e.seq))
  hold(k, e)
  askMembership(k, undefined)
}

/** Bounds the entries that wait for a sync. */
const maxHeld = 2000

function hold(k: Core, e: Entry): void {
  if (k.held.length >= maxHeld) k.heldOver = true // dropped; another sync brings them
  else k.held.push(e)
}

/** Forgets what waits for a sync; another one brings it, if it is there. */
export function dropHeld(k: Core): void {
  k.heldOver ||= k.held.length > 0
  k.held = []
}

/** Applies what waited for a sync, now that it is applied. */
export function releaseHeld(k: Core): void {
  const held = k.held
  k.held = []
  for (const e of held) {
    let cv = k.convs.get(e.conversation)
    if (cv === undefined) {
      if (k.meta.listing) {
        hold(k, e)
        continue
      }
      if (e.seq > Math.max(k.unknown.get(e.conversation) ?? 0, 1)) { // it came while a Sync was under way that was asked for before
        holdUnknown(k, e)
        continue
      }
      cv = newConv(k, e.conversation, 0) // the server lists it nowhere: begin where it is readable
    }
    if (cv.returned(e.seq) && e.seq > cv.askedAt) { // once: what the server does not tell then, it does not know
      holdReturned(k, cv, e)
      continue
    }
    offer(k, cv, e, false)
    wantPull(k, cv)
  }
  if (k.heldOver && !k.meta.listing) {
    k.heldOver = false
    requestSync(k)
  }
}

/** A conversation whose window is empty and will begin at base + 1. */
export function newConv(k: Core, id: string, base: number): Conv {
  const cv = new Conv(newRecord(id, base), [])
  k.convs.set(id, cv)
  k.unknown.delete(id)
  k.touch(cv, true)
  return cv
}

/** Gives an entry to its conversation: from anywhere, in any order, any number of times. */
export function offer(k: Core, cv: Conv, e: Entry, quiet: boolean): void {
  const r = cv.rec
  if (e.seq > r.head) {
    r.head = e.seq
    k.touch(cv, true)
  }
  if (e.seq <= r.high) {
    settle(k, e)
    retake(k, cv, e)
    return
  }
  if (!known(e)) return // its outcome is pulled
  const next = after(r, r.high)
  if (e.seq === next) {
    apply(k, cv, e, quiet)
    applyEarly(k, cv, quiet)
  } else if (e.seq > next) {
    keepEarly(cv, e.seq, { last: e.seq, entry: e })
  }
}

/** Makes an entry the newest of the window; everything it means goes into one batch. Quiet: it is history, not news. */
export function apply(k: Core, cv: Conv, entry: Entry, quiet: boolean): void {
  const r = cv.rec
  const e = latest(entry, cv.newer.get(entry.seq))
  const own = !!e.sender && e.sender === k.meta.user
  let kept = withoutReplies(e)
  if (!amends(e)) {
    noteMissing(k, cv, e)
    if (arrives(k, cv, e)) kept = blanked(e)
  }
  reach(k, cv, e.seq, newestOf(e))
  if (!amends(e)) {
    cv.put(kept)
    k.op({ op: "entry", entry: kept })
    r.last = kept
    noteMention(k, cv, e.seq, Math.max(e.seq, e.amended), mentions(k, e) && !hides(r, kept))
  }
  if (e.seq >= r.head) {
    r.head = e.seq
    r.headCount = e.count
    r.lastAtMs = e.storedAtMs
    cv.countedTo = e.seq
  }
  const acked = own && settle(k, e)
  if (e.seq === begin(r) && r.read < e.seq) r.readCount = Math.max(r.readCount, countBefore(e)) // what was before is not the user's
  if (!own) {
    received(k, cv, e, quiet)
  } else if (e.kind === KIND.message) {
    // Sending is reading, SPEC §4.2: the server knows, unless it forgets; see repeatMarks.
    readUpTo(k, cv, e.seq, e.count)
    cv.sentRead = Math.max(cv.sentRead, e.seq)
    r.markedAtMs = k.o.now()
  }
  if (gone(r, e.seq)) withoutDeleted(k, cv, false)
  else if (e.recalled === true) recalled(k, cv, e.seq, e.amended)
  tellApplied(k, cv, e, acked, !quiet && (acked || !hides(r, kept)), kept)
}

function tellApplied(k: Core, cv: Conv, e: Entry, acked: boolean, news: boolean, kept: Entry): void {
  const { id } = cv.rec
  if (e.kind === KIND.recall) {
    if (recall(k, cv, e, news) && news) k.feed({ kind: "recalled", conversation: id, seq: e.target, by: e.sender ?? "" })
    return
  }
  if (amends(e)) {
    revise(k, cv, e, news)
    return
  }
  if (e.kind === KIND.event) applyEvent(k, cv, e)
  sayInBoth(k, cv, e, news)
  if (news) k.feed({ kind: acked ? "ack" : "entry", conversation: id, seq: e.seq }, kept)
}

/** Moves the mark of what was received, and the peer's by what they write. */
function received(k: Core, cv: Conv, e: Entry, quiet: boolean): void {
  const r = cv.rec
  const peer = peerOf(r.id, k.meta.user)
  if (e.kind === KIND.message && e.sender && e.sender === peer) peerMarks(k, cv, e.sender, e.seq, e.seq) // they read what they answer
  r.received = e.seq
  if (!quiet || cv.unread() > 0) markLater(k, cv, peer === "" ? delays.group : delays.received)
}

/** Keeps title and membership up to date between two syncs. What is older than what the server told says nothing of now. */
function applyEvent(k: Core, cv: Conv, e: Entry): void {
  const r = cv.rec
  if (e.seq < r.first) return // of a time of membership that is over
  const users = e.event?.users ?? []
  const me = users.includes(k.meta.user)
  switch (e.event?.type) {
    case "EVENT_TYPE_GROUP_CREATED":
    case "EVENT_TYPE_GROUP_RENAMED":
      r.title = e.event.text ?? ""
      break
    case "EVENT_TYPE_LIFETIME_CHANGED":
      begins(k, cv, e)
      break
    case "EVENT_TYPE_MEMBER_ADDED":
      if (me && e.seq >= cv.told) r.until = 0
      break
    case "EVENT_TYPE_MEMBER_LEFT":
    case "EVENT_TYPE_MEMBER_REMOVED":
      if (me || (users.length === 0 && e.sender === k.meta.user)) left(k, cv, e.seq)
      break
    case "EVENT_TYPE_GROUP_DISMISSED":
      left(k, cv, e.seq)
  }
}

/** The entry with which the user ceased to be a member. If there is more behind it they are one again. */
function left(k: Core, cv: Conv, seq: number): void {
  if (seq < cv.told) return
  cv.rec.until = seq
  if (cv.rec.head > seq) askMembership(k, cv)
}

/** Starts the window anew at seq. What was left out is told, unless it never was the user's to read. */
export function jump(k: Core, cv: Conv, seq: number, tell: boolean): void {
  const r = cv.rec
  if (tell && before(r, seq) > cv.told) askMembership(k, cv) // recalls may be among what is left out
  const from = after(r, r.high)
  if (tell && seq > from) k.feed({ kind: "gap", conversation: r.id, from, seq: before(r, seq) })
  allStale(k, r.id)
  forgetStored(k, r.id, seq)
  k.op({ op: "forget", conversation: r.id, below: seq })
  cv.forgetEntries(seq)
  r.low = seq
  r.high = seq - 1
  cv.forgetEarly(seq)
  k.touch(cv, true)
  applyEarly(k, cv, false)
}
