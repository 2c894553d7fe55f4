import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient, useConversations, useUsers } from "@skein-im/react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form, Page, Reading, Row, Section } from "../settings/parts.js"
import { useSpan } from "../settings/spans.js"
import { useLoad } from "../settings/useLoad.js"
import s from "../settings/Settings.module.css"
import { nameOf } from "../timeline/names.js"
import { Button, Choice, ErrorNote, Field, Select, toast } from "../ui/index.js"
import { retentionSeconds, type RetentionUnit } from "./retentionTime.js"

/** How long messages are kept: of this server, and of a conversation. */
export function Retention() {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const list = useConversations()
  const users = useUsers(list.filter((c) => c.kind === "dm").map((c) => c.peer || client.user))
  const [conversation, setConversation] = useState("")
  const byDefault = client.limits.retentionMs ?? 0
  return (
    <Page title={t`Retention`} about={<Trans>After this time, messages are deleted for everyone. Choosing a longer time later does not bring them back.</Trans>}>
      <Section title={t`This server`} about={<Trans>Set in the server’s configuration: messaging.retention.</Trans>}>
        <Row title={<Trans>Keep messages</Trans>} about={byDefault === 0 ? t`Forever` : span(byDefault)} />
      </Section>
      <Section title={t`One conversation`}>
        <div className={s.pad}>
          <Select label={t`Conversation`} value={conversation} onChange={setConversation}
            options={[{ value: "", label: t`Choose one` }, ...list.map((c) => ({ value: c.id, label: c.kind === "group" ? c.title || t`Group` : c.peer === "" || c.peer === client.user ? t`Saved messages` : nameOf(users.get(c.peer)) }))]} />
        </div>
        {conversation !== "" && <Of key={conversation} conversation={conversation} />}
      </Section>
    </Page>
  )
}

function Of({ conversation }: { conversation: string }) {
  const client = useClient()
  const now = useLoad((signal) => client.call("skein.v1.AdminService/GetRetention", { conversation }, { signal }), conversation)
  return <Reading of={now}>{(r) => <Change conversation={conversation} kind={r.kind ?? "RETENTION_KIND_UNSPECIFIED"} seconds={r.retentionS ?? 0} floor={Number(r.floor ?? 0)} onDone={now.reload} />}</Reading>
}

type Kind = "RETENTION_KIND_UNSPECIFIED" | "RETENTION_KIND_TIME" | "RETENTION_KIND_FOREVER"

function Change({ conversation, kind: was, seconds, floor, onDone }: { conversation: string; kind: Kind; seconds: number; floor: number; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [kind, setKind] = useState<Kind>(was)
  const first = seconds > 0 && seconds % 86_400 !== 0 ? { count: seconds / 3600, unit: "hours" as const } : { count: Math.max(1, seconds / 86_400), unit: "days" as const }
  const [count, setCount] = useState(String(first.count))
  const [unit, setUnit] = useState<RetentionUnit>(first.unit)
  const save = useAction(async () => {
    await client.call("skein.v1.AdminService/SetRetention", { conversation, kind, retentionS: kind === "RETENTION_KIND_TIME" ? retentionSeconds(count, unit) : 0 })
    onDone()
    toast(t`It holds from now on.`)
  })
  const errors = useFieldErrors(save.error, "retentionS")
  return (
    <Form onSubmit={() => void save.run()}>
      <Choice label={t`Keep messages`} value={kind} onChange={setKind} options={[
        { value: "RETENTION_KIND_UNSPECIFIED", label: t`Server default` }, { value: "RETENTION_KIND_FOREVER", label: t`Forever` }, { value: "RETENTION_KIND_TIME", label: t`For a time` },
      ]} />
      {kind === "RETENTION_KIND_TIME" && (
        <div className={s.two}>
          <Field label={t`How long`} type="number" min={1} value={count} onChange={(e) => setCount(e.currentTarget.value)} required error={errors.of("retentionS") === undefined ? undefined : t`Between an hour and ten years.`} />
          <Select label={t`Unit`} value={unit} onChange={setUnit} options={[{ value: "hours", label: t`Hours` }, { value: "days", label: t`Days` }]} />
        </div>
      )}
      {floor > 0 && <p className={s.quiet}><Trans>Messages up to number {floor} are gone already.</Trans></p>}
      {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
      <Actions><Button look="primary" submit busy={save.pending}><Trans>Save</Trans></Button></Actions>
    </Form>
  )
}
