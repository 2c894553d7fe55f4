import { useLingui } from "@lingui/react/macro"
import { SendHorizontal, Trash2 } from "lucide-react"
import { IconButton } from "../ui/index.js"
import { lengthOf } from "../timeline/format.js"
import type { Recorder } from "./recorder.js"
import s from "./Composer.module.css"

const shownBars = 56

/** In the place of the field while somebody speaks: how long, how loud, and how it ends. */
export function RecordingBar({ of, onEnd }: { of: Recorder; onEnd: (send: boolean) => void }) {
  const { t } = useLingui()
  return (
    <div className={s.voice} role="group" aria-label={t`Recording`}>
      <IconButton label={t`Discard`} look="danger" onClick={() => onEnd(false)}><Trash2 /></IconButton>
      <span className={s.recording} aria-hidden="true" />
      <time className={s.time} role="timer">{lengthOf(performance.now() - of.startedAt)}</time>
      <span className={s.levels} aria-hidden="true">{of.levels.slice(-shownBars).map((l, i) => <i key={i} style={{ blockSize: `${Math.max(8, Math.min(100, l * 100))}%` }} />)}</span>
      <IconButton label={t`Send the voice message`} look="primary" onClick={() => onEnd(true)}><SendHorizontal /></IconButton>
    </div>
  )
}
