import { useCallback, useEffect, useRef, useState, type PointerEvent, type ReactNode } from "react"
import { useLingui } from "@lingui/react/macro"
import { Mic } from "lucide-react"
import { IconButton, later, toast } from "../ui/index.js"
import type { Recorded, Recorder } from "./recorder.js"

const RecordingBar = later(() => import("./RecordingBar.js").then((m) => m.RecordingBar))

/** Held for longer, letting go sends; after a tap one sends with the button. */
const holdMs = 400
/** What is shorter was a mistake. */
const leastMs = 600
const mostMs = 15 * 60_000

export function canRecord(): boolean {
  return typeof MediaRecorder !== "undefined" && navigator.mediaDevices !== undefined
}

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
    const heard = (): void => {
      tick((n) => n + 1)
      if (current.current !== undefined && performance.now() - current.current.startedAt > mostMs) end(true)
    }
    import("./recorder.js").then(({ record }) => record(heard)).then(
      (r) => {
        current.current = r
        setNow(r)
        if (letGo.current) end(true)
      },
      () => toast(t`The microphone isn’t available. Check that your browser allows it for this page.`, { tone: "error" }),
    )
  }, [end, release, t])

  const bar = now !== undefined && <RecordingBar of={now} onEnd={end} />
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
