/** What this browser keeps for its user: looks and habits, never anything that was said. Other tabs hear of changes. */

export interface Preference<T extends string> {
  get(): T
  set(v: T): void
  subscribe(f: () => void): () => void
}

const prefix = "skein.pref."
const all = new Map<string, () => void>()

addEventListener("storage", (e) => {
  if (e.key?.startsWith(prefix)) all.get(e.key)?.()
})

/** A preference with its values; one that is not among them (of a later version) is the default. */
export function preference<T extends string>(name: string, byDefault: T, values: readonly T[]): Preference<T> {
  const key = prefix + name
  const read = (): T => {
    const v = localStorage.getItem(key)
    return values.find((x) => x === v) ?? byDefault
  }
  let now = read()
  const listeners = new Set<() => void>()
  const tell = (): void => {
    now = read()
    for (const f of [...listeners]) f()
  }
  all.set(key, tell)
  return {
    get: () => now,
    set: (v) => {
      localStorage.setItem(key, v)
      tell()
    },
    subscribe: (f) => {
      listeners.add(f)
      return () => listeners.delete(f)
    },
  }
}
