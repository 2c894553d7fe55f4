import type { Locks } from "../idbstore.js"

/** What tabs use of their browser; tests give others. */
export interface Platform {
  /** undefined: there are none, and no other tab can be known. */
  locks: Locks | undefined
  channel: (name: string) => Channel
  setTimeout: (f: () => void, ms: number) => number
  clearTimeout: (timer: number | undefined) => void
  now: () => number
}

/** A BroadcastChannel: what is posted reaches all others of its name, in order. */
export interface Channel {
  onmessage: ((e: { data: unknown }) => void) | null
  postMessage(data: unknown): void
  close(): void
}

export function browser(): Platform {
  const g = globalThis as { navigator?: { locks?: Locks } }
  return {
    locks: typeof BroadcastChannel === "undefined" ? undefined : g.navigator?.locks,
    channel: (name) => new BroadcastChannel(name) as unknown as Channel,
    setTimeout: (f, ms) => setTimeout(f, ms) as unknown as number,
    clearTimeout: (t) => clearTimeout(t),
    now: Date.now,
  }
}

/** Two ends of a channel within a tab: what is posted is passed on, not cloned. */
export function pair(): [Channel, Channel] {
  const end = (): Channel & { other?: Channel; open: boolean } => ({
    onmessage: null,
    open: true,
    postMessage(data) {
      queueMicrotask(() => this.open && this.other?.onmessage?.({ data }))
    },
    close() {
      this.open = false
      this.onmessage = null
    },
  })
  const a = end()
  const b = end()
  a.other = b
  b.other = a
  return [a, b]
}

/** Holds a lock until release is called; held resolves once it has it, lost is called if another tab takes it. */
export interface Held {
  held: Promise<void>
  release: () => void
}

export function hold(locks: Locks, name: string, o: { steal?: boolean }, lost: () => void): Held {
  const stop = new AbortController()
  let release = (): void => stop.abort()
  let has = false
  const held = new Promise<void>((resolve) => {
    const take = (): Promise<void> => {
      has = true
      resolve()
      return new Promise((done) => (release = done))
    }
    locks.request(name, o.steal === true ? { steal: true } : { signal: stop.signal }, take).catch(() => {
      if (has) lost()
    })
  })
  return { held, release: () => release() }
}
