import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import type { Summary } from "@skein-im/client"
import { useClient, useEvent } from "@skein-im/react"
import type { Scroller } from "./useScroller.js"

/** What was seen so long, with the window in front, is read. */
const seenMs = 300

export interface Reading {
  /** The line above what was unread when the conversation was opened, or when the reader was away; negative: none. */
  unreadAfter: number
  /** The reader is not at the end. */
  away: boolean
  look: (s: Scroller) => void
  below: (s: Scroller, key: string) => boolean
  /** The user writes: they have seen it. */
  clear: () => void
}

const inFront = (): boolean => document.visibilityState === "visible" && document.hasFocus()

/** Marks as read what is seen, and keeps the line above what was not. */
export function useReading(conversation: string, summary: Summary | undefined): Reading {
  const client = useClient()
  const [line, setLine] = useState<number | undefined>(undefined)
  const [away, setAway] = useState(false)
  const seen = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const last = useRef<Scroller | undefined>(undefined)
  const first = line ?? (summary === undefined ? undefined : summary.unread > 0 ? summary.read : -1)
  useEffect(() => {
    if (line === undefined && first !== undefined) setLine(first)
  }, [line, first])

  const tell = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const of = client.conversation(conversation)
      const now = of.summary.getSnapshot()
      const to = Math.min(seen.current, now?.head ?? 0)
      if (!inFront() || now === undefined || !(to > now.read || (now.markedUnread && to > 0))) return
      of.markRead(Math.max(to, now.read)).catch(() => undefined) // told again with the next look
    }, seenMs)
  }, [client, conversation])

  const look = useCallback((s: Scroller) => {
    last.current = s
    const atEnd = s.atEnd()
    setAway(!atEnd)
    const { last: to, rows } = s.seen()
    for (let i = to; i >= 0; i--) {
      const seq = Number(rows[i]?.dataset["seq"] ?? 0)
      if (seq === 0) continue
      seen.current = seq
      break
    }
    if (atEnd) seen.current = Math.max(seen.current, client.conversation(conversation).summary.getSnapshot()?.high ?? 0) // what shows nothing, too
    tell()
  }, [client, conversation, tell])

  useEffect(() => {
    const again = (): void => void (inFront() && tell())
    addEventListener("focus", again)
    document.addEventListener("visibilitychange", again)
    return () => {
      clearTimeout(timer.current)
      removeEventListener("focus", again)
      document.removeEventListener("visibilitychange", again)
    }
  }, [tell])

  useEvent("message", (m) => {
    if (m.conversation !== conversation || m.own) return
    if (last.current?.atEnd() === true && inFront()) return
    const now = client.conversation(conversation).summary.getSnapshot()
    setLine((old) => (old === undefined || old < 0 || (now !== undefined && now.unread <= 1) ? Math.min(now?.read ?? m.seq - 1, m.seq - 1) : old))
  })

  const clear = useCallback(() => setLine(-1), [])
  const below = useCallback((s: Scroller, key: string) => {
    const { last: to, rows } = s.seen()
    return rows.findIndex((r) => r.dataset["key"] === key) > to
  }, [])
  const unreadAfter = first ?? -1
  return useMemo(() => ({ unreadAfter, away, look, below, clear }), [unreadAfter, away, look, below, clear])
}
