import { theirs, type Conv } from "./conv.js"
import type { Core } from "./core.js"
import type { ConversationRecord } from "./store.js"
import { KIND, type ConversationState, type Entry } from "./wire.js"
import { askMembership } from "./windows.js"

/*
 * Which messages after the read mark were recalled (SPEC §4.2), and which mention the user
 * (§4.17), is kept by number: it does not matter how often, or by what, either is told. Behind
 * those that the server named lie more, of which only the number is known: once the read mark
 * passes the named ones, or one behind them changes, the server is asked.
 */

function insert(list: readonly number[], seq: number): number[] {
  return [...list, seq].sort((a, b) => a - b)
}

function without(list: readonly number[], seq: number): number[] {
  return list.filter((s) => s !== seq)
}

/** It would stand behind all that are named. */
function behindAll(list: readonly number[], seq: number): boolean {
  return list.length === 0 || seq > list[list.length - 1]!
}

/** A message was recalled. False: only the server knows whether that is counted already. */
export function recallOf(r: ConversationRecord, seq: number): boolean {
  if (seq <= r.read || theirs(r, seq, seq) === 0 || r.recalled.includes(seq)) return true
  if (behindAll(r.recalled, seq) && r.recalledMore > 0) return false
  r.recalled = insert(r.recalled, seq)
  return true
}

export function passRecalled(r: ConversationRecord, seq: number): void {
  r.recalled = r.recalled.filter((s) => s > seq)
  if (seq >= r.head) r.recalledMore = 0
}

export function passMentions(r: ConversationRecord, seq: number): void {
  r.mentions = r.mentions.filter((s) => s > seq)
  if (seq >= r.head) r.mentionsMore = 0
}

/** The read mark passed all that the server named, and there are more. */
export function unnamed(r: ConversationRecord): boolean {
  return (r.recalledMore > 0 && r.recalled.length === 0) || (r.mentionsMore > 0 && r.mentions.length === 0)
}

function namedSet(seqs: readonly number[] | undefined, all: number): { list: number[]; more: number } {
  const list = [...new Set(seqs ?? [])].sort((a, b) => a - b)
  return { list, more: Math.max(0, all - list.length) }
}

/** Takes over what the server says was recalled after its read mark; answers what was not known here. */
export function takeRecalled(r: ConversationRecord, s: ConversationState): number[] {
  let { list, more } = namedSet(s.recalledSeqs, s.recalled)
  const last = list[list.length - 1] ?? 0
  const news = list.filter((seq) => !r.recalled.includes(seq))
  if (s.seq < r.high) { // what was recalled since the server looked stays
    for (const seq of r.recalled) if (!list.includes(seq) && (more === 0 || seq < last)) list = insert(list, seq)
  }
  r.recalled = list
  r.recalledMore = more
  passRecalled(r, r.read)
  return news
}

/** A message was recalled by the entry at by. What was so before the server last told what is unread is counted. */
export function recalled(k: Core, cv: Conv, seq: number, by: number): void {
  noteMention(k, cv, seq, by, false)
  if (!recallOf(cv.rec, seq) && by > cv.told) askMembership(k, cv)
}

/** A message counts as a mention of the user. */
export function mentions(k: Core, e: Entry): boolean {
  return e.kind === KIND.message && e.recalled !== true && mentionsIn(k, e)
}

/** The words of a message, or of an edit by its author, do. */
export function mentionsIn(k: Core, e: Entry): boolean {
  return e.sender !== k.meta.user && (e.groupMention === "GROUP_MENTION_ALL" || (e.mentions ?? []).includes(k.meta.user))
}

/** Whether the message at seq mentions the user, as the entry at by left it; by is seq where nothing amended it. */
export function noteMention(k: Core, cv: Conv, seq: number, by: number, is: boolean): void {
  const r = cv.rec
  if (seq <= r.read || by <= cv.mentionsAt || theirs(r, seq, seq) === 0) return // passed, or told with the conversation
  const known = r.mentions.includes(seq)
  const behind = behindAll(r.mentions, seq) && r.mentionsMore > 0
  if (known && !is) r.mentions = without(r.mentions, seq)
  else if (!known && is && !behind) r.mentions = insert(r.mentions, seq)
  else if (known || !behind) return
  else if (by > seq || cv.mentionsAt === 0) askMembership(k, cv) // the server knows whether it is among the unnamed
  else if (is) r.mentionsMore++
}

/** Takes a message out of the unread mentions. False: only the server knows whether it is one. */
export function noMention(r: ConversationRecord, seq: number): boolean {
  const known = r.mentions.includes(seq)
  const behind = behindAll(r.mentions, seq)
  if (known) r.mentions = without(r.mentions, seq)
  return known || !behind || r.mentionsMore === 0
}

export function takeMentions(k: Core, cv: Conv, s: ConversationState): void {
  const r = cv.rec
  if (s.seq < r.high && s.seq < cv.mentionsAt) return // as it was before
  let { list, more } = namedSet(s.mentionSeqs, s.unreadMentions)
  let ask = false
  if (s.seq < r.high) {
    for (const seq of r.mentions) {
      if (list.includes(seq)) continue
      if (seq <= s.seq) ask = true
      else if (more > 0) more++
      else list = insert(list, seq)
    }
    ask ||= r.mentionsMore > 0 || more > 0
  }
  r.mentions = list
  r.mentionsMore = more
  cv.mentionsAt = s.seq
  passMentions(r, r.read)
  if (ask) askMembership(k, cv)
}

/** Takes what the user deleted out of what is unread. ask: where only the server knows, it is asked. */
export function withoutDeleted(k: Core, cv: Conv, ask: boolean): void {
  const r = cv.rec
  let unsure = false
  for (const g of r.mine?.deleted ?? []) {
    for (let seq = Math.max(g.first, r.read + 1); seq <= Math.min(g.last, r.head); seq++) {
      unsure = !recallOf(r, seq) || unsure
      unsure = !noMention(r, seq) || unsure
    }
  }
  if (ask && unsure) askMembership(k, cv)
}

