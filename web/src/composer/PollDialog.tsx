import { useState } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Plus, X } from "lucide-react"
import { useClient } from "@skein-im/react"
import { Button, Checkbox, Dialog, ErrorNote, Field, IconButton, Select } from "../ui/index.js"
import s from "./Poll.module.css"

const mostOptions = 20
const longest = 200
type Ends = "0" | "3600" | "86400" | "604800"

/** Asks something. A new line for an option stands there as soon as the last one is begun. */
export function PollDialog({ conversation, onClose }: { conversation: string; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [question, setQuestion] = useState("")
  const [options, setOptions] = useState<readonly string[]>(["", ""])
  const [multiple, setMultiple] = useState(false)
  const [anonymous, setAnonymous] = useState(false)
  const [ends, setEnds] = useState<Ends>("0")
  const [error, setError] = useState<unknown>(undefined)
  const [busy, setBusy] = useState(false)
  const filled = options.map((o) => o.trim()).filter((o) => o !== "")
  const ready = question.trim() !== "" && filled.length >= 2 && new Set(filled).size === filled.length
  const set = (i: number, text: string): void => setOptions((all) => {
    const now = all.map((o, n) => (n === i ? text : o))
    return now.at(-1) !== "" && now.length < mostOptions ? [...now, ""] : now
  })
  const send = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    const all = filled.map((text, i) => ({ id: String(i + 1), text }))
    const untilMs = ends === "0" ? 0 : client.serverTimeMs() + Number(ends) * 1000
    const body = { question: question.trim(), options: all, multiple, anonymous, ...(untilMs === 0 ? {} : { until_ms: untilMs }) }
    const poll = { options: all.map(({ id }) => ({ id })), multiple, anonymous, ...(untilMs === 0 ? {} : { untilMs }) }
    try {
      await client.conversation(conversation).post(JSON.stringify(body), { type: "poll", poll, fallback: `[poll] ${question.trim()}`.slice(0, 300) })
      onClose()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Dialog open onClose={onClose} title={t`Ask a question`} actions={<Button look="primary" busy={busy} disabled={!ready} onClick={() => void send()}>{t`Send the poll`}</Button>}>
      <form className={s.form} onSubmit={(e) => { e.preventDefault(); if (ready) void send() }}>
        <Field label={t`Question`} value={question} maxLength={longest} onChange={(e) => setQuestion(e.currentTarget.value)} autoFocus />
        <fieldset className={s.options}>
          <legend><Trans>Options</Trans></legend>
          {options.map((o, i) => (
            <Field
              key={i} label={t`Option ${i + 1}`} bare placeholder={t`Option ${i + 1}`} value={o} maxLength={longest} onChange={(e) => set(i, e.currentTarget.value)}
              after={options.length > 2 && o !== "" ? <IconButton small label={t`Remove option ${i + 1}`} onClick={() => setOptions((all) => all.filter((_, n) => n !== i))}><X /></IconButton> : <Plus aria-hidden="true" className={s.plus} />}
              error={o.trim() !== "" && filled.filter((f) => f === o.trim()).length > 1 ? t`This option is listed twice.` : undefined}
            />
          ))}
        </fieldset>
        <Checkbox label={t`Allow multiple answers`} checked={multiple} onChange={setMultiple} />
        <Checkbox label={t`Anonymous: nobody sees who chose what`} checked={anonymous} onChange={setAnonymous} />
        <Select<Ends> label={t`Ends`} value={ends} onChange={setEnds} options={[{ value: "0", label: t`when I end it` }, { value: "3600", label: t`in an hour` }, { value: "86400", label: t`in a day` }, { value: "604800", label: t`in a week` }]} />
        <button type="submit" hidden />
      </form>
      {error !== undefined && <ErrorNote error={error} />}
    </Dialog>
  )
}
