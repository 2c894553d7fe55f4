import type { Effect } from "../actions.js"
import { SkeinError } from "../errors.js"
import type { Message } from "../message.js"
import type { Limits, Send } from "../wire.js"

/*
 * What tabs say to each other. Everybody hears the common channel; each tab has one of its own with the leader. All
 * of it can be cloned. Whoever changes what stands here raises `version`.
 */

/** Of what tabs say. Tabs with another one are refused, and say so. */
export const version = 2

/** On the common channel. */
export interface Call {
  skein: number
  /** A tab looks for the leader. */
  hello?: string
  /** A tab leads from now on, in this term. */
  lead?: string
  /** The leader runs another version than this tab. */
  refuse?: string
}

/** On the channel of a tab: of one session, numbered; what has another number than the next was preceded by a loss. */
export interface Envelope<T> {
  term: string
  /** Counts the sessions of the tab. */
  session: number
  n: number
  body: T
}

/** What can be looked at: `state`, `conversations`, `outbox`, `messages:<id>`, `summary:<id>`. */
export type ViewKey = string

/** A question. It may be asked again, of the same leader or the next one, and is carried out once. */
export type Question =
  | { post: Omit<Send, "id"> & { id: string } }
  /** What became of a message that was in the outbox. */
  | { outcome: string; conversation: string }
  | { retry: string; conversation: string }
  | { discard: string }
  | { call: string; request: object; key: string }
  | { effect: Effect; conversation: string }
  | { load: string }
  | { read: string; seq: number | undefined }
  | { pages: "older" | "history" | "later" | "around"; conversation: string; seq: number; limit: number }
  | { thread: number; conversation: string; before: number; limit: number }
  | { connected: true }

/** From a tab to the leader. */
export type ToLeader =
  /** Begins a session. seen: the last event that the tab told, undefined: it is new. */
  | { attach: { seen: number | undefined; background: boolean; watched: readonly string[] } }
  | { look: ViewKey }
  | { unlook: ViewKey }
  | { ask: number; question: Question; again: boolean }
  | { cancel: number }
  /** The tab told the events up to that one; has that state of the view. */
  | { heard: number }
  | { shown: ViewKey }
  | { background: boolean }
  | { watched: readonly string[] }
  /** Passing: typing, a signal, reconnect. They may get lost. */
  | { typing: string }
  | { signal: string; type: string; data: Uint8Array }
  | { reconnect: true }
  | { ping: true }
  | { bye: true }

export interface Info {
  user: string
  limits: Readonly<Limits>
  /** By how much the server's clock is ahead. */
  ahead: number
}

/** From the leader to a tab. */
export type ToTab =
  /** last: the events up to that one were before the session. */
  | { welcome: Info; last: number }
  | { info: Info }
  | { view: ViewKey; patch: Patch }
  | { event: string; data: unknown; n: number }
  | { answer: number; value?: unknown; error?: Fault }
  /** The second answer to post and retry: the message is stored, or refused. */
  | { settled: number; value?: Message; error?: Fault }
  | { pong: true }
  /** Something was lost, or the leader knows nothing of the session: begin another one. In no session. */
  | { again: true }
  /** The leader looks for the tab: attach. In no session. */
  | { hi: true }

/** An error as it can be cloned: classes cannot. */
export interface Fault {
  fault: true
  code: string
  number: number
  message: string
  retryAfterMs: number
  field: string
  ticket: string
}

export function faultOf(e: unknown): Fault {
  const s = e instanceof SkeinError ? e : new SkeinError({ code: "internal", message: e instanceof Error ? e.message : String(e) })
  return { fault: true, code: s.code, number: s.number, message: s.message, retryAfterMs: s.retryAfterMs, field: s.field, ticket: s.ticket }
}

export function errorOfFault(f: Fault): SkeinError {
  return new SkeinError(f)
}

/** With errors as they can be cloned, and back. They stand in `error` of messages, states and events. */
export function pack(v: unknown): unknown {
  return map(v, (e) => (e instanceof SkeinError ? faultOf(e) : e))
}

export function unpack(v: unknown): unknown {
  return map(v, (e) => (typeof e === "object" && e !== null && (e as Fault).fault ? errorOfFault(e as Fault) : e))
}

function map(v: unknown, f: (e: unknown) => unknown): unknown {
  if (typeof v !== "object" || v === null) return v
  const o = v as { error?: unknown; message?: unknown }
  const error = o.error === undefined ? undefined : f(o.error)
  const message = typeof o.message === "object" ? map(o.message, f) : o.message
  if (error === o.error && message === o.message) return v
  return { ...o, error, ...(message === undefined ? {} : { message }) }
}

/**
 * How a view changed. A list is told by runs of what was there before, [from, count], and new items, so what did not
 * change stays the same object in every tab.
 */
export type Patch = { value: unknown } | { list: readonly ([number, number] | { items: readonly unknown[] })[] }

export function patchOf(was: unknown, now: unknown): Patch {
  if (!Array.isArray(now)) return { value: pack(now) }
  const at = new Map<unknown, number>((Array.isArray(was) ? was : []).map((v: unknown, i) => [v, i]))
  const list: ([number, number] | { items: unknown[] })[] = []
  for (const v of now as unknown[]) {
    const i = at.get(v)
    const last = list[list.length - 1]
    if (i === undefined) {
      if (last !== undefined && "items" in last) last.items.push(pack(v))
      else list.push({ items: [pack(v)] })
    } else if (Array.isArray(last) && last[0] + last[1] === i) last[1]++
    else list.push([i, 1])
  }
  return { list }
}

export function patched(was: unknown, p: Patch): unknown {
  if ("value" in p) return unpack(p.value)
  const old = Array.isArray(was) ? (was as unknown[]) : []
  return p.list.flatMap((run) => ("items" in run ? run.items.map(unpack) : old.slice(run[0], run[0] + run[1])))
}
