/*
 * The reader's place. Before anything changes it is known which row is under the reader's eye, and how far below the
 * top of the view it begins; afterwards the view is scrolled to where that is so again. At the end, and only there,
 * the end stays in view instead.
 */

export interface Box {
  key: string
  /** From the beginning of the content. */
  top: number
  height: number
}

export interface View {
  scrollTop: number
  height: number
  content: number
}

export type Place = { end: true } | { end: false; key: string; offset: number }

/** So near to the end counts as there. */
export const slack = 24

export function isAtEnd(v: View): boolean {
  return v.content - v.height - v.scrollTop <= slack
}

/** The first row that is seen: n rows, of which box(i) tells where they are, by halving. */
export function firstSeen(n: number, box: (i: number) => Box, scrollTop: number): number {
  let lo = 0
  let hi = n
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    const b = box(mid)
    if (b.top + b.height <= scrollTop) lo = mid + 1
    else hi = mid
  }
  return lo
}

/** Where the reader is. A row that is cut by the top holds unless it fills the view; the next one that begins in it is steadier when rows above change. */
export function placeOf(v: View, n: number, box: (i: number) => Box, follows: boolean): Place {
  if (follows && isAtEnd(v)) return { end: true }
  const i = firstSeen(n, box, v.scrollTop)
  if (i >= n) return { end: true }
  const cutOff = box(i)
  const next = i + 1 < n ? box(i + 1) : undefined
  const b = next !== undefined && cutOff.top < v.scrollTop && next.top < v.scrollTop + v.height / 2 ? next : cutOff
  return { end: false, key: b.key, offset: b.top - v.scrollTop }
}

/** Where to scroll, so that the place is as it was; undefined: the row is gone. */
export function scrollFor(p: Place, v: View, top: (key: string) => number | undefined): number | undefined {
  const most = Math.max(0, v.content - v.height)
  if (p.end) return most
  const t = top(p.key)
  return t === undefined ? undefined : Math.min(most, Math.max(0, t - p.offset))
}
