import type { ConversationRecord, Window } from "./store.js"
import type { Summary } from "./view.js"
import type { Entry, Newest, SeqRange } from "./wire.js"

/** What came too soon: an entry, or, without one, all places up to last, told by their outcome. */
export interface Place {
  last: number
  entry?: Entry | undefined
  end?: Newest | undefined
}

/** A conversation: its record, what waits, and the entries of its window once they are read. */
export class Conv {
  rec: ConversationRecord
  /** The window's entries, ascending; undefined: not read from the store yet. */
  entries: Entry[] | undefined
  /** What came above the next entry, by its first place. */
  readonly early = new Map<number, Place>()
  /** Newer states of entries in the hole before that. */
  readonly newer = new Map<number, Entry>()
  /** The last entry about which it was asked whether the user is a member again. */
  askedAt = 0
  /** Last seq as of the saved position; above it the conversation counts in the digest. */
  atPos: number
  changedTick = 0
  /** A Pull forward is unanswered; no other before pullAt. */
  pulling = false
  pullAt = 0
  pullFailed = 0
  /** Marks as told to this connection. */
  sentReceived = 0
  sentRead = 0
  /** Ends as of which the server last told membership, and unread mentions. */
  told = 0
  mentionsAt = 0
  /** The seq whose running count headCount is. */
  countedTo = 0
  /** The running count at the read mark is not known; the server is asked. */
  uncounted = false
  ownReceived = 0
  /** Up to where it is gone for all, as far as it was told here, and the running count there, if that was told. SPEC §4.33. */
  floor = 0
  floorCount: number | undefined
  /** Counts up: when it was used last. */
  usedAt = 0
  /** The last seq when somebody last read back from here. */
  readBack = 0
  /** The line of the list, as it was last shown. */
  line: Summary | undefined
  /** When something of it is gone next; and of each period, by its beginning, when the first entry is that is not. */
  perishAt = 0
  readonly alive = new Map<number, number>()

  constructor(rec: ConversationRecord, entries?: Entry[]) {
    this.rec = rec
    this.entries = entries
    this.atPos = rec.head
    if (rec.high >= rec.head) this.countedTo = rec.head
  }

  /** The entries of the window; whoever asks has them read before. */
  kept(): Entry[] {
    if (this.entries === undefined) throw new Error(`entries of ${this.rec.id} are not read`)
    return this.entries
  }

  entry(seq: number): Entry | undefined {
    if (seq < this.rec.low || seq > this.rec.high) return undefined
    if (this.rec.last?.seq === seq) return this.rec.last
    const all = this.kept()
    const i = indexOf(all, seq)
    return all[i]?.seq === seq ? all[i] : undefined
  }

  /** The last entry of the window up to seq. */
  entryUpTo(seq: number): Entry | undefined {
    const all = this.kept()
    const i = indexOf(all, seq + 1)
    return all[i - 1]
  }

  /** Adds an entry, or replaces it. */
  put(e: Entry): void {
    const all = this.kept()
    const i = indexOf(all, e.seq)
    all.splice(i, all[i]?.seq === e.seq ? 1 : 0, e)
  }

  forgetEntries(below: number): void {
    this.entries = this.kept().filter((e) => e.seq >= below)
  }

  missing(): boolean {
    const r = this.rec
    return r.head >= after(r, r.high) && (r.until === 0 || r.high < r.until)
  }

  /** By an entry that is there for the user: they came back to a group they had left. */
  returned(seq: number): boolean {
    return this.rec.until !== 0 && seq > this.rec.until
  }

  unread(): number {
    const r = this.rec
    return Math.max(0, r.headCount - (r.readCount + hidden(r) + r.recalled.length + r.recalledMore))
  }

  forgetEarly(seq: number): void {
    for (const [at, p] of this.early) if (p.last < seq) this.early.delete(at)
    for (const at of this.newer.keys()) if (at < seq) this.newer.delete(at)
  }
}

/** The first index whose seq is at least seq. */
function indexOf(all: readonly Entry[], seq: number): number {
  let lo = 0
  let hi = all.length
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    if (all[mid]!.seq < seq) lo = mid + 1
    else hi = mid
  }
  return lo
}

export function newRecord(id: string, base: number): ConversationRecord {
  return {
    id, title: "", first: 0, until: 0, earlier: [], low: base + 1, high: base, head: 0, headCount: 0, lastAtMs: 0, read: 0, readCount: 0,
    recalled: [], recalledMore: 0, mentions: [], mentionsMore: 0, received: 0, markedAtMs: 0, peerReceived: 0, peerRead: 0,
    last: undefined, newest: undefined, mine: undefined, lifetimes: [],
  }
}

