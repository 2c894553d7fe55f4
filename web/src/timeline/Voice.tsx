import { useEffect, useRef, useState } from "react"
import { useLingui } from "@lingui/react/macro"
import { Pause, Play } from "lucide-react"
import { useClient } from "@skein-im/react"
import { Spinner, cx, toast } from "../ui/index.js"
import { lengthOf } from "./format.js"
import { linkOf, type MediaPlace } from "./media.js"
import { waveBars } from "./wave.js"
import s from "./Voice.module.css"

const bars = 40
const speeds = [1, 1.5, 2]

/** One voice speaks at a time. */
let speaking: HTMLAudioElement | undefined

/** A voice message: its loudness is where one taps to go. */
export function Voice({ place, durationMs, waveform }: { place: MediaPlace; durationMs: number; waveform: readonly number[] }) {
  const { t } = useLingui()
  const client = useClient()
  const audio = useRef<HTMLAudioElement>(null)
  const [state, setState] = useState<"rest" | "loading" | "playing">("rest")
  const [at, setAt] = useState(0)
  const [speed, setSpeed] = useState(1)
  const [length, setLength] = useState(durationMs)
  useEffect(() => {
    const a = audio.current
    return () => a?.pause()
  }, [])
  const play = async (): Promise<void> => {
    const a = audio.current
    if (a === null) return
    if (state === "playing") return a.pause()
    setState("loading")
    try {
      if (a.src === "" || a.error !== null) a.src = await linkOf(client, place)
      if (speaking !== a) speaking?.pause()
      speaking = a
      a.playbackRate = speed
      await a.play()
    } catch {
      setState("rest")
      toast(t`This voice message can’t be played right now.`, { tone: "error" })
    }
  }
  const seek = (part: number): void => {
    const a = audio.current
    if (a === null || length <= 0) return
    const to = Math.max(0, Math.min(1, part)) * length
    setAt(to)
    if (a.src !== "" && a.readyState > 0) a.currentTime = to / 1000
  }
  const heard = length > 0 ? at / length : 0
  return (
    <div className={s.voice}>
      <button type="button" className={s.play} onClick={() => void play()} aria-label={state === "playing" ? t`Pause` : t`Play the voice message`}>
        {state === "loading" ? <Spinner small /> : state === "playing" ? <Pause aria-hidden="true" /> : <Play aria-hidden="true" />}
      </button>
      <div
        className={s.wave} role="slider" tabIndex={0} aria-label={t`Position`} aria-valuemin={0} aria-valuemax={Math.round(length / 1000)} aria-valuenow={Math.round(at / 1000)} aria-valuetext={lengthOf(at)}
        onPointerDown={(e) => {
          const box = e.currentTarget.getBoundingClientRect()
          seek((e.clientX - box.left) / box.width)
        }}
        onKeyDown={(e) => {
          if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return
          e.preventDefault()
          e.stopPropagation()
          seek((at + (e.key === "ArrowRight" ? 2000 : -2000)) / Math.max(1, length))
        }}
      >
        {waveBars(waveform, bars).map((h, i) => <i key={i} className={cx(i / bars < heard && s.heard)} style={{ blockSize: `${Math.max(10, h)}%` }} />)}
      </div>
      <span className={s.time}>{lengthOf(state === "rest" && at === 0 ? length : at)}</span>
      {state !== "rest" && <button type="button" className={s.speed} onClick={() => {
        const next = speeds[(speeds.indexOf(speed) + 1) % speeds.length] ?? 1
        setSpeed(next)
        if (audio.current !== null) audio.current.playbackRate = next
      }} aria-label={t`Speed ${speed}`}>{speed}×</button>}
      <audio
        ref={audio} preload="none" onPlaying={() => setState("playing")} onPause={() => setState((x) => (x === "playing" ? "rest" : x))}
        onTimeUpdate={(e) => setAt(e.currentTarget.currentTime * 1000)} onEnded={() => { setState("rest"); setAt(0) }}
        onLoadedMetadata={(e) => { if (Number.isFinite(e.currentTarget.duration)) setLength(e.currentTarget.duration * 1000); if (at > 0) e.currentTarget.currentTime = at / 1000 }}
      />
    </div>
  )
}
