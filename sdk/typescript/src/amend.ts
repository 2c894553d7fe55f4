import { gone, hides, type Conv } from "./conv.js"
import type { Core } from "./core.js"
import { messageOf } from "./message.js"
import { amendedInThread, becomes, becomesBy, saidInThread } from "./threads.js"
import { mentions, mentionsIn, noteMention, recalled } from "./unread.js"
import { KIND, type Entry, type Reaction } from "./wire.js"

/*
 * An amendment is an entry that changes an earlier one and says nothing else (SPEC §4.7). It has its
 * place in the conversation and is not kept: what it made of its target is. Of two states of an
 * entry the one with the greater `amended` is the newer, in whatever order they come, and what was
 * recalled stays so.
 */

const knownAmendments: ReadonlySet<unknown> = new Set([
  KIND.recall, KIND.edit, KIND.reaction, KIND.pin, KIND.vote, KIND.pollEnd, KIND.stream, KIND.preview, KIND.threadReply,
])

export function amends(e: Entry): boolean {
  return e.target !== 0 || e.kind === KIND.recall
}

/** This version knows what it makes of its target; what another one makes of it is pulled. */
export function known(e: Entry): boolean {
  return !amends(e) || knownAmendments.has(e.kind)
}

/** An entry as the recall at by leaves it: without what its author wrote. */
export function erased(e: Entry, by: number): Entry {
  const { conversation, seq, id, sender, storedAtMs, kind, count, target, pos, deleted, thread, alsoInMain } = e
  const out: Entry = { conversation, seq, storedAtMs, count, target, amended: Math.max(e.amended, by), recalled: true }
  for (const [name, v] of Object.entries({ id, sender, kind, pos, deleted, thread, alsoInMain })) if (v !== undefined) Object.assign(out, { [name]: v })
  return out
}

function reacted(e: Entry, by: Entry): Reaction[] {
  let all = [...(e.reactions ?? [])]
  for (const now of by.reactions ?? []) {
    const old = all.find((r) => r.reaction === now.reaction)
    const mine = by.react === undefined ? old?.mine ?? false : by.react.remove !== true
    const next: Reaction = { ...now, mine }
    if ((now.count ?? 0) === 0) all = all.filter((r) => r !== old)
    else if (old === undefined) all.push(next)
    else all = all.map((r) => (r === old ? next : r))
  }
  return all
}

function polled(e: Entry, by: Entry): Entry["poll"] {
  if (by.poll === undefined) return e.poll
  const was = new Map((e.poll?.options ?? []).map((o) => [o.id, o.mine ?? false]))
  const options = (by.poll.options ?? []).map((o) => ({ ...o, mine: by.vote === undefined ? was.get(o.id) ?? false : (by.vote.options ?? []).includes(o.id) }))
  return { ...by.poll, options }
}

/** An entry as an amendment of a kind that is known leaves it. */
function amended(e: Entry, by: Entry): Entry {
  const out: Entry = { ...e, amended: by.seq }
  const set = (names: readonly (keyof Entry)[]): void => {
    for (const n of names) {
      if (by[n] === undefined) delete out[n]
      else Object.assign(out, { [n]: by[n] })
    }
  }
  switch (by.kind) {
    case KIND.edit:
      set(["content", "mentions", "groupMention", "extra", "editedAtMs", "edits", "preview"])
      break
    case KIND.reaction:
      out.reactions = reacted(e, by)
      break
    case KIND.pin:
      set(["pinned"])
      break
    case KIND.stream:
      set(["content", "streaming", "replaced", "cutOff"])
      break
    case KIND.preview:
      set(["preview"])
      break
    case KIND.message: // in both
    case KIND.threadReply:
    case KIND.recall: // of a reply
      out.replies = by.replies ?? { count: (e.replies?.count ?? 0) + 1, lastAtMs: by.storedAtMs } // an ack does not tell it: one more
      if ((out.replies.count ?? 0) === 0) delete out.replies
      break
    default: {
      const poll = polled(e, by)
      if (poll !== undefined) out.poll = poll
    }
  }
  return out
}

/** What somebody else did is not the user's. */
export function ours(k: Core, e: Entry): Entry {
  if (e.sender === k.meta.user || (e.react === undefined && e.vote === undefined)) return e
  const { react: _r, vote: _v, ...rest } = e
  return rest
}

/** The newer of two states of an entry; the second may be undefined, of another entry, or an amendment of it. */
export function latest(e: Entry, other: Entry | undefined): Entry {
  if (other === undefined) return e
  if (inBoth(other) && other.thread === e.seq) return other.seq > e.amended && e.recalled !== true ? amended(e, other) : e
  if (amends(other)) {
    if (other.kind === KIND.recall && other.thread === e.seq) {
      return other.replies !== undefined && other.seq > e.amended && e.recalled !== true ? amended(e, other) : e
    }
    if (other.target !== e.seq || e.recalled === true) return e
    if (other.kind === KIND.recall) return erased(e, other.seq)
    return other.seq > e.amended && knownAmendments.has(other.kind) ? amended(e, other) : e
  }
  return other.seq === e.seq && other.amended > e.amended && (other.recalled === true || e.recalled !== true) ? other : e
}

/** Applies a recall that was pushed. Whether that is news: what it made of its target may have been told before. */
export function recall(k: Core, cv: Conv, e: Entry, tell: boolean): boolean {
  if (e.thread !== undefined) { // of a reply in a thread, which is not unread and not in the window (SPEC §4.36)
    tellThread(k, cv, e, tell)
    amendedInThread(k, cv, e)
    noteMention(k, cv, e.target, e.seq, false)
    changeRoot(k, cv, e.thread, e, tell)
    if (e.alsoInMain !== true) return true
  }
  recalled(k, cv, e.target, e.seq)
  const kept = cv.entry(e.target)
  if (kept === undefined) {
    outside(k, cv, e, e.target)
    return true
  }
  if (kept.amended < e.seq) change(k, cv, erased(kept, e.seq))
  return kept.recalled !== true && kept.deleted !== true
}

