import { useEffect, useMemo, useState } from "react"
import type { Message, Summary } from "@skein-im/client"
import { useClient, useSelect, useUser, useView } from "@skein-im/react"
import { peerIn } from "../conversations/title.js"
import { shelfOf, useBookKnown, useContact, type Shelf } from "../people/book.js"
import { isAdmin, useGroup, type GroupState } from "../timeline/group.js"

/** Why one cannot write here; `react`: one may react all the same. */
export type Barrier =
  | { why: "left" | "dismissed" | "deleted" | "muted_all"; react: false }
  /** Of a direct chat with somebody who is no contact: nobody asked yet, the user did, the other did. */
  | { why: "stranger" | "asked" | "asksMe"; react: false }
  | { why: "admins"; react: true }
  | { why: "muted"; untilMs: number; react: false }

export interface About {
  /** It is a chat with one other person. */
  dm: boolean
  summary: Pick<Summary, "member" | "head"> | undefined
  group: GroupState
  me: string
  peerDeleted: boolean
  /** Where the other of a direct chat stands in the user's contacts; undefined: nowhere. */
  shelf: Shelf | "unknown" | undefined
  /** What the server refused last. */
  refused: string | undefined
  nowMs: number
}

export function barrierOf(a: About): Barrier | undefined {
  if (a.dm) {
    if (a.peerDeleted) return { why: "deleted", react: false }
    const begun = (a.summary?.head ?? 0) > 0 && a.refused !== "not_contact" // who let one write before is not asked again
    if (begun || a.shelf === "unknown" || a.shelf === "contacts" || a.shelf === "blocked") return undefined
    return { why: a.shelf ?? "stranger", react: false }
  }
  if (a.summary === undefined) return undefined
  if (!a.summary.member) return { why: "left", react: false }
  const untilMs = Number(a.group.members.get(a.me)?.mutedUntilMs ?? 0)
  if (untilMs > a.nowMs) return { why: "muted", untilMs, react: false }
  if (a.group.group === undefined || isAdmin(a.group)) return undefined
  if (a.group.group.mutedAll === true) return { why: "muted_all", react: false }
  return a.group.group.whoMayPost === "GROUP_POWER_ADMINS" ? { why: "admins", react: true } : undefined
}

/** How long slow mode has one wait, in ms; 0: not. */
export function slowFor(group: GroupState, lastOwnAtMs: number, nowMs: number): number {
  const seconds = group.group?.slowModeS ?? 0
  return seconds === 0 || lastOwnAtMs === 0 || isAdmin(group) ? 0 : Math.max(0, lastOwnAtMs + seconds * 1000 - nowMs)
}

/** The last refusal stands as long as the message that was refused does. */
function refusedIn(all: readonly Message[], conversation: string): string | undefined {
  return all.findLast((m) => m.conversation === conversation && m.status === "failed")?.error?.code
}

export function useBarrier(conversation: string): Barrier | undefined {
  const client = useClient()
  const summary = useView(client.conversation(conversation).summary)
  const group = useGroup(conversation)
  const other = peerIn(conversation, client.user)
  const peer = useUser(other || undefined)
  const contact = useContact(other)
  const known = useBookKnown()
  const refused = useSelect(client.outbox, (all) => refusedIn(all, conversation))
  const [nowMs, setNow] = useState(() => client.serverTimeMs())
  const barrier = useMemo(
    () => barrierOf({ dm: other !== "", summary, group, me: client.user, peerDeleted: peer?.deleted === true, shelf: known || contact !== undefined ? contact && shelfOf(contact) : "unknown", refused, nowMs }),
    [other, summary, group, client, peer, contact, known, refused, nowMs],
  )
  const until = barrier?.why === "muted" ? barrier.untilMs : 0
  useEffect(() => {
    if (until === 0) return undefined
    const timer = setTimeout(() => setNow(client.serverTimeMs()), Math.min(until - client.serverTimeMs() + 500, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  }, [client, until])
  return barrier
}

/** Whole seconds that slow mode has one wait yet. */
export function useSlow(conversation: string): number {
  const client = useClient()
  const group = useGroup(conversation)
  const lastOwn = useSelect(client.conversation(conversation).messages, (all) => all.findLast((m) => m.own && m.kind === "message" && m.status !== "failed")?.atMs ?? 0)
  const [nowMs, setNow] = useState(() => client.serverTimeMs())
  const wait = slowFor(group, lastOwn, nowMs)
  const fresh = slowFor(group, lastOwn, client.serverTimeMs())
  useEffect(() => {
    if (fresh === 0) return undefined
    const timer = setTimeout(() => setNow(client.serverTimeMs()), 500)
    return () => clearTimeout(timer)
  }, [client, fresh, wait])
  return Math.ceil(fresh / 1000)
}
