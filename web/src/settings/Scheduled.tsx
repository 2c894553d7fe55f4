import { Trans, useLingui } from "@lingui/react/macro"
import { SkeinError, type Scheduled as One } from "@skein-im/client"
import { useAction, useClient, useConversation, useEvent } from "@skein-im/react"
import { CalendarClock, Pencil, Trash2 } from "lucide-react"
import { useState } from "react"
import { Link } from "wouter"
import { momentOf } from "../timeline/format.js"
import { useName } from "../timeline/names.js"
import { Button, Confirm, Dialog, Empty, ErrorNote, Field, IconButton, Tag, TextArea, useWhy } from "../ui/index.js"
import { localMinute, minuteToMs } from "./dates.js"
import { useFieldErrors } from "./fields.js"
import { Actions, Form, Page, Reading, Row, Section } from "./parts.js"
import { useLoad } from "./useLoad.js"

/** Messages that are sent later. */
export function Scheduled() {
  const { t } = useLingui()
  const client = useClient()
  const [changing, setChanging] = useState<One | undefined>(undefined)
  const [cancelling, setCancelling] = useState<One | undefined>(undefined)
  const all = useLoad((signal) => client.scheduled(signal))
  useEvent("account", ({ type }) => {
    if (type === "SCHEDULED_CHANGED") all.reload()
  })
  return (
    <Page title={t`Scheduled messages`}>
      <Reading of={all}>
        {(list) => list.length === 0
          ? <Empty icon={<CalendarClock />} title={t`Nothing is scheduled`}><Trans>To schedule a message, press and hold the send button, or right-click it.</Trans></Empty>
          : <Section>{list.map((one) => <Line key={one.id} of={one} onChange={() => setChanging(one)} onCancel={() => setCancelling(one)} />)}</Section>}
      </Reading>
      {changing !== undefined && <Change of={changing} onClose={() => setChanging(undefined)} onDone={all.reload} />}
      <Confirm open={cancelling !== undefined} onClose={() => setCancelling(undefined)} danger action={t`Don’t send`} title={t`Don’t send this message?`}
        onConfirm={async () => {
          if (cancelling !== undefined) await client.cancelScheduled(cancelling.id)
          all.reload()
        }}>
        {shortOf(cancelling)}
      </Confirm>
    </Page>
  )
}

const shortOf = (one: One | undefined): string => one?.message.content.fallback || (one?.message.content.type === "text" ? one.message.content.text ?? "" : "") || (one?.message.content.type ?? "")

function Line({ of, onChange, onCancel }: { of: One; onChange: () => void; onCancel: () => void }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const conversation = of.message.conversation
  const c = useConversation(conversation)
  const other = conversation.startsWith("dm:") ? conversation.split(":").slice(1).find((u) => u !== client.user) ?? client.user : undefined
  const peer = useName(other)
  const name = other === undefined ? c?.title || t`Group` : other === client.user ? t`Saved messages` : peer
  const at = momentOf(of.atMs)
  const failed = of.state === "failed"
  const reason = failed ? why(of.error ?? new SkeinError({ code: "internal" })) : ""
  return (
    <Row icon={<CalendarClock />} title={shortOf(of)} about={<><Link href={`/c/${conversation}`}><bdi>{name}</bdi></Link> · {at}{failed && <> · {reason}</>}</>}
      tag={failed ? <Tag tone="danger"><Trans>Not sent</Trans></Tag> : of.state === "sending" ? <Tag><Trans>Sending</Trans></Tag> : undefined}>
      <IconButton label={t`Change`} onClick={onChange}><Pencil /></IconButton>
      <IconButton label={t`Don’t send`} onClick={onCancel}><Trash2 /></IconButton>
    </Row>
  )
}

function Change({ of, onClose, onDone }: { of: One; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const isText = of.message.content.type === "text"
  const [text, setText] = useState(of.message.content.text ?? "")
  const [at, setAt] = useState(localMinute(Math.max(of.atMs, client.serverTimeMs() + 60_000)))
  const save = useAction(async () => {
    const atMs = minuteToMs(at)
    if (atMs === undefined) throw new SkeinError({ code: "invalid_argument", message: t`Choose a day and a time.`, field: "atMs" })
    const message = isText && text !== of.message.content.text ? { message: { ...of.message, content: { ...of.message.content, text } } } : {}
    await client.call("skein.v1.MessageService/ChangeScheduled", { id: of.message.id ?? "", atMs: String(atMs), ...message })
    onDone()
    onClose()
  })
  const errors = useFieldErrors(save.error, "atMs", "text")
  return (
    <Dialog open onClose={onClose} title={t`Edit scheduled message`} size="s">
      <Form onSubmit={() => void save.run()}>
        {isText && <TextArea label={t`Message`} value={text} onChange={(e) => setText(e.currentTarget.value)} required error={errors.of("text")} />}
        <Field label={t`When`} type="datetime-local" value={at} onChange={(e) => setAt(e.currentTarget.value)} required min={localMinute(client.serverTimeMs())} error={errors.of("atMs")} />
        {errors.rest !== undefined && <ErrorNote error={save.error?.code === "too_late" || save.error?.code === "not_found" ? new SkeinError({ code: "sent", message: t`It has already been sent.` }) : errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
