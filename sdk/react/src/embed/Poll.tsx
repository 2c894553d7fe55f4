import { useState, type ReactElement } from "react"
import type { Message } from "@skein-im/client"
import type { PollBody } from "@skein-im/client/content"
import { errorFrom } from "../action.js"
import { useScene, why } from "./scene.js"

/** A poll: what is chosen, and by what part. A choice counts with the tap; once more takes it back. */
export function Poll({ of: m, body }: { of: Message; body: PollBody }): ReactElement {
  const { t, client, mayWrite, note } = useScene()
  const [busy, setBusy] = useState(false)
  const { poll } = m
  const options = poll?.options ?? []
  const mine = options.filter((o) => o.mine === true).map((o) => o.id)
  const voters = poll?.voters ?? 0
  const until = poll?.untilMs ?? 0
  const ended = poll === undefined || (poll.endedAtMs ?? 0) > 0 || (until > 0 && until <= client.serverTimeMs())
  const several = poll?.multiple === true
  const vote = (id: string): void => {
    if (busy) return
    const next = mine.includes(id) ? mine.filter((x) => x !== id) : several ? [...mine, id] : [id]
    setBusy(true)
    client.conversation(m.conversation).vote(m.seq, next).catch((e: unknown) => note(why(t, errorFrom(e)))).finally(() => setBusy(false))
  }
  return (
    <div className="poll">
      <p className="question" dir="auto">{body.question}</p>
      <p className="quiet">{ended ? t.pollEnded : several ? t.pollMany : t.pollOne}{poll?.anonymous === true && ` · ${t.anonymous}`}</p>
      <div role={several ? "group" : "radiogroup"} aria-label={body.question}>
        {body.options.map((o) => {
          const part = voters === 0 ? 0 : Math.round((100 * (options.find((x) => x.id === o.id)?.votes ?? 0)) / voters)
          return (
            <button key={o.id} type="button" className="option" role={several ? "checkbox" : "radio"} aria-checked={mine.includes(o.id)} disabled={ended || !mayWrite || m.seq === 0} aria-disabled={busy} onClick={() => vote(o.id)}>
              <span className="choice" dir="auto">{o.text}</span>
              <span className="part">{part} %</span>
              <progress value={part} max={100} aria-hidden="true" />
            </button>
          )
        })}
      </div>
      <p className="quiet">{t.voters(voters)}</p>
    </div>
  )
}
