import { SkeinError } from "../src/errors.js"
import { MemoryStore, type Entry, type Locks, type Op, type Snapshot, type Store, type WebSocketConstructor, type WebSocketLike } from "../src/index.js"
import type { Channel, Platform } from "../src/tabs/index.js"
import type { FakeServer, FakeSocket } from "./fake.js"

/*
 * A browser in memory: locks, channels and a disk, and tabs that use them. A tab may be killed at any step: what it does
 * from then on has no effect, its locks pass on, its socket is gone. Or frozen: nothing of it moves until it wakes,
 * and then all of it does. Channels never reorder; they may delay and lose.
 */

export interface Weather {
  /** Of a hundred messages so many are lost. */
  lost: number
  /** Numbers from 0 to 1. */
  random: () => number
}

interface Waiting {
  tab: FakeTab
  name: string
  held: (lock: unknown) => Promise<void> | void
  resolve: () => void
  reject: (e: unknown) => void
}

export class FakeBrowser {
  readonly holders = new Map<string, Waiting>()
  queue: Waiting[] = []
  readonly channels = new Set<{ name: string; tab: FakeTab; hear: (data: unknown) => void }>()
  readonly disk = new MemoryStore()
  owner: object | undefined

  constructor(readonly server: FakeServer, readonly weather: Weather = { lost: 0, random: () => 1 }) {}

  tab(): FakeTab {
    return new FakeTab(this)
  }

  grant(w: Waiting): void {
    this.holders.set(w.name, w)
    w.tab.later(() => {
      if (this.holders.get(w.name) !== w) return
      void Promise.resolve(w.held({ name: w.name })).then(() => {
        if (this.holders.get(w.name) === w) this.pass(w.name)
        w.resolve()
      })
    })
  }

  pass(name: string): void {
    this.holders.delete(name)
    const i = this.queue.findIndex((w) => w.name === name)
    if (i >= 0) this.grant(this.queue.splice(i, 1)[0]!)
  }
}

/** How much faster time is for tabs. */
const speed = 20

export class FakeTab {
  dead = false
  frozen: (() => void)[] | undefined
  steps = 0
  /** Dies at that step. */
  dieAt = 0
  died: Promise<void>
  private tellDied: () => void = () => undefined
  private readonly sockets: WebSocketLike[] = []

  constructor(private readonly b: FakeBrowser) {
    this.died = new Promise((done) => (this.tellDied = done))
  }

  /** Something that others see happens: it may be the last. */
  step(): void {
    if (++this.steps === this.dieAt) this.kill()
  }

  /** Runs f in the tab, unless it is dead; once it wakes, if it is frozen. */
  later(f: () => void): void {
    queueMicrotask(() => this.run(f))
  }

  run(f: () => void): void {
    if (this.dead) return
    if (this.frozen !== undefined) this.frozen.push(f)
    else f()
  }

  kill(): void {
    if (this.dead) return
    this.dead = true
    const { b } = this
    for (const c of [...b.channels]) if (c.tab === this) b.channels.delete(c)
    b.queue = b.queue.filter((w) => w.tab !== this)
    for (const s of this.sockets) s.close()
    for (const [name, w] of [...b.holders]) if (w.tab === this) b.pass(name)
    this.tellDied()
  }

  /** What it was told and has not heard gets lost. */
  lose(): void {
    if (this.frozen !== undefined) this.frozen = []
  }

  freeze(): void {
    this.frozen = []
  }

  wake(): void {
    const all = this.frozen ?? []
    this.frozen = undefined
    for (const f of all) queueMicrotask(() => this.run(f))
  }

  readonly locks: Locks = {
    request: (name, o, held) =>
      new Promise<void>((resolve, reject) => {
        const { b } = this
        if (this.dead) return
        const w: Waiting = { tab: this, name, held, resolve, reject }
        const holder = b.holders.get(name)
        if (o.steal === true && holder !== undefined) {
          b.holders.delete(name)
          holder.tab.later(() => holder.reject(new DOMException("stolen", "AbortError")))
        }
        if (o.signal?.aborted === true) reject(o.signal.reason as Error)
        else if (!b.holders.has(name)) b.grant(w)
        else if (o.ifAvailable === true) this.later(() => void Promise.resolve(held(null)).then(resolve))
        else {
          b.queue.push(w)
          o.signal?.addEventListener("abort", () => {
            b.queue = b.queue.filter((x) => x !== w)
            reject(o.signal?.reason as Error)
          })
        }
      }),
    query: () => Promise.resolve({ held: [...this.b.holders.keys()].map((name) => ({ name })) }),
  }

  private channel(name: string): Channel {
    const { b } = this
    let last = Promise.resolve()
    const out: Channel = {
      onmessage: null,
      postMessage: (data) => {
        this.step()
        if (this.dead) return
        const copy = structuredClone(data)
        for (const c of b.channels) {
          if (c.name !== name || c === mine) continue
          if (b.weather.random() * 100 < b.weather.lost) continue
          last = last.then(() => (b.weather.random() < 0.2 ? new Promise<void>((done) => setTimeout(done, b.weather.random() * 5)) : undefined))
          void last.then(() => b.channels.has(c) && c.hear(copy))
        }
      },
      close: () => void b.channels.delete(mine),
    }
    const mine = { name, tab: this as FakeTab, hear: (data: unknown) => this.run(() => out.onmessage?.({ data })) }
    b.channels.add(mine)
    return out
  }

  readonly platform: Platform = {
    locks: this.locks,
    channel: (name) => this.channel(name),
    setTimeout: (f, ms) => {
      const t = setTimeout(() => this.run(f), ms / speed)
      void this.died.then(() => clearTimeout(t))
      return t as unknown as number
    },
    clearTimeout: (t) => clearTimeout(t),
    now: () => Date.now() * speed,
  }

  /** A store on the browser's disk, as IndexedDBStore is: the last one that was loaded has it. */
  store(): Store {
    const { b } = this
    const never = <T>(): Promise<T> => new Promise(() => undefined)
    const awake = (): Promise<void> => new Promise((done) => this.run(done))
    const mine = {}
    const write = async (ops: readonly Op[]): Promise<void> => {
      this.step()
      if (this.dead) return never()
      await awake()
      if (b.owner !== mine) throw new SkeinError({ code: "store_taken" })
      await b.disk.apply(ops)
      this.step()
      if (this.dead) return never()
    }
    return {
      load: async (): Promise<Snapshot> => {
        if (this.dead) return never()
        b.owner = mine
        return structuredClone(await b.disk.load())
      },
      entries: async (id): Promise<Entry[]> => (this.dead ? never() : structuredClone(await b.disk.entries(id))),
      apply: (ops) => write(structuredClone(ops)),
      close: () => Promise.resolve(),
    }
  }

  webSocket(user: string): WebSocketConstructor {
    const base = this.b.server.webSocket(user)
    const make = (): WebSocketLike => {
      const s = new base("", []) as FakeSocket
      this.sockets.push(s)
      const send = s.send.bind(s)
      const tell = s.tell.bind(s)
      s.tell = (f) => this.run(() => tell(f))
      s.send = (text) => {
        this.step()
        this.run(() => send(text))
        this.step()
      }
      return s
    }
    return function () {
      return make()
    } as unknown as WebSocketConstructor
  }
}

/** Numbers from 0 to 1, the same ones for the same seed. */
export function seeded(seed: number): () => number {
  let x = seed
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0
    return x / 2 ** 32
  }
}
