export interface Month<T> {
  /** Sortable: 2026-11. */
  key: string
  /** A moment in it. */
  atMs: number
  items: T[]
}

/** What is in the order of its times, in months. */
export function byMonth<T>(items: readonly T[], at: (item: T) => number): readonly Month<T>[] {
  const out: Month<T>[] = []
  for (const item of items) {
    const ms = at(item)
    const d = new Date(ms)
    const key = `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, "0")}`
    const last = out[out.length - 1]
    if (last?.key === key) last.items.push(item)
    else out.push({ key, atMs: ms, items: [item] })
  }
  return out
}
