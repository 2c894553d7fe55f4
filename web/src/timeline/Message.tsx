import { memo, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Forward, Pin, Undo2 } from "lucide-react"
import type { Message as Said } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Button, cx, hueOf, later, toast, useWhy } from "../ui/index.js"
import { PersonAvatar } from "./PersonAvatar.js"
import { Content } from "./Content.js"
import { useScene } from "./context.js"
import { momentOf, timeOf } from "./format.js"
import { bodyOf, onlyEmoji } from "@skein-im/client/content"
import { Quote } from "./Quote.js"
import { Reactions } from "./Reactions.js"
import { Replies } from "./Replies.js"
import { Status } from "./Status.js"
import { useStreamed } from "./streamed.js"
import s from "./Message.module.css"

const ActionBar = later(() => import("./ActionBar.js").then((m) => m.ActionBar))

export interface MessageProps {
  message: Said
  /** Of its group: who wrote it stands above the first one, their picture beside the last. */
  first: boolean
  last: boolean
  /** Something is being selected; whether this is. */
  selecting: boolean
  selected: boolean
  /** Looked for: it is marked for a moment. */
  marked: boolean
  onSelect: (m: Said) => void
  onKey: (e: KeyboardEvent, m: Said) => void
}

/** A message: who, what, when, and how it stands. */
export const Message = memo(function Message({ message: m, first, last, selecting, selected, marked, onSelect, onKey }: MessageProps) {
  const { t } = useLingui()
  const scene = useScene()
  const [hover, setHover] = useState(false)
  const text = useStreamed(m)
  const row = useRef<HTMLElement>(null)
  const who = m.own ? t`You` : scene.names.name(m.sender)
  const bare = !m.recalled && isBare(m)
  const mentioned = !m.own && (m.mentions.includes(scene.me) || m.groupMention !== undefined)
  return (
    <article
      ref={row} className={cx(s.row, m.own && s.own, first && s.first, last && s.last, marked && s.marked, selected && s.selected, selecting && s.selecting)}
      tabIndex={-1} data-seq={m.seq} aria-label={t`${who}, ${timeOf(m.atMs)}`} aria-selected={selecting ? selected : undefined}
      onPointerEnter={(e) => e.pointerType === "mouse" && setHover(true)} onPointerLeave={() => setHover(false)}
      onClick={selecting ? () => onSelect(m) : undefined} onKeyDown={(e) => { if (e.target === row.current) onKey(e, m) }}
    >
      {!m.own && !scene.dm && <div className={s.side}>{last && <PersonAvatar user={m.sender} onClick={() => scene.profile(m.sender)} />}</div>}
      <div className={s.column}>
        <div className={cx(s.bubble, bare && s.bare, bare && m.type !== "text" && s.framed, mentioned && s.mentioned)} style={{ "--foot-size": `${footWidth(m)}px` } as CSSProperties} inert={selecting}>
          {first && !m.own && !scene.dm && (
            <button type="button" className={s.name} style={{ "--hue": hueOf(m.sender) } as CSSProperties} onClick={() => scene.profile(m.sender)} tabIndex={-1}><bdi>{who}</bdi></button>
          )}
          {m.forward !== undefined && m.forward.sender !== undefined && m.forward.sender !== "" && (
            <p className={s.forward}><Forward aria-hidden="true" /><Trans>Forwarded from {scene.names.inLine(m.forward.sender)}</Trans></p>
          )}
          {m.replyTo > 0 && !m.recalled && <Quote seq={m.replyTo} />}
          {m.recalled ? <p className={s.recalled}><Undo2 aria-hidden="true" /><Trans>Message deleted</Trans></p> : <Content message={m} text={text} />}
          {m.streaming && <span className={s.caret} role="status" aria-label={t`is being written`} />}
          <Foot m={m} scene={scene} />
        </div>
        {!m.recalled && <Reactions message={m} />}
        {(m.replies !== undefined || m.alsoInMain) && scene.thread === 0 && <Replies message={m} />}
        {m.status === "failed" && <Failed m={m} />}
      </div>
      {hover && !selecting && m.seq > 0 && !m.recalled && <ActionBar message={m} />}
    </article>
  )
})

/** About how much room the time and the marks beside it need. */
function footWidth(m: Said): number {
  return 14 + timeOf(m.atMs).length * 7 + (m.own ? 18 : 0) + (m.editedAtMs > 0 ? 46 : 0) + (m.pinned === undefined ? 0 : 15)
}

/** A sticker, or a few emoji, need no ground. */
function isBare(m: Said): boolean {
  return m.type === "sticker" || (m.type === "text" && m.replyTo === 0 && m.forward === undefined && onlyEmoji(m.text)) || (m.type === "image" && isPictureAlone(m))
}

function isPictureAlone(m: Said): boolean {
  const b = bodyOf(m)
  return b.t === "image" && b.about.caption === "" && m.replyTo === 0 && m.forward === undefined
}

function Foot({ m, scene }: { m: Said; scene: ReturnType<typeof useScene> }): ReactNode {
  const { t } = useLingui()
  return (
    <span className={s.foot}>
      {m.pinned !== undefined && <Pin className={s.pin} role="img" aria-label={t`Pinned`} />}
      {m.editedAtMs > 0 && !m.recalled && <button type="button" className={s.edited} title={momentOf(m.editedAtMs)} onClick={() => scene.dialog({ t: "edits", message: m })} tabIndex={-1}><Trans>edited</Trans></button>}
      <time dateTime={new Date(m.atMs).toISOString()} title={momentOf(m.atMs)}>{timeOf(m.atMs)}</time>
      {m.own && !m.recalled && <Status message={m} />}
    </span>
  )
}

/** It was refused for good: why, and what can be done. Its text stays. */
function Failed({ m }: { m: Said }) {
  const why = useWhy()
  const client = useClient()
  const { t } = useLingui()
  return (
    <div className={s.failure} role="alert">
      <span>{m.error === undefined ? t`Not sent.` : refusal(m.error.code, t`You are muted in this group.`) ?? why(m.error)}</span>
      <span>
        <Button look="quiet" onClick={() => void client.retry(m.id).catch((e: unknown) => toast(why(e), { tone: "error" }))}><Trans>Try again</Trans></Button>
        <Button look="quiet" onClick={() => void client.discard(m.id)}><Trans>Discard</Trans></Button>
      </span>
    </div>
  )
}

function refusal(code: string, muted: string): string | undefined {
  return code === "muted" ? muted : undefined
}
