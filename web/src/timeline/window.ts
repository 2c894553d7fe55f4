import type { Message } from "@skein-im/client"

/*
 * What is in the document: a stretch of the messages that are here, of one to `most`. It grows at the end that the
 * reader comes near to, and gives up what is far away at the other. `to: Infinity` follows what comes.
 */

export interface Span {
  /** Seqs of the first and the last message that are shown; from 0 and to Infinity have no bound. */
  from: number
  to: number
}

export const first = 80
/** So few at once, that drawing them is no long task. */
export const step = 30
export const most = 300

/** The last ones, with what comes. */
export function tail(all: readonly Message[], n = first): Span {
  const stored = all.filter((m) => m.seq > 0)
  return { from: stored.at(-n)?.seq ?? 0, to: Infinity }
}

/** Around a message, if it is here. */
export function around(all: readonly Message[], seq: number): Span | undefined {
  const i = all.findIndex((m) => m.seq >= seq)
  if (i < 0) return undefined
  const half = first / 2
  const to = all[i + half]
  return { from: all[Math.max(0, i - half)]!.seq, to: to === undefined || to.seq === 0 ? Infinity : to.seq }
}

/** What waits in the outbox (seq 0) is behind all others. */
export function cut(all: readonly Message[], s: Span): Message[] {
  return all.filter((m) => (m.seq === 0 ? s.to === Infinity : m.seq >= s.from && m.seq <= s.to))
}

function bounds(all: readonly Message[], s: Span): { stored: Message[]; i: number; j: number } {
  const stored = all.filter((m) => m.seq > 0)
  const i = stored.findIndex((m) => m.seq >= s.from)
  let j = stored.length - 1
  while (j >= 0 && stored[j]!.seq > s.to) j--
  return { stored, i: i < 0 ? stored.length : i, j }
}

/** More before; the far end goes if it is too much. */
export function up(all: readonly Message[], s: Span): Span {
  const { stored, i, j } = bounds(all, s)
  const from = Math.max(0, i - step)
  const to = Math.min(j, from + most - 1)
  return { from: stored[from]?.seq ?? 0, to: to < stored.length - 1 ? (stored[to]?.seq ?? Infinity) : s.to === Infinity ? Infinity : (stored[to]?.seq ?? Infinity) }
}

/** More behind; when nothing is left behind, it follows. */
export function down(all: readonly Message[], s: Span): Span {
  const { stored, i, j } = bounds(all, s)
  const to = j + step
  if (to >= stored.length - 1) return { from: stored[Math.max(i, stored.length - most)]?.seq ?? 0, to: Infinity }
  return { from: stored[Math.max(i, to - most + 1)]!.seq, to: stored[to]!.seq }
}

/** Nothing that is here lies before, or behind. */
export function atTop(all: readonly Message[], s: Span): boolean {
  return bounds(all, s).i === 0
}
export function atBottom(s: Span): boolean {
  return s.to === Infinity
}
