import type { Message } from "@skein-im/client"

/** Names stand once above the messages that somebody wrote within so long. */
const together = 5 * 60_000

export type Row =
  | { kind: "date"; key: string; atMs: number }
  | { kind: "unread"; key: string }
  | { kind: "replies"; key: "replies" }
  | { kind: "event"; key: string; message: Message }
  | { kind: "message"; key: string; message: Message; first: boolean; last: boolean }

/** A message's place in the timeline, the same before and after it is stored. */
export function keyOf(m: Message): string {
  return m.id === "" ? `${m.conversation}/${m.seq}` : m.id
}

export function dayOf(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0)
}

/**
 * What is shown of messages: with a line for each day, the line above what is unread, and each message with its
 * place in its group. `unreadAfter`: the read mark when the conversation was opened; negative: no line. `whole`: there
 * is nothing older; else there is no line above the first message where others that are unread may be missing.
 */
export function rowsOf(messages: readonly Message[], unreadAfter: number, whole = true): Row[] {
  const rows: Row[] = []
  let day = -1
  let before: (Row & { kind: "message" }) | undefined
  let line = unreadAfter < 0 || (!whole && (messages[0]?.seq ?? 0) > unreadAfter + 1)
  for (const m of messages) {
    const today = dayOf(m.atMs)
    if (today !== day) {
      rows.push({ kind: "date", key: `day-${today}`, atMs: today })
      before = undefined
    }
    day = today
    if (!line && m.seq > unreadAfter && !m.own && m.kind === "message") {
      rows.push({ kind: "unread", key: "unread" })
      before = undefined
      line = true
    }
    if (m.kind === "event") {
      rows.push({ kind: "event", key: keyOf(m), message: m })
      before = undefined
      continue
    }
    const first = before === undefined || !joins(before.message, m)
    if (!first && before !== undefined) before.last = false
    before = { kind: "message", key: keyOf(m), message: m, first, last: true }
    rows.push(before)
  }
  return rows
}

/** Of a thread: its root, a line, and the replies. A day stands once above both. */
export function threadRows(root: Message, replies: readonly Message[], unreadAfter: number): Row[] {
  const head = rowsOf([root], -1)
  const tail = rowsOf(replies, unreadAfter)
  return [...head, { kind: "replies", key: "replies" }, ...(head[0]?.key === tail[0]?.key ? tail.slice(1) : tail)]
}

function joins(a: Message, b: Message): boolean {
  return a.sender === b.sender && b.atMs - a.atMs < together && !a.recalled && !b.recalled
}

const fields = [
  "id", "seq", "status", "atMs", "text", "type", "recalled", "editedAtMs", "edits", "streaming", "replaced", "cutOff", "preview", "poll", "forward", "replyTo", "event",
] as const

/** Two objects of one message say the same: nothing has to be drawn again. */
export function same(a: Message, b: Message): boolean {
  if (a === b) return true
  const lists = (x: readonly unknown[], y: readonly unknown[]): boolean => x === y || (x.length === 0 && y.length === 0)
  return fields.every((f) => a[f] === b[f]) && lists(a.reactions, b.reactions) && lists(a.media, b.media) && a.replies?.count === b.replies?.count && a.pinned?.atMs === b.pinned?.atMs && a.error?.code === b.error?.code
}

export function sameRow(a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.key !== b.key) return false
  if (a.kind === "message" && b.kind === "message") return a.first === b.first && a.last === b.last && same(a.message, b.message)
  if (a.kind === "event" && b.kind === "event") return same(a.message, b.message)
  return true
}

/** The rows as before where they say the same, so that what is drawn of them stays. */
export function settle(before: readonly Row[], now: readonly Row[]): Row[] {
  const known = new Map(before.map((r) => [r.key, r]))
  return now.map((r) => {
    const old = known.get(r.key)
    return old !== undefined && sameRow(old, r) ? old : r
  })
}
