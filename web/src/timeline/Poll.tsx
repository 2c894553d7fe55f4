import { useId, useRef, useState, type KeyboardEvent } from "react"
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

/**
 * A poll: what is chosen, by how many, its end. A choice counts with the tap; once more takes it back. One of several is a
 * group of radio buttons to the keyboard: one stop of the Tab key, and an arrow chooses the one to which it moves.
 */
export function Poll({ message: m, body }: { message: Message; body: PollBody }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const scene = useScene()
  const question = useId()
  const [ending, setEnding] = useState(false)
  const poll = m.poll
  const counts = new Map((poll?.options ?? []).map((o) => [o.id, o]))
  const voters = poll?.voters ?? 0
  const { mine, vote } = useVote(m, (poll?.options ?? []).filter((o) => o.mine).map((o) => o.id))
  const ended = poll === undefined || (poll.endedAtMs ?? 0) > 0 || ((poll.untilMs ?? 0) > 0 && (poll.untilMs ?? 0) <= client.serverTimeMs())
  const several = poll?.multiple === true
  const stop = several ? undefined : body.options.find((o) => mine.includes(o.id)) ?? body.options[0]
  const toggle = (id: string): void => vote(mine.includes(id) ? mine.filter((x) => x !== id) : several ? [...mine, id] : [id])
  const move = (e: KeyboardEvent<HTMLElement>): void => {
    const step = steps[e.key]
    if (several || step === undefined || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return
    const all = [...e.currentTarget.querySelectorAll<HTMLElement>("[role=radio]")]
    const at = all.findIndex((b) => b.contains(e.target as Node))
    if (at < 0) return
    e.preventDefault() // the messages do not scroll
    const to = (at + step + all.length) % all.length
    all[to]?.focus()
    const id = body.options[to]?.id
    if (id !== undefined && !mine.includes(id)) vote([id])
  }
  const end = async (): Promise<void> => {
    setEnding(true)
    try {
      await client.conversation(m.conversation).endPoll(m.seq)
    } catch (e) {
      toast(why(e), { tone: "error" })
    } finally {
      setEnding(false)
    }
  }
  const mayEnd = !ended && m.seq > 0 && (m.own || isAdmin(scene.group))
  return (
    <div className={s.poll}>
      <p id={question} className={s.question} dir="auto">{body.question}</p>
      <p className={s.kind}>
        {ended ? <Trans>Ended</Trans> : several ? <Trans>Choose any number</Trans> : <Trans>Choose one</Trans>}
        {poll?.anonymous === true && <> · <Trans>anonymous</Trans></>}
        {!ended && (poll.untilMs ?? 0) > 0 && <> · <Trans>until {momentOf(poll.untilMs ?? 0)}</Trans></>}
      </p>
      <div role={several ? "group" : "radiogroup"} aria-labelledby={question} className={s.options} onKeyDown={move}>
        {body.options.map((o) => {
          const n = counts.get(o.id)?.votes ?? 0
          const chosen = mine.includes(o.id)
          const part = voters === 0 ? 0 : Math.round((100 * n) / voters)
          return (
            <button
              key={o.id} type="button" role={several ? "checkbox" : "radio"} aria-checked={chosen} tabIndex={several || o === stop ? 0 : -1}
              className={cx(s.option, chosen && s.chosen)} onClick={() => toggle(o.id)} disabled={ended || !scene.mayWrite || m.seq === 0}
            >
              <span className={cx(s.mark, several && s.square)} aria-hidden="true">{chosen && <Check />}</span>
              <span className={s.text} dir="auto">{o.text}</span>
              <span className={s.part}>{part} %</span>
              <span className={s.bar} aria-hidden="true"><span style={{ inlineSize: `${part}%` }} /></span>
            </button>
          )
        })}
      </div>
      <div className={s.foot}>
        {poll?.anonymous === true || voters === 0 ? <span className={s.voters}><Plural value={voters} _0="No votes yet" one="# person voted" other="# people voted" /></span> : (
          <button type="button" className={s.voters} onClick={() => scene.dialog({ t: "votes", message: m })}><Plural value={voters} one="# person voted" other="# people voted" /></button>
        )}
        {mayEnd && <Button look="quiet" className={s.end} disabled={ending} onClick={() => void end()}>{t`End the poll`}</Button>}
      </div>
    </div>
  )
}

const steps: Partial<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }

/** What the user chose, shown at once, and told to the server one after the other: of those that wait the last one counts. */
function useVote(m: Message, stored: readonly string[]): { mine: readonly string[]; vote: (ids: readonly string[]) => void } {
  const why = useWhy()
  const client = useClient()
  const [chosen, setChosen] = useState<readonly string[]>()
  const wanted = useRef<readonly string[] | undefined>(undefined)
  const tell = async (): Promise<void> => {
    try {
      for (let told: readonly string[] | undefined; told !== wanted.current; ) {
        told = wanted.current
        await client.conversation(m.conversation).vote(m.seq, [...(told ?? [])])
      }
    } catch (e) {
      toast(why(e), { tone: "error" })
    }
    wanted.current = undefined
    setChosen(undefined)
  }
  const vote = (ids: readonly string[]): void => {
    const busy = wanted.current !== undefined
    wanted.current = ids
    setChosen(ids)
    if (!busy) void tell()
  }
  return { mine: chosen ?? stored, vote }
}
