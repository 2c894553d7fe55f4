import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useUsers } from "@skein-im/react"
import { Fragment, useState } from "react"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { momentOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Button, Confirm, Note, TextArea, toast } from "../ui/index.js"
import s from "./Admin.module.css"
import { BanDialog } from "./BanDialog.js"
import { Facts, Page, PersonLink, Refusal, When } from "./parts.js"
import { ReasonTag, StateTag } from "./Reports.js"
import { saidIn, type Around, type Report, type Said } from "./reports.js"
import { useCall } from "./useRole.js"

const around = 15

/** A report: the message among those around it, what can be done, and what became of it. */
export function ReportPage({ id }: { id: string }) {
  const { t } = useLingui()
  const call = useCall()
  const read = useLoad((signal) => call("skein.v1.AdminService/GetReport", { id, around }, { signal }), id)
  return (
    <Page title={t`Report`} back="/admin/reports" about={<Trans>The audit log records who looked at this.</Trans>}>
      <Reading of={read}>{({ report, entries }) => <One of={report ?? {} as Report} entries={entries ?? []} onChanged={read.reload} />}</Reading>
    </Page>
  )
}

function One({ of, entries, onChanged }: { of: Report; entries: readonly Around[]; onChanged: () => void }) {
  const { t } = useLingui()
  const conversation = of.conversation ?? ""
  return (
    <div className={s.columns}>
      <div className={s.column}>
        <section className={s.section}>
          <div className={s.sectionHead}><h2><Trans>As who reported it reads it</Trans></h2></div>
          <div className={s.card} style={{ padding: 0 }}>
            {entries.length === 0 ? <p className={s.lineSystem}><Trans>Who reported it can’t read it any more. This is what it said then:</Trans></p> : <Talk entries={entries} seq={Number(of.seq ?? 0)} />}
            {entries.length === 0 && <p className={s.line}><span /><span className={s.lineText}>{of.said}</span></p>}
          </div>
        </section>
        <section className={s.section}>
          <div className={s.sectionHead}><h2><Trans>What it said when it was reported</Trans></h2></div>
          <div className={s.card}><blockquote className={`${s.said} ${s.whole}`}>{of.said || <Trans>Nothing that can be read: a picture, a file.</Trans>}</blockquote></div>
        </section>
      </div>
      <div className={s.column}>
        <section className={s.card} aria-label={t`Report`}>
          <p className={s.tags}><ReasonTag of={of} /><StateTag of={of} /></p>
          {(of.text ?? "") !== "" && <blockquote className={`${s.said} ${s.whole}`}>{of.text}</blockquote>}
          <Facts of={[
            [t`Written by`, <PersonLink key="a" user={of.author ?? ""} />],
            [t`Reported by`, (of.reporter ?? "") === "" ? t`The server` : <PersonLink key="r" user={of.reporter ?? ""} />],
            [t`Reported`, momentOf(Number(of.createdAtMs ?? 0))],
            [t`Where`, <span key="c" className={s.mono}>{conversation} #{of.seq}</span>],
          ]} />
        </section>
        <Decision of={of} onChanged={onChanged} />
        <Measures of={of} gone={entries.some((e) => e.seq === of.seq && e.recalled === true)} onChanged={onChanged} />
      </div>
    </div>
  )
}

/** What can be done about the message, and about who wrote it. */
function Measures({ of, gone, onChanged }: { of: Report; gone: boolean; onChanged: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [doing, setDoing] = useState<"recall" | "ban" | undefined>(undefined)
  const author = of.author ?? ""
  const users = useUsers(author === "" ? [] : [author])
  const name = nameOf(users.get(author))
  return (
    <Section title={t`Measures`}>
      <Row title={t`The message`} about={gone ? t`It was taken back.` : t`Take it back for everybody in the conversation.`}>{!gone && <Button onClick={() => setDoing("recall")}><Trans>Take back…</Trans></Button>}</Row>
      <Row title={t`Who wrote it`} about={t`Nobody can log in as them while they are banned.`}><Button onClick={() => setDoing("ban")}><Trans>Ban…</Trans></Button></Row>
      <Confirm open={doing === "recall"} onClose={() => setDoing(undefined)} danger title={t`Take this message back?`} action={t`Take back`}
        onConfirm={async () => {
          await call("skein.v1.AdminService/TakeBackMessage", { conversation: of.conversation ?? "", seq: of.seq ?? "0" })
          onChanged()
          toast(t`The message was taken back.`)
        }}>
        <Trans>It disappears for everybody at once, as if its author had deleted it. What it said stays with this report.</Trans>
      </Confirm>
      {doing === "ban" && <BanDialog user={author} name={name} onClose={() => setDoing(undefined)} onDone={() => { setDoing(undefined); toast(t`Banned. All sessions have ended.`) }} />}
    </Section>
  )
}

/** What became of it, for the other moderators. */
function Decision({ of, onChanged }: { of: Report; onChanged: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [note, setNote] = useState("")
  const decide = useAction(async (state: NonNullable<Report["state"]>) => {
    await call("skein.v1.AdminService/DecideReport", { id: of.id ?? "", state, note: note.trim() })
    setNote("")
    onChanged()
  })
  const decidedAt = Number(of.decidedAtMs ?? 0)
  if (of.state !== "REPORT_STATE_OPEN") {
    return (
      <section className={s.card} aria-label={t`Decision`}>
        <Facts of={[
          [t`Decision`, <StateTag key="s" of={of} />],
          [t`Decided by`, (of.decidedBy ?? "") === "" ? t`The admin key` : <PersonLink key="d" user={of.decidedBy ?? ""} />],
          ...(decidedAt === 0 ? [] : [[t`Decided`, momentOf(decidedAt)] as const]),
        ]} />
        {(of.note ?? "") !== "" && <Note>{of.note}</Note>}
        <Refusal error={decide.error} />
        <Actions><Button busy={decide.pending} onClick={() => void decide.run("REPORT_STATE_OPEN")}><Trans>Open again</Trans></Button></Actions>
      </section>
    )
  }
  return (
    <section className={s.card} aria-label={t`Decision`}>
      <Form onSubmit={() => void decide.run("REPORT_STATE_RESOLVED")}>
        <TextArea label={t`Note for the other moderators`} value={note} onChange={(e) => setNote(e.currentTarget.value)} maxLength={1000} placeholder={t`What was done`} />
        <Refusal error={decide.error} />
        <Actions><Button disabled={decide.pending} onClick={() => void decide.run("REPORT_STATE_DISMISSED")}><Trans>Dismiss</Trans></Button><Button look="primary" submit busy={decide.pending}><Trans>Resolve</Trans></Button></Actions>
      </Form>
    </section>
  )
}

/** The messages around, as lines; the reported one is marked. */
function Talk({ entries, seq }: { entries: readonly Around[]; seq: number }) {
  const { t } = useLingui()
  return (
    <ol className={s.talk} aria-label={t`Messages around it`}>
      {entries.map((e) => {
        const said = saidIn(e)
        return said === undefined ? null : <Line key={e.seq} of={e} said={said} reported={Number(e.seq ?? 0) === seq} />
      })}
    </ol>
  )
}

function Happened({ of }: { of: Said & { t: "event" } }) {
  const who = <>{of.users.map((u, i) => <Fragment key={u}>{i > 0 && ", "}<PersonLink user={u} quiet /></Fragment>)}</>
  switch (of.what) {
    case "joined":
      return <Trans>{who} joined</Trans>
    case "left":
      return <Trans>{who} left</Trans>
    case "removed":
      return <Trans>{who} was removed</Trans>
    case "other":
      return <Trans>The group was changed</Trans>
  }
}

function Line({ of, said, reported }: { of: Around; said: Said; reported: boolean }) {
  const { t } = useLingui()
  const kinds: Readonly<Record<string, string>> = { image: t`Picture`, video: t`Video`, voice: t`Voice message`, file: t`File`, location: t`Location`, card: t`Contact`, poll: t`Poll`, merged: t`Forwarded messages`, sticker: t`Sticker` }
  if (said.t === "event") return <li className={s.lineSystem}><Happened of={said} /> · <When ms={Number(of.storedAtMs ?? 0)} /></li>
  const text = said.t === "recalled" ? t`This message was taken back.` : said.t === "text" ? said.text : [`[${kinds[said.type] ?? said.type}]`, said.text].filter((x) => x !== "").join(" ")
  return (
    <li className={`${s.line} ${reported ? s.reported : ""}`} aria-current={reported ? "true" : undefined}>
      <PersonAvatar user={of.sender ?? ""} size="s" />
      <div>
        <p className={s.lineHead}><PersonLink user={of.sender ?? ""} quiet /><When ms={Number(of.storedAtMs ?? 0)} />{reported && <strong><Trans>reported</Trans></strong>}</p>
        <p className={s.lineText} data-gone={said.t === "recalled" || undefined}>{text}</p>
      </div>
    </li>
  )
}
