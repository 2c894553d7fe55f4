import { useCallback, useEffect, useRef } from "react"
import type { EventMap, StateSnapshot, Summary } from "@skein-im/client"
import { useClient } from "./context.js"
import { sameItems, useSelect, useView } from "./view.js"

/** The connection's state, and what stopped it. */
export function useConnection(): StateSnapshot {
  return useView(useClient().state)
}

/** Calls the latest f for each event of that name, while the component is there. */
export function useEvent<K extends keyof EventMap>(name: K, f: (e: EventMap[K]) => void): void {
  const client = useClient()
  const latest = useRef(f)
  useEffect(() => {
    latest.current = f
  })
  useEffect(() => client.on(name, (e) => latest.current(e)), [client, name])
}

const all = (list: readonly Summary[]): readonly Summary[] => list

/**
 * The conversation list, newest activity first; with `select` what it makes of it: `(all) => all.filter(…)`.
 * A list of the same summaries renders nothing anew.
 */
export function useConversations(select: (list: readonly Summary[]) => readonly Summary[] = all): readonly Summary[] {
  return useSelect(useClient().conversations, select, sameItems)
}

/** A conversation's line of the list; undefined while nothing is known of it. */
export function useConversation(id: string): Summary | undefined {
  return useView(useClient().conversation(id).summary)
}

export interface Unread {
  /** Messages in conversations that are neither muted nor hidden. */
  messages: number
  /** Messages that mention the user, also in muted ones. */
  mentions: number
  /** How many conversations are neither muted nor hidden, and have something unread or are marked so. */
  conversations: number
}

/** What is unread, of all conversations. A mute that ends is counted from the next change on. */
export function useUnread(): Unread {
  const client = useClient()
  const select = useCallback((list: readonly Summary[]) => unreadOf(list, client.serverTimeMs()), [client])
  return useSelect(client.conversations, select, sameUnread)
}

/** A mute until the end of time is a large number, as any other. */
export function unreadOf(list: readonly Summary[], nowMs: number): Unread {
  const sum: Unread = { messages: 0, mentions: 0, conversations: 0 }
  for (const s of list) {
    if (s.hidden) continue
    sum.mentions += s.unreadMentions
    if ((s.mine.mutedUntilMs ?? 0) > nowMs) continue
    sum.messages += s.unread
    if (s.unread > 0 || s.markedUnread) sum.conversations++
  }
  return sum
}

function sameUnread(a: Unread, b: Unread): boolean {
  return a.messages === b.messages && a.mentions === b.mentions && a.conversations === b.conversations
}
