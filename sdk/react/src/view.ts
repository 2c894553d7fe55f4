import { useMemo, useRef, useSyncExternalStore } from "react"
import type { Unsubscribe, View } from "@skein-im/client"

/** The same members in the same order. */
export function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((v, i) => Object.is(v, b[i]))
}

/** The same keys with the same values. */
export function sameMap<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>): boolean {
  if (a.size !== b.size) return false
  for (const [k, v] of a) if (!b.has(k) || !Object.is(b.get(k), v)) return false
  return true
}

/** What a view of the client shows now. */
export function useView<T>(view: View<T>): T {
  return useSyncExternalStore(view.subscribe, view.getSnapshot, view.getSnapshot)
}

/**
 * What `select` makes of a view. The component renders again only when that is another, as `same` compares
 * it; what is the same stays the same object. `select` must have no other effect, and may be written in place.
 */
export function useSelect<T, S>(view: View<T>, select: (value: T) => S, same: (a: S, b: S) => boolean = Object.is): S {
  const shown = useRef<{ value: S } | undefined>(undefined)
  const get = useMemo(() => {
    let memo: { from: T; value: S } | undefined
    return (): S => {
      const from = view.getSnapshot()
      if (memo !== undefined && Object.is(memo.from, from)) return memo.value
      let value = select(from)
      const before = memo ?? shown.current
      if (before !== undefined && same(before.value, value)) value = before.value
      memo = { from, value }
      return value
    }
  }, [view, select, same])
  const value = useSyncExternalStore(view.subscribe, get, get)
  shown.current = { value }
  return value
}

/** The same array as long as it has the same members: for lists of ids that are written in place. */
export function useStable(items: readonly string[]): readonly string[] {
  const last = useRef(items)
  if (!sameItems(last.current, items)) last.current = items
  return last.current
}


/** A store of this package's own: listeners, and a snapshot that is another after each change. */
export class Changes implements View<object> {
  private at: object = {}
  private readonly listeners = new Set<() => void>()

  readonly getSnapshot = (): object => this.at
  readonly subscribe = (changed: () => void): Unsubscribe => {
    this.listeners.add(changed)
    return () => void this.listeners.delete(changed)
  }

  changed(): void {
    this.at = {}
    for (const f of [...this.listeners]) f()
  }
}
