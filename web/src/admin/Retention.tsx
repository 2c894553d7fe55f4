import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient } from "@skein-im/react"
import { Search, UsersRound } from "lucide-react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import { useSpan } from "../settings/spans.js"
import { useLoad } from "../settings/useLoad.js"
import settings from "../settings/Settings.module.css"
import { Avatar, Button, Choice, Dialog, Empty, Field, Select, toast } from "../ui/index.js"
import { may } from "./access.js"
import s from "./Admin.module.css"
import type { Group } from "./Groups.js"
import { Page, Refusal } from "./parts.js"
import { usePaged, useQuery, useTyped } from "./query.js"
import { retentionSeconds, type RetentionUnit } from "./retentionTime.js"
import { Table } from "./Table.js"
import { useCall, useRole } from "./useRole.js"

const perPage = 50

/** How long messages are kept: of this server, and of a conversation. */
export function Retention() {
  const { t } = useLingui()
  const client = useClient()
  const call = useCall()
  const span = useSpan()
  const query = useQuery()
  const [typed, setTyped] = useTyped("q")
  const q = query.get("q")
  const groups = usePaged<Group>(q, async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/ListGroups", { limit: perPage, cursor, query: q.slice(0, 64) }, { signal })
    return { rows: page.groups ?? [], next: page.next ?? "" }
  })
  const byDefault = client.limits.retentionMs ?? 0
  return (
    <Page title={t`Retention`} about={<Trans>After this time, messages are deleted for everyone. Choosing a longer time later does not bring them back.</Trans>}>
      <Section title={t`This server`} about={<Trans>Set in the server’s configuration: messaging.retention.</Trans>}>
        <Row title={<Trans>Keep messages</Trans>} about={byDefault === 0 ? t`Forever` : span(byDefault)} />
      </Section>
      <section className={s.section}>
        <div className={s.sectionHead}><h2><Trans>One group</Trans></h2></div>
        <Field label={t`Find groups`} bare type="search" before={<Search aria-hidden="true" />} placeholder={t`Part of the name, or the id`} maxLength={64} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} />
        <Table label={t`Groups`} of={groups} keyOf={(g) => g.conversation ?? ""} to={(g) => `/admin/groups/${g.conversation ?? ""}`}
          columns={[
            { key: "group", head: t`Group`, wide: true, cell: (g) => <span className={s.who}><Avatar id={g.conversation ?? ""} name={g.name ?? ""} size="s" group /><bdi className={s.cut}>{g.name}</bdi></span> },
            { key: "members", head: t`Members`, number: true, cell: (g) => g.members ?? 0 },
          ]}
          empty={<Empty icon={<UsersRound />} title={q === "" ? t`No groups yet` : t`No group with that name`} />} />
      </section>
    </Page>
  )
}

/** How long the messages of a conversation are kept, as a section of its page. */
export function RetentionOf({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const call = useCall()
  const role = useRole()
  const span = useSpan()
  const [changing, setChanging] = useState(false)
  const now = useLoad((signal) => call("skein.v1.AdminService/GetRetention", { conversation }, { signal }), conversation)
  return (
    <Section title={t`Retention`}>
      <Reading of={now}>
        {(r) => {
          const seconds = r.retentionS ?? 0
          const long = seconds === 0 ? t`Forever` : span(seconds * 1000)
          return (
            <>
              <Row title={<Trans>Keep messages</Trans>} about={(r.kind ?? "RETENTION_KIND_UNSPECIFIED") === "RETENTION_KIND_UNSPECIFIED" ? <Trans>{long} (server default)</Trans> : long}>
                {may(role, "manage") && <Button onClick={() => setChanging(true)}><Trans>Change</Trans></Button>}
              </Row>
              {changing && <Change conversation={conversation} kind={r.kind ?? "RETENTION_KIND_UNSPECIFIED"} seconds={seconds} onClose={() => setChanging(false)} onDone={() => { setChanging(false); now.reload(); toast(t`It holds from now on.`) }} />}
            </>
          )
        }}
      </Reading>
    </Section>
  )
}

type Kind = "RETENTION_KIND_UNSPECIFIED" | "RETENTION_KIND_TIME" | "RETENTION_KIND_FOREVER"

function Change({ conversation, kind: was, seconds, onClose, onDone }: { conversation: string; kind: Kind; seconds: number; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [kind, setKind] = useState<Kind>(was)
  const first = seconds > 0 && seconds % 86_400 !== 0 ? { count: seconds / 3600, unit: "hours" as const } : { count: Math.max(1, seconds / 86_400), unit: "days" as const }
  const [count, setCount] = useState(String(first.count))
  const [unit, setUnit] = useState<RetentionUnit>(first.unit)
  const save = useAction(async () => {
    await call("skein.v1.AdminService/SetRetention", { conversation, kind, retentionS: kind === "RETENTION_KIND_TIME" ? retentionSeconds(count, unit) : 0 })
    onDone()
  })
  const errors = useFieldErrors(save.error, "retentionS")
  return (
    <Dialog open onClose={onClose} title={t`How long messages are kept`} size="s" about={t`What is older is deleted for everyone and cannot be brought back. Choosing a longer time later does not bring it back.`}>
      <Form onSubmit={() => void save.run()}>
        <Choice label={t`Keep messages`} value={kind} onChange={setKind} options={[
          { value: "RETENTION_KIND_UNSPECIFIED", label: t`Server default` }, { value: "RETENTION_KIND_FOREVER", label: t`Forever` }, { value: "RETENTION_KIND_TIME", label: t`For a time` },
        ]} />
        {kind === "RETENTION_KIND_TIME" && (
          <div className={settings.two}>
            <Field label={t`How long`} type="number" min={1} value={count} onChange={(e) => setCount(e.currentTarget.value)} required error={errors.of("retentionS") === undefined ? undefined : t`Between an hour and ten years.`} />
            <Select label={t`Unit`} value={unit} onChange={setUnit} options={[{ value: "hours", label: t`Hours` }, { value: "days", label: t`Days` }]} />
          </div>
        )}
        <Refusal error={errors.rest} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look={kind === "RETENTION_KIND_TIME" ? "danger" : "primary"} submit busy={save.pending}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
