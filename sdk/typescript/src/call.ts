import type { Core } from "./core.js"
import { SkeinError, errorOf } from "./errors.js"
import { randomKey } from "./ids.js"
import { repeatOf } from "./methods_gen.js"
import type { ServerFrame } from "./wire.js"

/** Calls any method of the API over the connection. SPEC §8. */

/** A Call that is unanswered. */
export interface CallState {
  done: (r: { json?: unknown; error?: SkeinError; lost?: SkeinError }) => void
}

export interface CallOptions {
  /**
   * An idempotency key of the program's own ([A-Za-z0-9_-]{16,64}, random): with it the program can make the
   * call again, also after a crash, and it is carried out once. Without it each call has one of its own.
   */
  key?: string
  /** Ends the waiting. The call may be carried out nevertheless. */
  signal?: AbortSignal
}

/** How often a call may lose its connection: then it is the reason. */
const mostLost = 8

/** A call that may be asked for several times. */
interface Try {
  method: string
  key: string
  request: object
  /** A repeat does no harm, whatever the server makes of keys. */
  safe: boolean
  /** The server may have it; it came to servers only that keep keys. */
  sent: boolean
  keyed: boolean
  /** It may have been carried out, and nobody said so. */
  unsure: boolean
  lost: number
  refused: number
}

export function onResult(k: Core, f: NonNullable<ServerFrame["result"]>): void {
  const c = k.calls.get(f.number ?? 0)
  if (c === undefined) return
  k.calls.delete(f.number ?? 0)
  c.done(f.error === undefined ? { json: f.json ?? {} } : { error: errorOf(f.error) })
}

/**
 * Asks until it is answered. If the connection is lost before, or the server does not know what came of the
 * call, it is asked again with the same key, and carried out once. Of a server that takes no keys only
 * what changes nothing, or does the same again, is asked again. before: another client asked it with this key, perhaps.
 * waits: asked where there is no connection; if it says no, none is waited for, and the call fails with the code `offline`.
 */
export async function call(k: Core, method: string, request: object, o: CallOptions & { waits?: () => boolean }, before = false): Promise<unknown> {
  const repeat = repeatOf(method)
  const key = repeat === "reads" ? "" : o.key ?? (repeat === "same" ? "" : randomKey())
  const t: Try = { method, key, request, safe: repeat !== "key", sent: before, keyed: before, unsure: before, lost: 0, refused: 0 }
  const ready = (): Promise<void> => {
    if (k.state !== "connected" && o.waits?.() === false) throw new SkeinError({ code: "offline" })
    return abortable(whenConnected(k), o.signal)
  }
  for (;;) {
    o.signal?.throwIfAborted()
    await ready()
    const early = pace(k, method)
    if (early > 0) {
      await abortable(pause(k, early), o.signal)
      await ready()
    }
    const r = await abortable(ask(k, t), o.signal)
    if (r.error === undefined && r.lost === undefined) return r.json
    const wait = again(k, t, r)
    if (wait === undefined) throw r.error ?? r.lost
    if (wait > 0) await abortable(pause(k, wait), o.signal)
  }
}

/** Methods that count as messages. SPEC §1.5. */
const sends = /MessageService\/(SendMessage|EditMessage|ReactToMessage|VoteInPoll|EndPoll|PinMessage|ForwardMessages|StreamMessage|RecallMessage)$/

/**
 * How long a call has to wait, in ms, so that a burst of them is spread as the server takes it; its turn is taken. What
 * other connections of the device ask is not known here, and is told by `rate_limited`.
 */
function pace(k: Core, method: string): number {
  const kind = repeatOf(method) === "reads" ? "reads" : sends.test(method) ? "sends" : "calls"
  const { burst = 0, perSecond = 0 } = k.limits[kind] ?? {}
  if (burst < 1 || perSecond <= 0) return 0
  const now = k.o.now()
  const every = 1000 / perSecond
  const at = Math.max(now, k.paced.get(kind) ?? 0)
  k.paced.set(kind, at + every)
  return Math.max(0, at - now - (burst - 1) * every)
}

type Answer = Parameters<CallState["done"]>[0]

/** When to ask again, undefined: not. */
function again(k: Core, t: Try, r: Answer): number | undefined {
  if (k.over !== undefined) return undefined
  if (r.lost !== undefined && !t.sent) return 0
  if (!t.safe && !t.keyed) return undefined
  if (r.lost !== undefined) {
    t.unsure = true
    return ++t.lost < mostLost ? 0 : undefined
  }
  const e = r.error
  if (e !== undefined && (e.code === "unknown" || (t.unsure && e.action === "retry"))) {
    t.unsure = true
    return Math.max(e.retryAfterMs, k.backoff(++t.refused))
  }
  return undefined
}

/** Asks once, unless a server that takes no keys would carry it out once more. */
function ask(k: Core, t: Try): Promise<Answer> {
  return new Promise((done) => {
    k.post([], () => {
      const keeps = (k.limits.idempotencyKeys ?? 0) > 0
      const lost = new SkeinError({ code: "connection_lost", message: "the connection was lost before the answer" })
      if (k.link === undefined || k.state !== "connected") return done({ lost })
      if (t.sent && !t.safe && !keeps) {
        t.keyed = false
        return done({ lost })
      }
      const number = k.nextNumber()
      k.calls.set(number, { done })
      k.send({ call: { number, method: t.method, json: t.request, ...(t.key === "" ? {} : { idempotencyKey: t.key }) } })
      t.sent = true
      t.keyed = keeps
      k.owes()
    }, (e) => done({ lost: e instanceof SkeinError ? e : new SkeinError({ code: "closed" }) }))
  })
}

/** Resolves once connected; rejects with why that will not be. */
export function whenConnected(k: Core): Promise<void> {
  return new Promise((resolve, reject) => {
    if (k.over !== undefined) reject(k.over)
    else if (k.state === "connected") resolve()
    else if (k.state === "stopped") reject(k.stateError ?? new SkeinError({ code: "offline" }))
    else k.waiters.add((e) => (e === undefined ? resolve() : reject(e)))
  })
}

function pause(k: Core, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void k.ended.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Waits no longer once the signal says so; what was begun goes on. */
export function abortable<T>(p: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return p
  if (signal.aborted) {
    p.catch(() => undefined)
    return Promise.reject(signal.reason as Error)
  }
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener("abort", stop, { once: true })
    p.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })
}
