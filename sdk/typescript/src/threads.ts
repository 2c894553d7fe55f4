import { latest, inBoth, ours } from "./amend.js"
import { call } from "./call.js"
import type { Request, Response, Thread } from "./chat.js"
import { entryFrom } from "./codec.js"
import { gone, theirs, type Conv } from "./conv.js"
import type { Core } from "./core.js"
import { messageOf, type Message } from "./message.js"
import { disappeared, perishAfter } from "./perish.js"
import type { ThreadRecord } from "./store.js"
import type { Stretch } from "./stretch.js"
import type { Entry } from "./wire.js"

/*
 * A thread that the program read is kept, so that it can be shown without a connection: its root and a run of its
 * last replies, as ListThread told them and as what was applied since left them. Of all conversations together those
 * are kept that were read last.
 *
 * What a stretch tells of a thread is that its root was touched (SPEC §6.8), not by what, so from then on the thread is
 * stale: something may be missing in it. A stale one is read again as soon as there is a connection, and begins anew
 * with its last page. One that is not stale has all replies of its run, up to the end of the conversation's window.
 */

/** So many threads are kept, with so many replies each, which are so large together (as JSON, in UTF-16), but for the last one. */
export const maxThreads = 64
export const maxReplies = 200
export const maxThreadSize = 256 * 1024
/** After what time a thread is read again in which something happened while it was read. */
const againAfter = 1000
const method = "skein.v1.MessageService/ListThread"

type Answer = Response<typeof method>
type Page = { thread: Thread; replies: Message[]; next: number }

interface Told {
  thread: ThreadRecord["thread"]
  replies: readonly Entry[]
  before: number
}

/** A thread of an answer, as it is kept. */
export function threadFrom(t: Partial<NonNullable<Answer["thread"]>> = {}): Told["thread"] {
  return { root: entryFrom(t.root ?? {}), last: Number(t.last ?? 0), follows: t.follows ?? false, unread: t.unread ?? 0, read: Number(t.read ?? 0) }
}

function toldOf(a: Answer): Told {
  return { thread: threadFrom(a.thread), replies: (a.entries ?? []).map((e) => entryFrom(e)), before: Number(a.next ?? 0) }
}

function pageOf(k: Core, t: Told, kept: boolean): Page {
  const { user } = k.meta
  return { thread: { ...t.thread, root: messageOf(t.thread.root, user), kept }, replies: t.replies.map((e) => messageOf(e, user)), next: t.before }
}

const keyOf = (conversation: string, root: number): string => `${conversation} ${root}`

function set(k: Core, record: ThreadRecord): void {
  k.threads.set(keyOf(record.conversation, record.root), record)
  k.op({ op: "thread", record })
}

function drop(k: Core, t: ThreadRecord): void {
  k.threads.delete(keyOf(t.conversation, t.root))
  k.op({ op: "threadForget", conversation: t.conversation, root: t.root })
}

function keptOf(k: Core, conversation: string, root: number | undefined): ThreadRecord | undefined {
  return k.threads.get(keyOf(conversation, root ?? 0))
}

/** Notes that something was applied to threads of a conversation; "": to those of all. */
export function happen(k: Core, conversation: string): void {
  k.happened.set(conversation, (k.happened.get(conversation) ?? 0) + 1)
}

/** What happened so far that concerns a conversation. */
function happenedIn(k: Core, conversation: string): number {
  return (k.happened.get("") ?? 0) + (k.happened.get(conversation) ?? 0)
}

function stale(k: Core, t: ThreadRecord | undefined): void {
  if (t !== undefined && !t.stale) set(k, { ...t, stale: true })
}

/** The window begins anew: so may replies have been left out, and what was done to some. */
export function allStale(k: Core, conversation: string): void {
  happen(k, conversation)
  for (const t of [...k.threads.values()]) if (t.conversation === conversation) stale(k, t)
}

/** Notes the threads that a stretch says something of, which is not applied yet: by what, only the server knows. */
export function touchedBy(k: Core, cv: Conv, s: Stretch): void {
  const { id, high } = cv.rec
  if (s.last <= high) return
  happen(k, id)
  for (const e of [...s.touched, ...s.entries]) {
    stale(k, keptOf(k, id, e.seq))
    stale(k, keptOf(k, id, e.thread)) // it stands in the line as well
  }
}

/** Takes what an entry became, if it is the root of a thread, or a reply that stands in both. */
export function becomes(k: Core, e: Entry): void {
  const t = keptOf(k, e.conversation, e.seq)
  if (t !== undefined && e.amended >= t.thread.root.amended) set(k, { ...t, thread: { ...t.thread, root: e } })
  if (!inBoth(e)) return
  const of = keptOf(k, e.conversation, e.thread)
  if (of?.replies.some((r) => r.seq === e.seq) === true) set(k, put(k, of, e))
}

