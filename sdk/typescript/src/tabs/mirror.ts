import { guarded, type Unsubscribe } from "../events.js"
import type { View } from "../view.js"
import { patched, type Patch, type ViewKey } from "./frames.js"

/** How long a view is kept that nobody looks at. */
const lingers = 10_000

/** A view of the leader's, as this tab has it; it is there while somebody looks at it, and a little longer. */
export class Mirror<T> implements View<T> {
  private value: T
  private readonly listeners = new Set<() => void>()
  private usedAt = 0
  /** The leader sends it. */
  looking = false

  constructor(readonly key: ViewKey, private readonly empty: T, private readonly look: (m: Mirror<unknown>) => void, private readonly now: () => number) {
    this.value = empty
  }

  readonly getSnapshot = (): T => {
    this.use()
    return this.value
  }

  readonly subscribe = (changed: () => void): Unsubscribe => {
    this.use()
    const mine = (): void => changed() // the same function may be given twice
    this.listeners.add(mine)
    return () => {
      this.usedAt = this.now()
      this.listeners.delete(mine)
    }
  }

  use(): void {
    this.usedAt = this.now()
    if (this.looking) return
    this.looking = true
    this.look(this as Mirror<unknown>)
  }

  take(p: Patch): void {
    this.set(patched(this.value, p) as T)
  }

  set(value: T): void {
    if (value === this.value) return
    this.value = value
    for (const f of [...this.listeners]) guarded(f)
  }

  /** Whether it is given up: nobody looked for a while. */
  idle(): boolean {
    if (!this.looking || this.listeners.size > 0 || this.now() - this.usedAt < lingers) return false
    this.looking = false
    this.value = this.empty
    return true
  }
}
