import type { Core, State } from "./core.js"
import { hides, kindOf, peerOf, shown, type Conv } from "./conv.js"
import type { SkeinError } from "./errors.js"
import { guarded, type Events, type Unsubscribe } from "./events.js"
import { messageOf, statusOf, type Message } from "./message.js"
import { outboxMessages } from "./outbox.js"
import type { ConversationRecord } from "./store.js"
import type { Entry, MyState } from "./wire.js"

/**
 * Something that can be looked at: getSnapshot gives the same object until it is another, and subscribe tells
 * when. Made for React's useSyncExternalStore; anything else may use it.
 */
export interface View<T> {
  readonly getSnapshot: () => T
  readonly subscribe: (changed: () => void) => Unsubscribe
}

/** A line of the conversation list. */
export interface Summary {
  id: string
  kind: "dm" | "group" | "me"
  /** A group's name; "" for others. */
  title: string
  /** The other user of a dm. */
  peer: string
  last: Message | undefined
  lastAtMs: number
  unread: number
  /** Those of them that mention the user. */
  unreadMentions: number
  /** The user's own read mark. */
  read: number
  peerReceived: number
  peerRead: number
  /** The entries that are here, and the last one that is known to exist. */
  low: number
  high: number
  head: number
  /** There is nothing older than what is here. */
  complete: boolean
  member: boolean
  mine: MyState
  /** Hidden, and nothing was written since; marked as unread, and not read on since. */
  hidden: boolean
  markedUnread: boolean
  /** After how many seconds what is said from now on disappears; 0: it stays. */
  lifetimeS: number
}

export interface StateSnapshot {
  state: State
  error: SkeinError | undefined
}

/** A view of what compute says; it is computed anew when one of the conversations changed that concerns it. */
export function viewOf<T>(events: Events, concerns: (id: string) => boolean, compute: () => T, begin?: () => void): View<T> {
  let cached: { value: T } | undefined
  const listeners = new Set<() => void>()
  let stop: Unsubscribe | undefined
  const listen = (): void => {
    stop ??= events.onChanged((ids) => {
      if (!ids.some(concerns)) return undefined
      cached = undefined
      return () => {
        for (const f of [...listeners]) guarded(f)
      }
    })
  }
  return {
    getSnapshot: () => {
      listen()
      return (cached ??= { value: compute() }).value
    },
    subscribe: (changed) => {
      listen()
      begin?.()
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
  }
}

export function summaryOf(k: Core, cv: Conv): Summary {
  return (cv.line ??= makeSummary(k, cv))
}

function makeSummary(k: Core, cv: Conv): Summary {
  const r = cv.rec
  const mine: MyState = r.mine ?? { revision: 0 }
  const last = lastShown(cv)
  const kind = kindOf(r.id)
  return {
    id: r.id, kind: kind === "invalid" ? "group" : kind, title: r.title, peer: peerOf(r.id, k.meta.user),
    last: last === undefined || last.seq < (mine.clearedBelow ?? 0) ? undefined : shownMessage(k, last, r),
    lastAtMs: r.lastAtMs, unread: cv.unread(), unreadMentions: r.mentions.length + r.mentionsMore, read: r.read,
    peerReceived: r.peerReceived, peerRead: r.peerRead, low: r.low, high: r.high, head: r.head,
    complete: r.low <= Math.max(r.earlier[0]?.first ?? r.first, mine.clearedBelow ?? 0, 1), member: r.until === 0, mine,
    hidden: mine.hidden === true && r.headCount <= (mine.hiddenCount ?? 0), markedUnread: mine.unread === true && r.read <= (mine.unreadAt ?? 0),
    lifetimeS: r.lifetimes.find((l) => l.until === 0)?.seconds ?? 0,
  }
}

function lastShown(cv: Conv): Conv["rec"]["last"] {
  const last = cv.rec.last
  if (last === undefined || !hides(cv.rec, last)) return last
  return cv.entries === undefined ? undefined : shown(cv.rec, cv.entries).pop()
}

/** The list, newest activity first, without the user's own feed. */
export function summaries(k: Core): Summary[] {
  return [...k.convs.values()]
    .filter((cv) => kindOf(cv.rec.id) !== "me")
    .map((cv) => summaryOf(k, cv))
    .sort((a, b) => b.lastAtMs - a.lastAtMs || (a.id < b.id ? -1 : 1))
}

/** Messages and events of a conversation as they are shown: those that are here, and behind them the outbox. What is said in threads alone is not among them. */
export function timeline(k: Core, id: string): Message[] {
  const cv = k.convs.get(id)
  const stored = cv?.entries === undefined ? [] : messagesOf(k, cv.rec, shown(cv.rec, cv.entries))
  return [...stored, ...outboxMessages(k, id).filter((m) => m.thread === 0 || m.alsoInMain)]
}

/** Entries as they are shown. One that did not change is the same object as before. */
export function messagesOf(k: Core, r: ConversationRecord, es: readonly Entry[]): Message[] {
  return es.map((e) => shownMessage(k, e, r)).filter((m) => m.kind !== "unknown")
}

function shownMessage(k: Core, e: Entry, r: ConversationRecord): Message {
  const was = k.shown.get(e)
  if (was !== undefined && was.status === statusOf(e, k.meta.user, r)) return was
  const m = messageOf(e, k.meta.user, r)
  k.shown.set(e, m)
  return m
}