/** The same of a root that is not in the window, and of which an amendment came. */
export function becomesBy(k: Core, conversation: string, seq: number, by: Entry): void {
  const root = keptOf(k, conversation, seq)?.thread.root
  const now = root === undefined ? undefined : latest(root, by)
  if (now !== undefined && now !== root) becomes(k, now)
}

/** A reply without what it tells of its root. */
function bare(e: Entry): Entry {
  const { replies: _r, ...rest } = e
  return rest
}

/**
 * The thread with a reply that is new, or another than it was; without one that was taken back or is gone. One that lies
 * before those that are kept is not put to them: what lies between is not there.
 */
function put(k: Core, t: ThreadRecord, e: Entry): ThreadRecord {
  const old = t.replies.find((r) => r.seq === e.seq)
  if (old === undefined && e.seq < t.before) return t
  if (old !== undefined && e.recalled !== true && e.amended <= old.amended) return t
  const rest = t.replies.filter((r) => r !== old)
  const replies = e.recalled === true || e.deleted === true ? rest : [...rest, bare(e)].sort((a, b) => a.seq - b.seq)
  return counted(k, bounded({ ...t, replies }))
}

function bounded(t: ThreadRecord): ThreadRecord {
  const { replies } = t
  let from = replies.length
  for (let size = 0; from > 0 && replies.length - from < maxReplies; from--) {
    size += JSON.stringify(replies[from - 1]).length
    if (size > maxThreadSize && from < replies.length) break
  }
  return from === 0 ? t : { ...t, replies: replies.slice(from), before: replies[from]!.seq }
}

/** Works out what is unread, where all that may be is kept: replies of others behind what the user read, or wrote. */
function counted(k: Core, t: ThreadRecord): ThreadRecord {
  const own = (e: Entry): boolean => e.sender === k.meta.user
  let { last, read, follows, unread } = t.thread
  for (const e of t.replies) {
    if (own(e)) {
      read = Math.max(read, e.seq)
      follows ||= e.seq > t.thread.last
    }
    last = Math.max(last, e.seq)
  }
  if (t.before === 0 || (t.replies[0]?.seq ?? Infinity) <= read + 1) unread = t.replies.filter((e) => e.seq > read && !own(e)).length
  return { ...t, thread: { ...t.thread, last, read, follows, unread } }
}

/** Takes a reply that was applied. */
export function saidInThread(k: Core, cv: Conv, root: number, e: Entry): void {
  const { id } = cv.rec
  happen(k, id)
  const t = keptOf(k, id, root)
  if (t === undefined || e.recalled === true || gone(cv.rec, e.seq)) return
  set(k, put(k, t, e))
  if (e.sender === k.meta.user) takeMarks(k, cv) // who does not follow it does not by writing there
  perishAfter(k, cv, e)
}

/** Takes what was done to a reply. */
export function amendedInThread(k: Core, cv: Conv, by: Entry): void {
  happen(k, cv.rec.id)
  const t = keptOf(k, cv.rec.id, by.thread)
  const old = t?.replies.find((r) => r.seq === by.target)
  if (t === undefined || old === undefined) return
  const now = latest(old, ours(k, by))
  if (now !== old) set(k, put(k, t, now))
}

/** Takes what the user set for threads, here or on another device. */
export function takeMarks(k: Core, cv: Conv): void {
  for (const m of cv.rec.mine?.threads ?? []) {
    const t = keptOf(k, cv.rec.id, m.root)
    const says = m.follow === "THREAD_FOLLOW_YES" || m.follow === "THREAD_FOLLOW_NO"
    if (t === undefined || (t.thread.read >= m.read && !says)) continue
    const follows = says ? m.follow === "THREAD_FOLLOW_YES" : t.thread.follows
    set(k, counted(k, { ...t, thread: { ...t.thread, follows, read: Math.max(t.thread.read, m.read) } }))
  }
}

/**
 * Takes out of the threads of a conversation what is not the user's to read any more: what disappeared, is not kept by
 * the server, was cleared or deleted, or lies outside the times of membership. A thread whose root is gone is none.
 */
export function trimThreads(k: Core, cv: Conv): void {
  const r = cv.rec
  const lost = (e: Entry): boolean =>
    disappeared(k, cv, e) || e.seq <= cv.floor || e.deleted === true || e.seq < (r.mine?.clearedBelow ?? 0) || gone(r, e.seq) || (r.first > 0 && theirs(r, e.seq, e.seq) === 0)
  for (const t of [...k.threads.values()]) {
    if (t.conversation !== r.id) continue
    if (lost(t.thread.root)) drop(k, t)
    else if (t.replies.some(lost)) set(k, counted(k, { ...t, replies: t.replies.filter((e) => !lost(e)) }))
  }
}

