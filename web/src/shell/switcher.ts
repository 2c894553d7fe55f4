/** What opens from anywhere: the way to go anywhere, and the list of keys. */

export type Overlay = "switcher" | "keys" | undefined

let now: Overlay
const listeners = new Set<() => void>()

export const overlay = {
  getSnapshot: (): Overlay => now,
  subscribe(f: () => void): () => void {
    listeners.add(f)
    return () => listeners.delete(f)
  },
}

export function open(next: Overlay): void {
  if (next === now) return
  now = next
  for (const f of [...listeners]) f()
}

export const openSwitcher = (): void => open("switcher")
