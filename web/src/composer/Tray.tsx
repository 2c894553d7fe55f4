import { useLingui } from "@lingui/react/macro"
import { FileText, Film, Mic, Pause, Play, RotateCw, X } from "lucide-react"
import { IconButton, useWhy } from "../ui/index.js"
import { sizeOf } from "../timeline/format.js"
import { useOutgoing, type Outgoing } from "./outgoing.js"
import s from "./Attach.module.css"

/** Files on their way: how far they are, and how to hold, take up or stop them. */
export function Tray({ conversation, thread }: { conversation: string; thread: number }) {
  const { t } = useLingui()
  const { items, all } = useOutgoing(conversation, thread)
  const why = useWhy()
  if (items.length === 0) return null
  return (
    <ul className={s.tray} aria-label={t`Files on their way`}>
      {items.map((o) => {
        const error = o.error ?? o.upload?.error
        const state = error !== undefined ? "failed" : (o.upload?.state ?? "running")
        const part = o.upload === undefined ? 0 : Math.round((100 * o.upload.sent) / Math.max(1, o.upload.size))
        return (
          <li key={o.key} className={state === "failed" ? `${s.job} ${s.failed}` : s.job}>
            <Thumb o={o} />
            <div className={s.about}>
              <bdi>{o.kind === "voice" ? t`Voice message` : o.name}</bdi>
              {state === "failed" ? <small role="alert">{why(error)}</small> : <div className={s.progress} role="progressbar" aria-valuenow={part} aria-valuemin={0} aria-valuemax={100} aria-label={o.name}><span style={{ inlineSize: `${part}%` }} /></div>}
              {state !== "failed" && <small>{state === "paused" ? t`Paused at ${sizeOf(o.upload?.sent ?? 0)} of ${sizeOf(o.blob.size)}` : t`${sizeOf(o.upload?.sent ?? 0)} of ${sizeOf(o.blob.size)}`}</small>}
            </div>
            {state === "running" && <IconButton small label={t`Pause`} onClick={() => all.pause(o.key)}><Pause /></IconButton>}
            {state === "paused" && <IconButton small label={t`Go on`} onClick={() => all.resume(o.key)}><Play /></IconButton>}
            {state === "failed" && <IconButton small label={t`Try again`} onClick={() => all.resume(o.key)}><RotateCw /></IconButton>}
            <IconButton small label={t`Don’t send ${o.name}`} onClick={() => all.forget(o.key)}><X /></IconButton>
          </li>
        )
      })}
    </ul>
  )
}

function Thumb({ o }: { o: Outgoing }) {
  if (o.kind === "image" && o.preview !== "") return <img className={s.thumb} src={o.preview} alt="" />
  return <span className={s.thumb}>{o.kind === "video" ? <Film aria-hidden="true" /> : o.kind === "voice" ? <Mic aria-hidden="true" /> : <FileText aria-hidden="true" />}</span>
}