/** Keeps what the server told of a thread: its last page, or the one before those that are kept. at: what had happened when it was asked for. */
function took(k: Core, conversation: string, before: number, told: Told, at: number, used: number): void {
  const cv = k.convs.get(conversation)
  const { root } = told.thread
  if (cv === undefined || root.seq === 0) return
  const old = keptOf(k, conversation, root.seq)
  const moved = happenedIn(k, conversation) !== at
  if (before === 0) {
    const thread = { ...told.thread, root: latest(latest(root, old?.thread.root), cv.entry(root.seq)) }
    // What was applied meanwhile may be missing; what comes behind the window will be applied.
    set(k, bounded({ ...told, conversation, root: root.seq, thread, stale: moved, used }))
  } else if (old !== undefined) {
    const joins = !old.stale && !moved && before === old.before && old.replies.length + told.replies.length <= maxReplies
    set(k, joins ? bounded({ ...old, used, before: told.before, replies: [...told.replies, ...old.replies] }) : { ...old, used })
  }
  trimThreads(k, cv)
  const all = [...k.threads.values()]
  if (all.length > maxThreads) drop(k, all.reduce((least, t) => (t.used < least.used ? t : least)))
}

function nextUsed(k: Core): number {
  let most = 0
  for (const t of k.threads.values()) most = Math.max(most, t.used)
  return most + 1
}

/** What is kept of a thread before a seq (0: its end), by its root or a reply; undefined: nothing is. */
function page(k: Core, conversation: string, seq: number, before: number, limit: number): Page | undefined {
  const t = keptOf(k, conversation, seq) ?? [...k.threads.values()].find((x) => x.conversation === conversation && x.replies.some((e) => e.seq === seq))
  if (t === undefined) return undefined
  const all = before > 0 ? t.replies.filter((e) => e.seq < before) : t.replies
  if (before > 0 && all.length === 0 && t.before !== 0) return undefined
  const replies = all.slice(-limit)
  return pageOf(k, { thread: t.thread, replies, before: replies.length < all.length ? replies[0]!.seq : t.before }, true)
}

/** Reads a thread: of the server, or of what is kept where there is no connection, or where it ends before the answer. */
export async function readThread(k: Core, conversation: string, seq: number, before: number, limit: number, signal: AbortSignal | undefined): Promise<Page> {
  const offline = (): Page | undefined => (k.state === "connected" ? undefined : page(k, conversation, seq, before, limit))
  const kept = await k.do([], offline)
  if (kept !== undefined) return kept
  const at = happenedIn(k, conversation)
  const request: Request<typeof method> = { conversation, seq: String(seq), limit, ...(before > 0 ? { before: String(before) } : {}) }
  let left: Page | undefined
  let told: Told
  try {
    told = toldOf((await call(k, method, request, { waits: () => (left = offline()) === undefined, ...(signal === undefined ? {} : { signal }) })) as Answer)
  } catch (e) {
    // Any other error is the answer, also where the connection ended since: a refusal is not hidden by what is kept.
    if (left === undefined || (e as { code?: string }).code !== "offline") throw e
    return left
  }
  await k.do([conversation], () => took(k, conversation, before, told, at, nextUsed(k)))
  return pageOf(k, told, false)
}

/** Has stale threads read again, one after the other, that which was read last first. */
export function refreshThreads(k: Core, now: number): void {
  if (k.threadsAt > now) return
  k.threadsAt = 0 // also where nothing can be asked now: a time that is over would have turns follow each other
  if (k.refreshing || k.state !== "connected" || k.closeAt > 0) return
  let t: ThreadRecord | undefined
  for (const x of k.threads.values()) if (x.stale && !k.refusedThreads.has(keyOf(x.conversation, x.root)) && x.used > (t?.used ?? 0)) t = x
  if (t === undefined) return
  k.refreshing = true
  const { conversation, root } = t
  const at = happenedIn(k, conversation)
  const answered = (f: (now: ThreadRecord) => void): void =>
    k.post([conversation], () => {
      k.refreshing = false
      const kept = keptOf(k, conversation, root)
      if (kept !== undefined) f(kept)
      if (keptOf(k, conversation, root)?.stale === true && !k.refusedThreads.has(keyOf(conversation, root))) k.threadsAt = k.o.now() + againAfter
    })
  call(k, method, { conversation, seq: String(root) }, {}).then(
    (a) => answered((kept) => took(k, conversation, 0, toldOf(a as Answer), at, kept.used)),
    (e: unknown) => answered((kept) => ((e as { code?: string }).code === "not_found" ? drop(k, kept) : k.refusedThreads.add(keyOf(conversation, root)))),
  )
}
