import { useState } from "react"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Check } from "lucide-react"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Button, cx, toast, useWhy } from "../ui/index.js"
import type { PollBody } from "@skein-im/client/content"
import { useScene } from "./context.js"
import { momentOf } from "./format.js"
import { isAdmin } from "./group.js"
import s from "./Poll.module.css"

/** A poll: what is chosen, by how many, its end. A choice counts with the tap; of several, too. */
export function Poll({ message: m, body }: { message: Message; body: PollBody }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const scene = useScene()
  const [busy, setBusy] = useState(false)
  const poll = m.poll
  const counts = new Map((poll?.options ?? []).map((o) => [o.id, o]))
  const voters = poll?.voters ?? 0
  const mine = (poll?.options ?? []).filter((o) => o.mine).map((o) => o.id)
  const ended = poll === undefined || (poll.endedAtMs ?? 0) > 0 || ((poll.untilMs ?? 0) > 0 && (poll.untilMs ?? 0) <= client.serverTimeMs())
  const open = !ended && scene.mayWrite && m.seq > 0 && !busy
  const run = async (f: () => Promise<void>): Promise<void> => {
    setBusy(true)
    try {
      await f()
    } catch (e) {
      toast(why(e), { tone: "error" })
    } finally {
      setBusy(false)
    }
  }
  const vote = (id: string): void => {
    const next = mine.includes(id) ? mine.filter((x) => x !== id) : poll?.multiple === true ? [...mine, id] : [id]
    void run(() => client.conversation(m.conversation).vote(m.seq, next))
  }
  const mayEnd = !ended && m.seq > 0 && (m.own || isAdmin(scene.group))
  return (
    <div className={s.poll}>
      <p className={s.question} dir="auto">{body.question}</p>
      <p className={s.kind}>
        {ended ? <Trans>Ended</Trans> : poll.multiple === true ? <Trans>Choose any number</Trans> : <Trans>Choose one</Trans>}
        {poll?.anonymous === true && <> · <Trans>anonymous</Trans></>}
        {!ended && (poll.untilMs ?? 0) > 0 && <> · <Trans>until {momentOf(poll.untilMs ?? 0)}</Trans></>}
      </p>
      <ul className={s.options}>
        {body.options.map((o) => {
          const n = counts.get(o.id)?.votes ?? 0
          const chosen = mine.includes(o.id)
          const part = voters === 0 ? 0 : Math.round((100 * n) / voters)
          return (
            <li key={o.id}>
              <button type="button" role={poll?.multiple === true ? "checkbox" : "radio"} aria-checked={chosen} className={cx(s.option, chosen && s.chosen)} onClick={() => vote(o.id)} disabled={!open}>
                <span className={cx(s.mark, poll?.multiple === true && s.square)} aria-hidden="true">{chosen && <Check />}</span>
                <span className={s.text} dir="auto">{o.text}</span>
                <span className={s.part}>{part} %</span>
                <span className={s.bar} aria-hidden="true"><span style={{ inlineSize: `${part}%` }} /></span>
              </button>
            </li>
          )
        })}
      </ul>
      <div className={s.foot}>
        {poll?.anonymous === true || voters === 0 ? <span className={s.voters}><Plural value={voters} _0="No votes yet" one="# person voted" other="# people voted" /></span> : (
          <button type="button" className={s.voters} onClick={() => scene.dialog({ t: "votes", message: m })}><Plural value={voters} one="# person voted" other="# people voted" /></button>
        )}
        {mayEnd && <Button look="quiet" className={s.end} disabled={busy} onClick={() => void run(() => client.conversation(m.conversation).endPoll(m.seq))}>{t`End the poll`}</Button>}
      </div>
    </div>
  )
}
