import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useConnection } from "@skein-im/react"
import { useEffect, useState, type ReactNode } from "react"
import { Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { dayName, lengthOf, momentOf, sizeOf, timeOf } from "../timeline/format.js"
import { Note, Tag } from "../ui/index.js"
import s from "./Admin.module.css"
import { certificateTone, fillOf, latenessOf, stateOf, type Health, type Tone } from "./health.js"
import { Facts, Page } from "./parts.js"
import { useCall } from "./useRole.js"

const everyMs = 5000
/** An answer that takes so long does not come any more: it is asked for again. */
const givenUpMs = 20_000

/**
 * How the deployment is: the node that answers, its stores and queues, and the others. It is asked anew while it is looked at; where
 * nobody answers what was heard last stays, and nothing says that it is well.
 */
export function HealthPage() {
  const { t } = useLingui()
  const call = useCall()
  const offline = useConnection().state !== "connected"
  const [failed, setFailed] = useState(false)
  const read = useLoad(async (signal) => {
    try {
      const { health } = await call("skein.v1.AdminService/GetHealth", {}, { signal })
      setFailed(false)
      return health ?? {} as Health
    } catch (e) {
      if (!signal.aborted) setFailed(true)
      throw e
    }
  })
  const { loading, reload } = read
  useEffect(() => {
    const timer = setInterval(() => { if (document.visibilityState === "visible") reload() }, loading ? givenUpMs : everyMs)
    return () => clearInterval(timer)
  }, [loading, reload])
  return <Page title={t`Health`} about={<Trans>As the node that answers sees it, every few seconds anew.</Trans>}><Reading of={read}>{(h) => <All of={h} silent={offline || failed} />}</Reading></Page>
}

function All({ of: h, silent }: { of: Health; silent: boolean }) {
  const { t } = useLingui()
  const state = silent ? "danger" : stateOf(h, Date.now())
  const words: Record<Tone, string> = { success: t`All is well`, warning: t`Something needs a look`, danger: t`Something is wrong` }
  const count = new Intl.NumberFormat()
  return (
    <div className={s.column}>
      <section className={s.card} aria-label={t`This node`}>
        <p className={s.identityName}><span className={s.lamp} data-tone={state} aria-hidden="true" />{silent ? t`The server doesn’t answer` : words[state]}</p>
        {silent && <Note tone="warning"><Trans>This is how it was when it answered last.</Trans></Note>}
        {(h.reasons ?? []).map((r) => <Note key={r} tone="warning">{r}</Note>)}
        {(h.warnings ?? []).map((r) => <Note key={r} tone="warning">{r}</Note>)}
        <Facts of={[
          ...((h.node ?? "") === "" ? [] : [[t`Node`, <span key="n" className={s.mono}>{h.node}</span>] as const]), // one that is alone has no name
          [t`Version`, `${h.version ?? ""} (${h.goVersion ?? ""})`],
          [t`Running since`, momentOf(Number(h.startedAtMs ?? 0))],
          [t`Looked at`, <span key="a" className={s.when}>{dayName(Number(h.atMs ?? 0))}, {timeOf(Number(h.atMs ?? 0))}</span>],
        ]} />
      </section>
      <div className={s.stats}>
        <Gauge label={t`Users online`} value={count.format(h.usersOnline ?? 0)} about={<Plural value={h.connections ?? 0} one="# connection" other="# connections" />} />
        <Gauge label={t`Messages a minute`} value={count.format(Number(h.storedPerMinute ?? 0))} about={<Trans>{count.format(Number(h.stored ?? 0))} since it began</Trans>} />
        <Gauge label={t`Sends that wait`} value={count.format(h.sendsWaiting ?? 0)} of={fillOf(h.sendsWaiting ?? 0, h.sendsMost ?? 0)} about={(h.sendsMost ?? 0) > 0 && <Trans>of {count.format(h.sendsMost ?? 0)} at most</Trans>} />
        <Gauge label={t`Memory`} value={sizeOf(Number(h.memoryBytes ?? 0))} about={<Trans>{count.format(h.goroutines ?? 0)} goroutines</Trans>} />
        <Gauge label={t`Open files`} value={count.format(h.openFiles ?? 0)} of={fillOf(h.openFiles ?? 0, h.openFilesMost ?? 0)} about={(h.openFilesMost ?? 0) > 0 && <Trans>of {count.format(h.openFilesMost ?? 0)} at most</Trans>} />
      </div>
      <Queues of={h} />
      <Section title={t`Stores`}>
        {(h.stores ?? []).map((x) => (
          <Row key={`${x.name} ${x.kind}`} title={`${x.name ?? ""} · ${x.kind ?? ""}`} tag={(x.trouble ?? "") !== "" ? <Tag tone="danger">{x.trouble}</Tag> : <Tag tone="success"><Trans>ok</Trans></Tag>}
            about={[Number(x.bytes ?? 0) > 0 ? t`takes ${sizeOf(Number(x.bytes))}` : "", Number(x.freeBytes ?? 0) > 0 ? t`${sizeOf(Number(x.freeBytes))} free` : "", x.durability ?? ""].filter((w) => w !== "").join(" · ")} />
        ))}
      </Section>
      {(h.nodes ?? []).length > 1 && (
        <Section title={t`Nodes`}>
          {(h.nodes ?? []).map((n) => <Row key={n.name} title={<span className={s.mono}>{n.name}</span>} tag={<>{n.ready === true ? <Tag tone="success"><Trans>ready</Trans></Tag> : <Tag tone="danger"><Trans>not ready</Trans></Tag>}{n.self === true && <Tag><Trans>this one</Trans></Tag>}</>} about={[(n.roles ?? []).join(", "), n.self === true ? "" : t`heard ${timeOf(Number(n.heardAtMs ?? 0))}`].filter((w) => w !== "").join(" · ")} />)}
        </Section>
      )}
      {(h.certificates ?? []).length > 0 && (
        <Section title={t`Certificates`}>
          {(h.certificates ?? []).map((c) => <Row key={(c.names ?? []).join()} title={(c.names ?? []).join(", ")} tag={<Tag tone={certificateTone(Number(c.notAfterMs ?? 0), c.trouble ?? "", Date.now())}>{t`until ${dayName(Number(c.notAfterMs ?? 0))}`}</Tag>} about={[c.source ?? "", c.trouble ?? ""].filter((w) => w !== "").join(" · ")} />)}
        </Section>
      )}
      {(h.refused ?? []).length > 0 && <Section title={t`Refused since it began`}><Facts of={(h.refused ?? []).map((c) => [c.code ?? "", count.format(Number(c.count ?? 0))] as const)} /></Section>}
    </div>
  )
}

function Gauge({ label, value, about, of }: { label: string; value: string; about?: ReactNode; of?: { share: number; tone: Tone } | undefined }) {
  return (
    <div className={s.stat}>
      <span className={s.statHead}>{label}</span>
      <span className={s.statValue} data-tone={of === undefined || of.tone === "success" ? undefined : of.tone}>{value}</span>
      {of !== undefined && <span className={s.bar} aria-hidden="true"><i data-tone={of.tone} style={{ inlineSize: `${of.share * 100}%` }} /></span>}
      {about !== undefined && about !== false && <span className={s.statAbout}>{about}</span>}
    </div>
  )
}

/** What waits to be done: followers of the journal, push, what has a time. */
function Queues({ of: h }: { of: Health }) {
  const { t } = useLingui()
  const names: Readonly<Record<string, string>> = { push: t`Push`, search: t`Search`, previews: t`Link previews`, audit: t`Audit log`, webhook: t`Webhooks` }
  const count = new Intl.NumberFormat()
  const push = h.push
  const later = h.later
  const failed = Number(push?.failing ?? 0)
  return (
    <Section title={t`Queues`}>
      {(h.followers ?? []).map((f) => {
        const behind = Number(f.behind ?? 0)
        const late = Number(f.behindMs ?? 0)
        return (
          <Row key={f.name} title={names[(f.name ?? "").replace(/\d+$/, "")] ?? f.name ?? ""} tag={<Tag tone={latenessOf(late)}>{late === 0 ? t`up to date` : t`${lengthOf(late)} behind`}</Tag>}
            about={[behind > 0 ? t`${count.format(behind)} to go` : "", Number(f.setAside ?? 0) > 0 ? t`${count.format(Number(f.setAside))} passed over` : "", f.here === true ? "" : t`works on another node`].filter((w) => w !== "").join(" · ")} />
        )
      })}
      {push !== undefined && <Row title={t`Notifications`} tag={failed > 0 ? <Tag tone="warning">{t`${count.format(failed)} failed before`}</Tag> : undefined} about={[t`${count.format(Number(push.waiting ?? 0))} wait`, t`${count.format(Number(push.subscriptions ?? 0))} devices`, Number(push.oldestMs ?? 0) > 0 ? t`the oldest for ${lengthOf(Number(push.oldestMs))}` : ""].filter((w) => w !== "").join(" · ")} />}
      {later !== undefined && (
        <>
          <Row title={t`Scheduled messages`} about={t`${count.format(Number(later.scheduled ?? 0))} wait, ${count.format(Number(later.due ?? 0))} are due`} />
          <Row title={t`Timers of messages`} about={t`${count.format(Number(later.timers ?? 0))} wait, ${count.format(Number(later.timersDue ?? 0))} are due`} />
          {Number(later.erasures ?? 0) + Number(later.promises ?? 0) > 0 && <Row title={t`Deletions and changes`} about={t`${count.format(Number(later.erasures ?? 0))} accounts are being deleted, ${count.format(Number(later.promises ?? 0))} changes wait`} />}
        </>
      )}
    </Section>
  )
}