/** A message stands in a thread and in the conversation's line. */
export function inBoth(e: Entry): boolean {
  return e.alsoInMain === true && e.thread !== undefined && e.kind === KIND.message
}

/** Applies a message that stands in both: what its root comes to. One that was taken back by now is not counted. */
export function sayInBoth(k: Core, cv: Conv, e: Entry, tell: boolean): void {
  if (!inBoth(e) || e.recalled === true || e.thread === undefined) return
  tellThread(k, cv, e, tell)
  saidInThread(k, cv, e.thread, e)
  changeRoot(k, cv, e.thread, e, tell)
}

/** A message as it is kept: what is pushed with it of its root is the root's. */
export function withoutReplies(e: Entry): Entry {
  if (e.replies === undefined || !inBoth(e)) return e
  const { replies: _r, ...rest } = e
  return rest
}

/** What an entry makes of the root of a thread. */
function changeRoot(k: Core, cv: Conv, seq: number, by: Entry, tell: boolean): void {
  const root = cv.entry(seq)
  if (root === undefined) {
    outside(k, cv, by, seq)
    return
  }
  const now = root.deleted === true ? root : latest(root, by)
  if (now === root) return
  change(k, cv, now)
  if (tell && !hides(cv.rec, now)) k.feed({ kind: "changed", conversation: cv.rec.id, seq: now.seq }, now)
}

/** Something was said in a thread, or was done to what is said there. Who shows it is told. */
function tellThread(k: Core, cv: Conv, e: Entry, tell: boolean): void {
  if (!tell || e.thread === undefined) return
  const reply = e.kind === KIND.threadReply || inBoth(e)
  k.tell("thread", { conversation: cv.rec.id, root: e.thread, seq: reply ? e.seq : e.target, message: reply ? messageOf(e, k.meta.user, cv.rec) : undefined })
}

/** Applies another amendment that was pushed. */
export function revise(k: Core, cv: Conv, entry: Entry, tell: boolean): void {
  const e = ours(k, entry)
  if (e.thread !== undefined) tellThread(k, cv, e, tell)
  if (e.kind === KIND.threadReply) saidInThread(k, cv, e.target, e)
  else if (e.thread !== undefined) amendedInThread(k, cv, e)
  const kept = cv.entry(e.target)
  if (kept?.deleted === true) return // of what is gone
  if (e.kind === KIND.threadReply) noteMention(k, cv, e.seq, e.seq, mentionsIn(k, e) && !gone(cv.rec, e.seq))
  if (e.kind === KIND.edit && (kept === undefined || (kept.amended < e.seq && kept.recalled !== true))) {
    noteMention(k, cv, e.target, e.seq, mentionsIn(k, e) && !gone(cv.rec, e.target))
  }
  if (kept === undefined) {
    outside(k, cv, e, e.target)
    return
  }
  const now = latest(kept, e)
  if (now === kept) return
  change(k, cv, now)
  if (tell && !hides(cv.rec, now)) k.feed({ kind: "changed", conversation: cv.rec.id, seq: e.target }, now)
}

/** Takes over an entry that is, or was, known here as it is now. */
export function retake(k: Core, cv: Conv, e: Entry): void {
  const r = cv.rec
  if (e.conversation !== r.id || e.amended === 0 || amends(e) || hides(r, e)) return
  if (e.seq > r.high) { // the answer that fills the hole may be older
    cv.newer.set(e.seq, latest(e, cv.newer.get(e.seq)))
    return
  }
  if (e.recalled === true) recalled(k, cv, e.seq, e.amended)
  const kept = cv.entry(e.seq)
  if (kept?.deleted === true) return
  if (kept === undefined || (latest(kept, e) !== kept && mentions(k, kept) !== mentions(k, e))) {
    noteMention(k, cv, e.seq, e.amended, mentions(k, e))
  }
  if (kept === undefined) {
    outside(k, cv, e, e.seq)
    return
  }
  if (latest(kept, e) === kept) return
  change(k, cv, e)
  if (kept.recalled === true) return // told before
  if (e.recalled === true) k.feed({ kind: "recalled", conversation: r.id, seq: e.seq })
  else k.feed({ kind: "changed", conversation: r.id, seq: e.seq }, e)
}

/** Erases a message that the server says was recalled, perhaps where the user was no member. */
export function eraseRecalled(k: Core, cv: Conv, seq: number): void {
  const kept = cv.entry(seq)
  if (kept === undefined || kept.recalled === true || kept.deleted === true) return
  change(k, cv, erased(kept, 0))
  k.feed({ kind: "recalled", conversation: cv.rec.id, seq })
}

/** Replaces what is kept of an entry. */
export function change(k: Core, cv: Conv, e: Entry): void {
  if (cv.rec.last?.seq === e.seq) cv.rec.last = e
  cv.put(e)
  becomes(k, e)
  k.op({ op: "entry", entry: e })
  k.touch(cv, true)
}

/** An entry that is not in the window was amended: an answer that is under way may have it as it was before. */
function outside(k: Core, cv: Conv, by: Entry, target: number): void {
  if (target >= cv.rec.low) return
  becomesBy(k, cv.rec.id, target, by)
  const last = cv.rec.last
  if (last?.seq === target) { // shown until there is another
    cv.rec.last = latest(last, by)
    k.touch(cv, true)
  }
  for (const r of k.requests.values()) if (r.kind === "history" && r.cv === cv) (r.amended ??= []).push(by)
  k.tell("touched", { conversation: cv.rec.id, seq: target })
}
