import type { Message } from "@skein-im/client"

/** Names stand once above what somebody said within so long. */
const together = 5 * 60_000

export type Row =
  | { kind: "day"; key: string; atMs: number }
  | { kind: "message"; key: string; message: Message; first: boolean; last: boolean }

/** The same before and after it is stored. */
export const keyOf = (m: Message): string => (m.id === "" ? String(m.seq) : m.id)

/** Messages with a line for each day, each with its place in its group. What happens to a group itself is not shown. */
export function rowsOf(messages: readonly Message[]): Row[] {
  const rows: Row[] = []
  let day = 0
  let before: Extract<Row, { kind: "message" }> | undefined
  for (const m of messages) {
    if (m.kind !== "message") continue
    const today = new Date(m.atMs).setHours(0, 0, 0, 0)
    if (today !== day) {
      rows.push({ kind: "day", key: `day-${today}`, atMs: today })
      before = undefined
    }
    day = today
    const joins = before !== undefined && before.message.sender === m.sender && m.atMs - before.message.atMs < together
    if (before !== undefined) before.last = !joins
    before = { kind: "message", key: keyOf(m), message: m, first: !joins, last: true }
    rows.push(before)
  }
  return rows
}