/** The seq of the entry that follows seq for the user. */
export function after(r: ConversationRecord, seq: number): number {
  const next = seq + 1
  for (const w of r.earlier) if (next <= w.until) return Math.max(next, w.first)
  return Math.max(next, r.first)
}

/** The seq of the entry that precedes seq for the user, 0 if there is none. */
export function before(r: ConversationRecord, seq: number): number {
  const prev = Math.max(seq, 1) - 1
  if (prev >= r.first) return prev
  for (let i = r.earlier.length - 1; i >= 0; i--) {
    const w = r.earlier[i]!
    if (prev >= w.first) return Math.min(prev, w.until)
  }
  return 0
}

/** The user's very first entry, 0 if it is not known. */
export function begin(r: ConversationRecord): number {
  return r.earlier[0]?.first ?? r.first
}

/** How many of the entries from..to are the user's to read. */
export function theirs(r: ConversationRecord, from: number, to: number): number {
  let n = 0
  const part = (first: number, until: number): void => {
    n += Math.max(0, Math.min(until, to) - Math.max(first, from) + 1)
  }
  for (const w of r.earlier) part(w.first, w.until)
  part(r.first, to)
  return n
}

/** There is nothing for the user before seq. */
export function startAt(r: ConversationRecord, seq: number): void {
  const i = r.earlier.findIndex((w) => w.until >= seq)
  if (i < 0) {
    r.first = seq
    r.earlier = []
    return
  }
  r.earlier = r.earlier.slice(i).map((w, at) => (at === 0 ? { ...w, first: seq } : w))
}

/**
 * Whether seq lies between two times of membership, and is not the last there: the count at it says nothing of how many
 * messages that are not the user's come behind.
 */
export function amidTimes(r: ConversationRecord, seq: number): boolean {
  return theirs(r, seq, seq) === 0 && after(r, seq) !== seq + 1
}

/** The read mark is at seq: what is hidden before it is counted in readCount. */
export function passWindows(r: ConversationRecord, seq: number): void {
  if (r.earlier.some((w) => w.until < seq && w.hidden > 0)) {
    r.earlier = r.earlier.map((w): Window => (w.until < seq ? { ...w, hidden: 0 } : w))
  }
}

/** Messages after the read mark that are not the user's. */
export function hidden(r: ConversationRecord): number {
  return r.earlier.reduce((n, w) => n + w.hidden, 0)
}

/** Last is of the window: then the running count at high is its count. */
export function lastIsKept(r: ConversationRecord): boolean {
  return r.last !== undefined && r.last.seq >= r.low && r.last.seq <= r.high
}

/** The user deleted that message for themselves. SPEC §4.28. */
export function gone(r: ConversationRecord, seq: number): boolean {
  return (r.mine?.deleted ?? []).some((g: SeqRange) => g.first <= seq && seq <= g.last)
}

export function hides(r: ConversationRecord, e: Entry): boolean {
  return e.deleted === true || gone(r, e.seq)
}

/** Entries without what the user cleared or deleted. */
export function shown(r: ConversationRecord, es: readonly Entry[]): Entry[] {
  const from = r.mine?.clearedBelow ?? 0
  return es.filter((e) => e.seq >= from && !hides(r, e))
}

export type ConversationKind = "dm" | "group" | "me" | "invalid"

const id = "[A-Za-z0-9_-]{1,64}"
const forms = { dm: new RegExp(`^dm:(${id}):(${id})$`), group: new RegExp(`^grp:${id}$`), me: new RegExp(`^me:${id}$`) }

export function kindOf(conversation: string): ConversationKind {
  const dm = forms.dm.exec(conversation)
  if (dm !== null) return dm[1]! <= dm[2]! ? "dm" : "invalid"
  if (forms.group.test(conversation)) return "group"
  return forms.me.test(conversation) ? "me" : "invalid"
}

export function validId(s: string): boolean {
  return new RegExp(`^${id}$`).test(s)
}

/** The other side of a dm; "" for others, and for the user's own notes. */
export function peerOf(conversation: string, user: string): string {
  if (kindOf(conversation) !== "dm") return ""
  const [, a, b] = conversation.split(":")
  if (a === b) return ""
  return (a === user ? b : a) ?? ""
}

/** The id of the direct chat of two users; of one with themselves it has their notes. */
export function dm(a: string, b: string): string {
  return a <= b ? `dm:${a}:${b}` : `dm:${b}:${a}`
}
