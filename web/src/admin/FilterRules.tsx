import { Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { ListFilter, Plus } from "lucide-react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import settings from "../settings/Settings.module.css"
import { useLoad } from "../settings/useLoad.js"
import { Button, Checkbox, Choice, Confirm, Dialog, Empty, Field, Note, Select, Tag, TextArea, toast } from "../ui/index.js"
import { may, roles, type Role } from "./access.js"
import s from "./Admin.module.css"
import { Page, Refusal, useRoleName } from "./parts.js"
import { useCall, useRole } from "./useRole.js"

type Rule = NonNullable<Response<"skein.v1.AdminService/ListFilterRules">["rules"]>[number]
type Kind = "FILTER_KIND_WORD" | "FILTER_KIND_LINK"
type What = "FILTER_ACTION_REFUSE" | "FILTER_ACTION_REPORT"
type Scope = "FILTER_SCOPE_UNSPECIFIED" | "FILTER_SCOPE_GROUPS" | "FILTER_SCOPE_STRANGERS"

/** Words and links that nobody may write, or that the moderators hear of. */
export function FilterRules() {
  const { t } = useLingui()
  const call = useCall()
  const manage = may(useRole(), "manage")
  const [adding, setAdding] = useState(false)
  const [going, setGoing] = useState<Rule | undefined>(undefined)
  const all = useLoad(async (signal) => (await call("skein.v1.AdminService/ListFilterRules", {}, { signal })).rules ?? [])
  return (
    <Page narrow title={t`Word and link filters`} about={<Trans>What is written with these words or links is refused, or reported to the moderators. A rule counts at once, on all nodes.</Trans>}
      actions={manage && <Button look="primary" icon={<Plus />} onClick={() => setAdding(true)}><Trans>New rule</Trans></Button>}>
      <Reading of={all}>
        {(rules) => rules.length === 0 ? <Empty icon={<ListFilter />} title={t`No rules`}><Trans>Everybody writes what they like.</Trans></Empty> : (
          <Section>{rules.map((r) => <Row key={r.id} title={<span className={s.mono}>{r.pattern}</span>} tag={<Tags of={r} />} about={<About of={r} />}>{manage && <Button look="quiet" onClick={() => setGoing(r)}><Trans>Remove</Trans></Button>}</Row>)}</Section>
        )}
      </Reading>
      <Try />
      {adding && <NewRule onClose={() => setAdding(false)} onDone={() => { setAdding(false); all.reload(); toast(t`The rule counts from now on.`) }} />}
      <Confirm open={going !== undefined} onClose={() => setGoing(undefined)} danger title={t`Remove the rule “${going?.pattern ?? ""}”?`} action={t`Remove`}
        onConfirm={async () => { await call("skein.v1.AdminService/RemoveFilterRule", { id: going?.id ?? "" }); all.reload() }}>
        <Trans>From now on it holds nobody back. What was refused stays unsaid.</Trans>
      </Confirm>
    </Page>
  )
}

function Tags({ of }: { of: Rule }) {
  return (
    <>
      <Tag>{of.kind === "FILTER_KIND_LINK" ? <Trans>Link</Trans> : <Trans>Word</Trans>}</Tag>
      {of.action === "FILTER_ACTION_REPORT" ? <Tag tone="warning"><Trans>reported</Trans></Tag> : <Tag tone="danger"><Trans>refused</Trans></Tag>}
    </>
  )
}

function About({ of }: { of: Rule }) {
  const { t } = useLingui()
  const name = useRoleName()
  const scopes: Readonly<Record<string, string>> = { FILTER_SCOPE_GROUPS: t`in groups`, FILTER_SCOPE_STRANGERS: t`to strangers` }
  const exempt = of.exempt ?? "SERVER_ROLE_UNSPECIFIED"
  return <>{[scopes[of.scope ?? ""] ?? t`everywhere`, of.part === true ? t`also inside longer words` : "", exempt === "SERVER_ROLE_UNSPECIFIED" ? "" : t`not for: ${name(exempt)} and above`, of.note ?? ""].filter((x) => x !== "").join(" · ")}</>
}

function NewRule({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const name = useRoleName()
  const [kind, setKind] = useState<Kind>("FILTER_KIND_WORD")
  const [pattern, setPattern] = useState("")
  const [part, setPart] = useState(false)
  const [action, setAction] = useState<What>("FILTER_ACTION_REFUSE")
  const [scope, setScope] = useState<Scope>("FILTER_SCOPE_UNSPECIFIED")
  const [exempt, setExempt] = useState<Role>("SERVER_ROLE_UNSPECIFIED")
  const [note, setNote] = useState("")
  const save = useAction(async () => {
    await call("skein.v1.AdminService/AddFilterRule", { rule: { kind, pattern: pattern.trim(), part: kind === "FILTER_KIND_WORD" && part, action, scope, exempt, note: note.trim() } as Rule })
    onDone()
  })
  const errors = useFieldErrors(save.error, "pattern", "note")
  const wrong = save.error?.code === "already_exists" ? t`There is this rule already.`
    : save.error?.code === "invalid_argument" && errors.of("pattern") !== undefined ? kind === "FILTER_KIND_LINK" ? t`A host, as example.com: without scheme, port and path.` : t`On one line, with characters that are seen.`
    : errors.of("pattern")
  return (
    <Dialog open onClose={onClose} title={t`New rule`}>
      <Form onSubmit={() => void save.run()}>
        <Choice label={t`What it looks for`} value={kind} onChange={setKind} options={[{ value: "FILTER_KIND_WORD", label: t`A word or a phrase` }, { value: "FILTER_KIND_LINK", label: t`Links to a host`, about: t`And to all below it.` }]} />
        <Field label={kind === "FILTER_KIND_LINK" ? t`Host` : t`Word or phrase`} value={pattern} onChange={(e) => setPattern(e.currentTarget.value)} required maxLength={100} autoFocus spellCheck={false} autoCapitalize="none" placeholder={kind === "FILTER_KIND_LINK" ? "example.com" : ""} error={wrong} />
        {kind === "FILTER_KIND_WORD" && <Checkbox label={t`Also inside longer words`} checked={part} onChange={setPart} />}
        <Choice label={t`What happens`} value={action} onChange={setAction} options={[{ value: "FILTER_ACTION_REFUSE", label: t`It is refused`, about: t`Who writes it is told that it is not allowed here.` }, { value: "FILTER_ACTION_REPORT", label: t`It is reported`, about: t`It is sent, and the moderators see a report.` }]} />
        <div className={settings.two}>
          <Select label={t`Where`} value={scope} onChange={setScope} options={[{ value: "FILTER_SCOPE_UNSPECIFIED", label: t`Everywhere` }, { value: "FILTER_SCOPE_GROUPS", label: t`In groups` }, { value: "FILTER_SCOPE_STRANGERS", label: t`In direct chats with strangers` }]} />
          <Select label={t`Not held to it`} value={exempt} onChange={setExempt} options={roles.map((r) => ({ value: r, label: r === "SERVER_ROLE_UNSPECIFIED" ? t`Nobody` : t`${name(r)} and above` }))} />
        </div>
        <Field label={t`Note`} value={note} onChange={(e) => setNote(e.currentTarget.value)} maxLength={200} hint={t`For the other administrators.`} error={errors.of("note")} />
        {save.error?.code !== "already_exists" && <Refusal error={errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending} disabled={pattern.trim() === ""}><Trans>Add rule</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

/** Which rules a text breaks, before somebody writes it. */
function Try() {
  const { t } = useLingui()
  const call = useCall()
  const [text, setText] = useState("")
  const [broken, setBroken] = useState<readonly Rule[] | undefined>(undefined)
  const run = useAction(async () => setBroken((await call("skein.v1.AdminService/TestFilter", { text })).rules ?? []))
  return (
    <Section title={t`Try a text`}>
      <Form onSubmit={() => void run.run()}>
        <TextArea label={t`Text`} bare value={text} onChange={(e) => { setText(e.currentTarget.value); setBroken(undefined) }} placeholder={t`Write something to see which rules it breaks`} maxLength={4000} />
        <div role="status">
          {broken !== undefined && (broken.length === 0 ? <Note tone="success"><Trans>It breaks no rule.</Trans></Note> : <Note tone="warning"><Trans>It breaks: {broken.map((r) => r.pattern ?? "").join(", ")}</Trans></Note>)}
        </div>
        <Refusal error={run.error} />
        <Actions><Button submit busy={run.pending} disabled={text.trim() === ""}><Trans>Try</Trans></Button></Actions>
      </Form>
    </Section>
  )
}
