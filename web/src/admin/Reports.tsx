import { Trans, useLingui } from "@lingui/react/macro"
import { CircleCheckBig, X } from "lucide-react"
import { Link } from "wouter"
import { Button, Empty, Skeleton, Tabs, Tag } from "../ui/index.js"
import s from "./Admin.module.css"
import { Page, PersonLink, When } from "./parts.js"
import { usePaged, useQuery } from "./query.js"
import { askedState, stateOf, states, type Report, type State } from "./reports.js"
import { Pages } from "./Table.js"
import { useCall } from "./useRole.js"

const perPage = 30

/** What was reported: the queue of the moderators. */
export function Reports() {
  const { t } = useLingui()
  const call = useCall()
  const query = useQuery()
  const state = stateOf(query.get("state"))
  const author = query.get("author")
  const of = usePaged<Report>(`${state} ${author}`, async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/ListReports", { limit: perPage, cursor, state: askedState(state), author }, { signal })
    return { rows: page.reports ?? [], next: page.next ?? "" }
  })
  const titles: Record<State, string> = { open: t`Open`, resolved: t`Resolved`, dismissed: t`Dismissed`, all: t`All` }
  return (
    <Page title={t`Reports`} about={<Trans>What members reported. Whoever wrote the message is told nothing.</Trans>}>
      <Tabs label={t`Which reports`} value={state} onChange={(v) => query.set({ state: v === "open" ? "" : v })} tabs={states.map((v) => ({ value: v, label: titles[v] }))} />
      {author !== "" && <p className={s.who}><Trans>About messages of <PersonLink user={author} /></Trans><Button look="quiet" icon={<X />} onClick={() => query.set({ author: "" })}><Trans>Show all</Trans></Button></p>}
      <Pages of={of} empty={state === "open" && author === "" ? <Empty icon={<CircleCheckBig />} title={t`Nothing is open`}><Trans>New reports stand here as soon as somebody makes one.</Trans></Empty> : <Empty icon={<CircleCheckBig />} title={t`No reports`} />}>
        {(rows) => <ul className={s.reports} aria-label={t`Reports`}>{rows === undefined ? [1, 2, 3].map((n) => <li key={n} className={s.report}><Skeleton lines={3} /></li>) : rows.map((r) => <li key={r.id}><Card of={r} /></li>)}</ul>}
      </Pages>
    </Page>
  )
}

function Card({ of }: { of: Report }) {
  return (
    <article className={s.report}>
      <p className={s.reportHead}><PersonLink user={of.author ?? ""} /><ReasonTag of={of} /><StateTag of={of} /><When ms={Number(of.createdAtMs ?? 0)} /></p>
      <Link to={`/admin/reports/${of.id ?? ""}`} className={s.reportLink}><span className={s.said}>{of.said || <Trans>Nothing that can be read: a picture, a file.</Trans>}</span></Link>
      {(of.text ?? "") !== "" && <p className={s.wordsOf}>{of.text}</p>}
    </article>
  )
}

export function ReasonTag({ of }: { of: Report }) {
  const { t } = useLingui()
  const reasons: Readonly<Record<string, string>> = {
    REPORT_REASON_SPAM: t`Spam`, REPORT_REASON_ABUSE: t`Abuse`, REPORT_REASON_ILLEGAL: t`Illegal`, REPORT_REASON_OTHER: t`Other`, REPORT_REASON_FILTER: t`Breaks a rule`,
  }
  return <Tag tone={of.state === "REPORT_STATE_OPEN" ? "danger" : "quiet"}>{reasons[of.reason ?? ""] ?? t`Other`}</Tag>
}

export function StateTag({ of }: { of: Report }) {
  if (of.state === "REPORT_STATE_RESOLVED") return <Tag tone="success"><Trans>Resolved</Trans></Tag>
  if (of.state === "REPORT_STATE_DISMISSED") return <Tag><Trans>Dismissed</Trans></Tag>
  return null
}
