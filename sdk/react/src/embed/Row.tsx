import { memo, type ReactElement } from "react"
import type { Message } from "@skein-im/client"
import { Acts } from "./Acts.js"
import { Content, isBare } from "./Content.js"
import { Icon } from "./Icon.js"
import { Quote } from "./Quote.js"
import { useScene, why } from "./scene.js"
import type { Texts } from "./texts.js"

const ticks = { pending: "clock", sent: "check", delivered: "checks", read: "checks", failed: "alert" } as const
const words = (t: Texts) => ({ pending: t.pending, sent: t.sent, delivered: t.delivered, read: t.read, failed: t.notSent })

export interface RowProps {
  message: Message
  first: boolean
  last: boolean
  /** Several people write here: who did stands above. */
  named: boolean
  /** What one may do about it is a stop of the Tab key. */
  tab: boolean
}

/** A message: who, what, when, and how it stands. */
export const MessageRow = memo(function MessageRow({ message: m, first, last, named, tab }: RowProps): ReactElement {
  const { t, name, find } = useScene()
  const who = m.own ? t.you : name(m.sender)
  const bare = !m.recalled && isBare(m)
  const kind = ["row", m.own ? "own" : "other", first ? "first" : "", last ? "last" : "", bare ? "bare" : ""].filter(Boolean).join(" ")
  return (
    <article className={kind} aria-label={`${who}, ${timeOf(m.atMs, t)}`} data-seq={m.seq}>
      {first && !m.own && named && <span className="who" aria-hidden="true"><bdi>{who}</bdi></span>}
      <Acts of={m} tab={tab}>
        <div className="bubble">
          {m.replyTo > 0 && !m.recalled && <Quote of={find(m.replyTo)} />}
          {m.recalled ? <p className="text recalled">{t.recalled}</p> : <Content message={m} />}
          <span className="meta">
            {m.editedAtMs > 0 && !m.recalled && <span>{t.edited}</span>}
            <time dateTime={new Date(m.atMs).toISOString()}>{timeOf(m.atMs, t)}</time>
            {m.status !== "" && <span className={`tick ${m.status}`} role="img" aria-label={words(t)[m.status]} title={words(t)[m.status]}><Icon name={ticks[m.status]} /></span>}
          </span>
        </div>
      </Acts>
      {m.status === "failed" && <Failed m={m} />}
    </article>
  )
})

function Failed({ m }: { m: Message }): ReactElement {
  const { t, client, note } = useScene()
  const act = (p: Promise<unknown>): void => void p.catch(() => note(t.wrong))
  return (
    <p className="failed">
      <span>{t.notSent}{m.error !== undefined && `: ${why(t, m.error)}`}</span>
      <button type="button" className="link" onClick={() => act(client.retry(m.id))}>{t.again}</button>
      <button type="button" className="link" onClick={() => act(client.discard(m.id))}>{t.discard}</button>
    </p>
  )
}

export function timeOf(ms: number, t: Texts): string {
  return new Intl.DateTimeFormat(t.locale, { hour: "numeric", minute: "2-digit" }).format(ms)
}

export function dayOf(ms: number, t: Texts): string {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - ms) / 86_400_000)
  if (days === 0) return t.today
  if (days === 1) return t.yesterday
  const year = new Date(ms).getFullYear() === new Date().getFullYear() ? undefined : "numeric"
  return new Intl.DateTimeFormat(t.locale, { day: "numeric", month: "long", year }).format(ms)
}
