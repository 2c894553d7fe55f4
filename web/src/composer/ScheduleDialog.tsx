import { useCallback, useEffect, useState } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Trash2 } from "lucide-react"
import type { Scheduled, SendOptions } from "@skein-im/client"
import { useClient, useEvent } from "@skein-im/react"
import { Button, Dialog, ErrorNote, Field, IconButton, Tag, toast, useWhy } from "../ui/index.js"
import { momentOf } from "../timeline/format.js"
import { plain } from "@skein-im/client/content"
import s from "./Schedule.module.css"

export interface Later {
  text: string
  options: SendOptions
}

/** A time as an input of a date and time has it, in the user's own zone. */
function inputOf(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Sends what is written later; without a text it shows what waits to be sent here. */
export function ScheduleDialog({ conversation, message, onClose, onDone }: { conversation: string; message: Later | undefined; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [at, setAt] = useState(() => inputOf(Math.ceil((Date.now() + 3_600_000) / 900_000) * 900_000))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const atMs = new Date(at).getTime()
  const future = Number.isFinite(atMs) && atMs > Date.now()
  const preset = (ms: number): void => setAt(inputOf(ms))
  const hour = (days: number, h: number): number => new Date(new Date(Date.now() + days * 86_400_000).setHours(h, 0, 0, 0)).getTime()
  const send = async (): Promise<void> => {
    if (message === undefined) return
    setBusy(true)
    setError(undefined)
    try {
      await client.conversation(conversation).sendLater(atMs, message.text, message.options)
      toast(t`It will be sent ${momentOf(atMs)}`)
      onDone()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Dialog
      open onClose={onClose} title={message === undefined ? t`Scheduled` : t`Send later`}
      actions={message === undefined ? undefined : <Button look="primary" busy={busy} disabled={!future} onClick={() => void send()}>{t`Send later`}</Button>}
    >
      {message !== undefined && (
        <div className={s.when}>
          <div className={s.presets}>
            <Button onClick={() => preset(Date.now() + 3_600_000)}>{t`In an hour`}</Button>
            <Button onClick={() => preset(hour(1, 9))}>{t`Tomorrow at 9`}</Button>
            <Button onClick={() => preset(hour(((8 - new Date().getDay()) % 7) || 7, 9))}>{t`Monday at 9`}</Button>
          </div>
          <Field type="datetime-local" label={t`Day and time`} value={at} min={inputOf(Date.now())} onChange={(e) => setAt(e.currentTarget.value)} error={future ? undefined : t`This time is in the past.`} />
          {error !== undefined && <ErrorNote error={error} />}
        </div>
      )}
      <Waiting conversation={conversation} />
    </Dialog>
  )
}

/** What waits to be sent here, and what could not be. */
function Waiting({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const [all, setAll] = useState<readonly Scheduled[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const read = useCallback(() => {
    client.scheduled().then((found) => {
      setError(undefined)
      setAll(found.filter((x) => x.message.conversation === conversation))
    }, setError)
  }, [client, conversation])
  useEffect(read, [read])
  useEvent("account", (e) => {
    if (e.type === "SCHEDULED_CHANGED") read()
  })
  if (error !== undefined) return <ErrorNote error={error} onRetry={read} />
  if (all === undefined || all.length === 0) return all === undefined ? null : <p className={s.none}><Trans>No scheduled messages in this conversation.</Trans></p>
  const cancel = (x: Scheduled): void => void client.cancelScheduled(x.id).then(read, (e: unknown) => toast(why(e), { tone: "error" }))
  return (
    <section>
      <h3 className={s.head}><Trans>Waits to be sent here</Trans></h3>
      <ul className={s.list}>
        {all.map((x) => (
          <li key={x.id} className={s.one}>
            <span className={s.words}>
              <span>{x.message.content.type === "text" ? plain(x.message.content.text ?? "") : x.message.content.fallback}</span>
              <small>{momentOf(x.atMs)} {x.state === "failed" && <Tag tone="danger">{x.error?.message ?? t`not sent`}</Tag>}</small>
            </span>
            <IconButton label={t`Don’t send`} onClick={() => cancel(x)}><Trash2 /></IconButton>
          </li>
        ))}
      </ul>
    </section>
  )
}
