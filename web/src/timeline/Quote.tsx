import { useEffect, useSyncExternalStore, type CSSProperties } from "react"
import { Trans } from "@lingui/react/macro"
import { hueOf } from "../ui/index.js"
import { useScene } from "./context.js"
import { Summary } from "./Summary.js"
import s from "./Message.module.css"

/** The message that this one answers: a tap goes there. */
export function Quote({ seq }: { seq: number }) {
  const { stretch, jump, names, me } = useScene()
  const m = useSyncExternalStore(stretch.subscribe, () => stretch.find(seq))
  useEffect(() => stretch.want(seq), [stretch, seq])
  return (
    <button type="button" className={s.answered} style={{ "--hue": hueOf(m?.sender ?? "") } as CSSProperties} onClick={() => jump(seq)}>
      {m === undefined ? <span className={s.answeredText}><Trans>An earlier message</Trans></span> : (
        <>
          <span className={s.answeredName}>{m.sender === me ? <Trans>You</Trans> : <bdi>{names.name(m.sender)}</bdi>}</span>
          <span className={s.answeredText}><Summary message={m} /></span>
        </>
      )}
    </button>
  )
}

