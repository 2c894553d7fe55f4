import { useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from "react"
import type { Message } from "@skein-im/client"
import { plain } from "@skein-im/client/content"
import { useEvent } from "../conversations.js"
import type { Messages } from "../messages.js"
import { mayActOn } from "./Acts.js"
import { Icon } from "./Icon.js"
import { dayOf, MessageRow } from "./Row.js"
import { rowsOf } from "./rows.js"
import { useScene } from "./scene.js"
import { useScroll } from "./scroll.js"

/** So many are here before somebody scrolls. */
const first = 40

/** What was said. It follows at the end, and is read there, if the page is seen. What is `read`, here or in another tab, is not new. */
export function Timeline({ of, connected, named, read }: { of: Messages; connected: boolean; named: boolean; read: number }): ReactElement {
  const { client, conversation, t } = useScene()
  const { messages, complete, loading, loadOlder, error } = of
  const rows = useMemo(() => rowsOf(messages), [messages])
  const stop = useMemo(() => [...rows].reverse().find((r) => r.kind === "message" && mayActOn(r.message))?.key, [rows])
  const more = connected && !complete && !loading && error === undefined
  const older = useCallback(() => void (more && loadOlder(first)), [more, loadOlder])
  const { view, list, atEnd, toEnd } = useScroll(rows, older)
  const seen = useSeen(view)
  const head = messages.reduce((last, m) => Math.max(last, m.seq), 0)
  const [left, setLeft] = useState(0)

  useEffect(() => {
    if (more && messages.length < first) older()
  }, [more, older, messages.length])
  useEffect(() => {
    if (!atEnd) return
    setLeft(head)
    if (seen && connected && head > 0) client.conversation(conversation).markRead(head).catch(() => undefined) // the next one says it again
  }, [client, conversation, atEnd, seen, connected, head])
  const own = messages.at(-1)
  const said = useRef("")
  useEffect(() => {
    if (own?.own === true && own.seq === 0 && own.id !== said.current) {
      said.current = own.id
      toEnd()
    }
  }, [own, toEnd])

  const unread = atEnd ? 0 : messages.filter((m) => m.seq > Math.max(left, read) && !m.own && m.kind === "message").length
  return (
    <div className="timeline">
      <div className="view" ref={view} role="region" aria-label={t.messages} tabIndex={0}>
        {!complete && connected && messages.length > 0 && <button type="button" className="link older" disabled={loading} onClick={() => void loadOlder(first)}>{error === undefined ? t.older : t.again}</button>}
        {rows.length === 0 && complete && <p className="empty">{t.empty}</p>}
        <ol ref={list} className="rows">
          {rows.map((r) => (
            <li key={r.key} data-key={r.key}>
              {r.kind === "day" ? <h3 className="day">{dayOf(r.atMs, t)}</h3> : <MessageRow message={r.message} first={r.first} last={r.last} named={named} tab={r.key === stop} />}
            </li>
          ))}
        </ol>
      </div>
      {!atEnd && (
        <button type="button" className="newest" onClick={toEnd} aria-label={unread > 0 ? `${t.newest}, ${t.unread(unread)}` : t.newest}>
          <Icon name="down" />{unread > 0 && <span className="badge" aria-hidden="true">{unread}</span>}
        </button>
      )}
      <News />
    </div>
  )
}

/** Somebody's message, for a screen reader. */
function News(): ReactElement {
  const { conversation, name, t } = useScene()
  const [news, setNews] = useState("")
  useEvent("message", (m: Message) => {
    if (m.conversation === conversation && !m.own) setNews(`${t.from(name(m.sender))}: ${m.type === "text" ? plain(m.text) : m.fallback}`)
  })
  return <p className="hidden" role="status">{news}</p>
}

/** Whether somebody sees it: it is on the screen, and the page is in front. */
function useSeen(view: { current: HTMLElement | null }): boolean {
  const [shown, setShown] = useState(false)
  const [front, setFront] = useState(() => document.visibilityState === "visible")
  useEffect(() => {
    const e = view.current
    if (e === null) return undefined
    const observer = new IntersectionObserver((all) => setShown(all.at(-1)?.isIntersecting === true))
    const change = (): void => setFront(document.visibilityState === "visible")
    observer.observe(e)
    document.addEventListener("visibilitychange", change)
    return () => {
      observer.disconnect()
      document.removeEventListener("visibilitychange", change)
    }
  }, [view])
  return shown && front
}
