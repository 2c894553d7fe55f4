import { useEffect, useRef, useState, type KeyboardEvent, type ReactElement, type ReactNode } from "react"
import type { Message } from "@skein-im/client"
import { useReactions, type Reactions as Control } from "../messages.js"
import { Icon } from "./Icon.js"
import { useScene, why } from "./scene.js"

/** What is offered at once; whatever somebody reacted with can be joined besides. */
const offered = ["👍", "❤️", "😂", "😮", "🙏"] as const

/** Whether one may answer a message, or react to it: it is stored, and was not taken back. */
export const mayActOn = (m: Message): boolean => m.seq > 0 && !m.recalled

/** A message with what one may do about it: the way there beside it, and below it, once that is open, the reply and the reactions. */
export function Acts({ of: m, tab, children }: { of: Message; tab: boolean; children: ReactNode }): ReactElement {
  const { t, mayWrite, answer, note } = useScene()
  const control = useReactions(m)
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const may = mayWrite && mayActOn(m)
  useEffect(() => {
    if (control.error !== undefined) note(why(t, control.error))
  }, [control.error, note, t])

  const close = (): void => {
    setOpen(false)
    button.current?.focus()
  }
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.key !== "Escape" || !open) return
    e.stopPropagation()
    close()
  }
  return (
    <div className="acts" onKeyDown={onKeyDown}>
      <div className="beside">
        {children}
        {may && (
          <button ref={button} type="button" className="icon act" tabIndex={tab ? 0 : -1} aria-expanded={open} aria-label={t.acts} title={t.acts} onClick={() => setOpen(!open)} onKeyDown={toNext}>
            <Icon name="more" />
          </button>
        )}
      </div>
      {may && open && (
        <div className="bar" role="group" aria-label={t.acts}>
          {/* A copy: the same one chosen once more leads to where one writes, too. */}
          <button type="button" className="icon" aria-label={t.reply} title={t.reply} onClick={() => { setOpen(false); answer({ ...m }) }}><Icon name="reply" /></button>
          {offered.map((r) => (
            <button key={r} type="button" className="icon emoji" aria-pressed={isMine(control, r)} aria-label={t.react(r)} onClick={() => { close(); void control.toggle(r) }}>{r}</button>
          ))}
        </div>
      )}
      <Reactions of={m} control={control} may={may} />
    </div>
  )
}

const isMine = (c: Control, reaction: string): boolean => c.reactions.some((r) => r.reaction === reaction && r.mine === true)

/** What others felt about it. A tap joins them, or ends that. */
function Reactions({ of: m, control, may }: { of: Message; control: Control; may: boolean }): ReactNode {
  const { t } = useScene()
  if (m.recalled || control.reactions.length === 0) return null
  return (
    <ul className="reactions">
      {control.reactions.map((r) => (
        <li key={r.reaction}>
          <button type="button" aria-pressed={r.mine === true} aria-label={t.reaction(r.reaction, r.count ?? 0)} disabled={!may} onClick={() => void control.toggle(r.reaction)}>
            {r.reaction.slice(0, 32)}{(r.count ?? 0) > 1 && ` ${r.count ?? 0}`}
          </button>
        </li>
      ))}
    </ul>
  )
}

/** One of these buttons is a stop of the Tab key; from there the arrows walk the messages. */
function toNext(e: KeyboardEvent<HTMLButtonElement>): void {
  if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return
  e.preventDefault()
  const all = [...(e.currentTarget.closest(".rows")?.querySelectorAll<HTMLElement>(".act") ?? [])]
  all[all.indexOf(e.currentTarget) + (e.key === "ArrowUp" ? -1 : 1)]?.focus()
}
