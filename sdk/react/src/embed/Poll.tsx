import { useRef, useState, type KeyboardEvent, type ReactElement } from "react"
import type { Message } from "@skein-im/client"
import type { PollBody } from "@skein-im/client/content"
import { errorFrom } from "../action.js"
import { useScene, why } from "./scene.js"

/**
 * A poll: what is chosen, and by what part. A choice counts with the tap; once more takes it back. One of several is a
 * group of radio buttons to the keyboard: one stop of the Tab key, and an arrow chooses the one to which it moves.
 */
export function Poll({ of: m, body }: { of: Message; body: PollBody }): ReactElement {
  const { t, client, mayWrite } = useScene()
  const { poll } = m
  const options = poll?.options ?? []
  const { mine, vote } = useVote(m, options.filter((o) => o.mine === true).map((o) => o.id))
  const voters = poll?.voters ?? 0
  const until = poll?.untilMs ?? 0
  const ended = poll === undefined || (poll.endedAtMs ?? 0) > 0 || (until > 0 && until <= client.serverTimeMs())
  const several = poll?.multiple === true
  const toggle = (id: string): void => vote(mine.includes(id) ? mine.filter((x) => x !== id) : several ? [...mine, id] : [id])
  const stop = several ? undefined : body.options.find((o) => mine.includes(o.id)) ?? body.options[0]
  const keys = (e: KeyboardEvent<HTMLElement>): void => {
    const step = steps[e.key]
    if (several || step === undefined || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return
    const all = [...e.currentTarget.querySelectorAll<HTMLButtonElement>("button")]
    const at = all.findIndex((b) => b.contains(e.target as Node))
    if (at < 0) return
    e.preventDefault() // the messages do not scroll
    const to = (at + step + all.length) % all.length
    all[to]?.focus()
    const chosen = body.options[to]?.id ?? ""
    if (!mine.includes(chosen)) vote([chosen])
  }
  return (
    <div className="poll">
      <p className="question" dir="auto">{body.question}</p>
      <p className="quiet">{ended ? t.pollEnded : several ? t.pollMany : t.pollOne}{poll?.anonymous === true && ` · ${t.anonymous}`}</p>
      <div role={several ? "group" : "radiogroup"} aria-label={body.question} onKeyDown={keys}>
        {body.options.map((o) => {
          const part = voters === 0 ? 0 : Math.round((100 * (options.find((x) => x.id === o.id)?.votes ?? 0)) / voters)
          return (
            <button key={o.id} type="button" className="option" role={several ? "checkbox" : "radio"} aria-checked={mine.includes(o.id)} tabIndex={several || o === stop ? 0 : -1} disabled={ended || !mayWrite || m.seq === 0} onClick={() => toggle(o.id)}>
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

const steps: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }

/** What the user chose, shown at once, and told to the server one after the other: of those that wait the last one counts. */
function useVote(m: Message, stored: readonly string[]): { mine: readonly string[]; vote: (ids: readonly string[]) => void } {
  const { t, client, note } = useScene()
  const [chosen, setChosen] = useState<readonly string[]>()
  const wanted = useRef<readonly string[] | undefined>(undefined)
  const vote = (ids: readonly string[]): void => {
    const busy = wanted.current !== undefined
    wanted.current = ids
    setChosen(ids)
    if (!busy) void tell()
  }
  const tell = async (): Promise<void> => {
    try {
      for (let told: readonly string[] | undefined; told !== wanted.current; ) {
        told = wanted.current
        await client.conversation(m.conversation).vote(m.seq, [...(told ?? [])])
      }
    } catch (e) {
      note(why(t, errorFrom(e)))
    }
    wanted.current = undefined
    setChosen(undefined)
  }
  return { mine: chosen ?? stored, vote }
}
