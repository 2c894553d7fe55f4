import { useCallback, useEffect, useRef, useState, type PointerEvent, type ReactNode } from "react"
import { useLingui } from "@lingui/react/macro"
import { Mic, SendHorizontal, Trash2 } from "lucide-react"
import { IconButton, toast } from "../ui/index.js"
import { lengthOf } from "../timeline/format.js"
import { record, type Recorded, type Recorder } from "./recorder.js"
import s from "./Composer.module.css"

/** Held for longer, letting go sends; after a tap one sends with the button. */
const holdMs = 400
/** What is shorter was a mistake. */
const leastMs = 600
const mostMs = 15 * 60_000
const shownBars = 56

export interface Voice {
  recording: boolean
  begin: () => void
  bar: ReactNode
}

/** Records a voice: by a tap on the microphone, or as long as it is held. */
export function useVoice(onRecorded: (r: Recorded) => void): Voice {
  const { t } = useLingui()
  const [now, setNow] = useState<Recorder | undefined>(undefined)
  const [, tick] = useState(0)
  const current = useRef<Recorder | undefined>(undefined)
  const pressedAt = useRef(0)
  const letGo = useRef(false)
  useEffect(() => () => current.current?.cancel(), [])

  const end = useCallback((send: boolean) => {
    const r = current.current
    current.current = undefined
    setNow(undefined)
    if (r === undefined) return
    if (!send || performance.now() - r.startedAt < leastMs) return r.cancel()
    void r.stop().then((done) => {
      if (done.blob.size > 0) onRecorded(done)
    })
  }, [onRecorded])

  const release = useCallback(() => {
    if (performance.now() - pressedAt.current < holdMs) return
    if (current.current === undefined) letGo.current = true
    else end(true)
  }, [end])

  const begin = useCallback(() => {
    if (current.current !== undefined) return
    pressedAt.current = performance.now()
    letGo.current = false
    addEventListener("pointerup", () => release(), { once: true }) // the button may be gone by then
    record(() => {
      tick((n) => n + 1)
      if (current.current !== undefined && performance.now() - current.current.startedAt > mostMs) end(true)
    }).then(
      (r) => {
        current.current = r
        setNow(r)
        if (letGo.current) end(true)
      },
      () => toast(t`The microphone cannot be used. Does the browser allow it for this page?`, { tone: "error" }),
    )
  }, [end, release, t])

  const bar = now !== undefined && (
    <div className={s.voice} role="group" aria-label={t`Recording`}>
      <IconButton label={t`Throw away`} look="danger" onClick={() => end(false)}><Trash2 /></IconButton>
      <span className={s.recording} aria-hidden="true" />
      <time className={s.time} role="timer">{lengthOf(performance.now() - now.startedAt)}</time>
      <span className={s.levels} aria-hidden="true">{now.levels.slice(-shownBars).map((l, i) => <i key={i} style={{ blockSize: `${Math.max(8, Math.min(100, l * 100))}%` }} />)}</span>
      <IconButton label={t`Send the voice message`} look="primary" onClick={() => end(true)}><SendHorizontal /></IconButton>
    </div>
  )
  return { recording: now !== undefined, begin, bar }
}

/** The microphone. For the keyboard it is a button that begins. */
export function MicButton({ voice, disabled }: { voice: Voice; disabled: boolean }) {
  const { t } = useLingui()
  const down = (e: PointerEvent<HTMLButtonElement>): void => {
    if (e.button !== 0 || disabled) return
    voice.begin()
  }
  return (
    <IconButton label={t`Record a voice message: tap, or hold`} disabled={disabled} onPointerDown={down} onClick={(e) => { if (e.detail === 0) voice.begin() }}><Mic /></IconButton>
  )
}
