import { memo, useCallback, useMemo, type ReactNode } from "react"
import { Trans } from "@lingui/react/macro"
import type { Message as Said } from "@skein-im/client"
import { cx, later } from "../ui/index.js"
import { useActs } from "./acts.js"
import { useScene } from "./context.js"
import { dayName } from "./format.js"
import { Message } from "./Message.js"
import type { Row } from "./rows.js"
import { useTalk } from "./talk.js"
import { useKeys } from "./useKeys.js"
import s from "./Timeline.module.css"

const EventLine = later(() => import("./EventLine.js").then((m) => m.EventLine))

export interface RowsProps {
  rows: readonly Row[]
  busy: boolean
  selected: ReadonlySet<number> | undefined
  marked: number
  /** Between the root of a thread and its replies. */
  divider?: ReactNode
}

/** The rows of a timeline by their days. Those with data-key hold the reader's place: see useScroller. */
export const Rows = memo(function Rows({ rows, busy, selected, marked, divider }: RowsProps) {
  const { conversation, thread } = useScene()
  const [talk] = useTalk(conversation, thread)
  const onKey = useKeys(useActs(), talk)
  const onSelect = useCallback((m: Said) => talk.select(m.seq), [talk])
  const days = useMemo(() => byDay(rows), [rows])
  return (
    <div className={s.list} aria-busy={busy}>
      {days.map(([day, all]) => (
        <section key={day} className={s.day} aria-label={dayName(day)}>
          <div className={s.date}><time>{dayName(day)}</time></div>
          {all.map((r) => (
            <div key={r.key} data-key={r.key} data-seq={"message" in r ? r.message.seq : 0} className={cx(r.kind === "event" && s.event)}>
              {r.kind === "unread" && <div className={s.unread} role="separator"><Trans>Unread</Trans></div>}
              {r.kind === "replies" && divider}
              {r.kind === "event" && <p className={s.line}><EventLine message={r.message} /></p>}
              {r.kind === "message" && (
                <Message
                  message={r.message} first={r.first} last={r.last} selecting={selected !== undefined} selected={selected?.has(r.message.seq) === true}
                  marked={marked > 0 && marked === r.message.seq} onSelect={onSelect} onKey={onKey}
                />
              )}
            </div>
          ))}
        </section>
      ))}
    </div>
  )
})

function byDay(rows: readonly Row[]): [number, Row[]][] {
  const days: [number, Row[]][] = []
  for (const r of rows) {
    if (r.kind === "date") days.push([r.atMs, []])
    else days.at(-1)?.[1].push(r)
  }
  return days
}
