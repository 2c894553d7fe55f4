import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Ban, DoorOpen, Flag, HeartPulse, KeyRound, MessagesSquare, ShieldCheck, Store, Users } from "lucide-react"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { useLoad } from "../settings/useLoad.js"
import { momentOf } from "../timeline/format.js"
import { ErrorNote, Skeleton, Tag } from "../ui/index.js"
import { may, type Role } from "./access.js"
import { actOf } from "./acts.js"
import s from "./Admin.module.css"
import { targetOf } from "./audit.js"
import { stateOf, type Health, type Tone } from "./health.js"
import { Page, PersonLink, When } from "./parts.js"
import { Target } from "./Target.js"
import { useCall, useMe } from "./useRole.js"

/** So many are counted at most: a glance is no census. */
const most = 100
const day = 86_400_000

/** How this place is doing, at a glance: what waits for somebody, and what was done last. */
export function Overview() {
  const { t } = useLingui()
  const { role, version } = useMe()
  return (
    <Page title={t`Overview`}>
      <div className={s.stats}>
        <Glance version={version} />
        {may(role, "moderate") && <OpenReports />}
        {may(role, "audit") && <FailedSignIns />}
        <Counted icon={<Ban />} label={t`Banned users`} to="/admin/users?view=banned" asked={{ state: "ACCOUNT_STATE_BANNED" }} />
        <Counted icon={<ShieldCheck />} label={t`Users with a role`} to="/admin/users?view=roles" asked={{ withRole: true }} />
        <Registration role={role} />
      </div>
      {may(role, "audit") && <Latest />}
    </Page>
  )
}

interface StatProps {
  icon: ReactNode
  label: string
  value: ReactNode
  about?: ReactNode
  tone?: "danger" | "warning" | "success" | undefined
  /** It is a word, no number. */
  word?: boolean
  to?: string
  error?: unknown
  onRetry?: () => void
}

function Stat({ icon, label, value, about, tone, word = false, to, error, onRetry }: StatProps) {
  const body = (
    <>
      <span className={s.statHead}>{icon}{label}</span>
      {error !== undefined ? <ErrorNote error={error} {...(onRetry === undefined ? {} : { onRetry })} /> : <span className={word ? `${s.statValue} ${s.statWord}` : s.statValue} data-tone={tone}>{value ?? <Skeleton width="60px" />}</span>}
      {about !== undefined && error === undefined && <span className={s.statAbout}>{about}</span>}
    </>
  )
  return to === undefined || error !== undefined ? <div className={s.stat}>{body}</div> : <Link to={to} className={s.stat}>{body}</Link>
}

/** The health of the node that answers, in three figures. */
function Glance({ version }: { version: string }) {
  const { t, i18n } = useLingui()
  const call = useCall()
  const read = useLoad(async (signal) => (await call("skein.v1.AdminService/GetHealth", {}, { signal })).health ?? {} as Health)
  const h = read.data
  const words: Record<Tone, string> = { success: t`All is well`, warning: t`Needs a look`, danger: t`Something is wrong` }
  const state = h === undefined ? undefined : stateOf(h, Date.now())
  return (
    <>
      <Stat icon={<HeartPulse />} label={t`Health`} word to="/admin/health" value={state === undefined ? undefined : words[state]} tone={state} error={read.error} onRetry={read.reload} about={version === "" ? undefined : <Trans>Version {version}</Trans>} />
      <Stat icon={<Users />} label={t`Users online`} to="/admin/health" value={h === undefined ? undefined : i18n.number(h.usersOnline ?? 0)} error={read.error} onRetry={read.reload} about={h === undefined ? undefined : <Plural value={h.connections ?? 0} one="# connection" other="# connections" />} />
      <Stat icon={<MessagesSquare />} label={t`Messages a minute`} to="/admin/health" value={h === undefined ? undefined : i18n.number(Number(h.storedPerMinute ?? 0))} error={read.error} onRetry={read.reload} about={h === undefined ? undefined : <Trans>{i18n.number(Number(h.stored ?? 0))} since it began</Trans>} />
    </>
  )
}

const upTo = (n: number, more: boolean): string => (more ? `${n}+` : String(n))

function OpenReports() {
  const { t } = useLingui()
  const call = useCall()
  const read = useLoad(async (signal) => {
    const page = await call("skein.v1.AdminService/ListReports", { state: "REPORT_STATE_OPEN", limit: most }, { signal })
    return { n: page.reports?.length ?? 0, more: (page.next ?? "") !== "", oldest: Number(page.reports?.at(-1)?.createdAtMs ?? 0) }
  })
  const { data } = read
  return (
    <Stat icon={<Flag />} label={t`Open reports`} to="/admin/reports" value={data === undefined ? undefined : upTo(data.n, data.more)} tone={data !== undefined && data.n > 0 ? "danger" : undefined} error={read.error} onRetry={read.reload}
      about={data === undefined ? undefined : data.n === 0 ? t`Nothing waits for you.` : data.more ? undefined : <Trans>The oldest of {momentOf(data.oldest)}</Trans>} />
  )
}

function FailedSignIns() {
  const { t } = useLingui()
  const call = useCall()
  const read = useLoad(async (signal) => {
    const page = await call("skein.v1.AdminService/ListAuditLog", { kind: "AUDIT_KIND_SIGN_IN", failed: true, fromMs: String(Date.now() - day), limit: 1000 }, { signal })
    return { n: (page.entries ?? []).reduce((n, e) => n + Math.max(1, e.times ?? 1), 0), more: (page.next ?? "") !== "" }
  })
  return <Stat icon={<KeyRound />} label={t`Failed sign-ins`} to="/admin/audit?kind=sign-in&failed=1&span=day" value={read.data === undefined ? undefined : upTo(read.data.n, read.data.more)} error={read.error} onRetry={read.reload} about={t`Within 24 hours`} />
}

function Counted({ icon, label, to, asked }: { icon: ReactNode; label: string; to: string; asked: { state: "ACCOUNT_STATE_BANNED" } | { withRole: true } }) {
  const call = useCall()
  const read = useLoad(async (signal) => {
    const page = await call("skein.v1.AdminService/ListUsers", { ...asked, limit: most }, { signal })
    return { n: page.accounts?.length ?? 0, more: (page.next ?? "") !== "" }
  })
  return <Stat icon={icon} label={label} to={to} value={read.data === undefined ? undefined : upTo(read.data.n, read.data.more)} error={read.error} onRetry={read.reload} />
}

function Registration({ role }: { role: Role | undefined }) {
  const { t } = useLingui()
  const call = useCall()
  const read = useLoad(async (signal) => (await call("skein.v1.AccountService/GetServerInfo", {}, { signal })).info)
  const modes: Readonly<Record<string, string>> = { REGISTRATION_MODE_OPEN: t`Everybody`, REGISTRATION_MODE_INVITATION: t`By invitation`, REGISTRATION_MODE_CLOSED: t`Nobody` }
  const open = read.data?.registration === "REGISTRATION_MODE_OPEN"
  return (
    <Stat icon={open ? <DoorOpen /> : <Store />} label={t`Who can register`} word value={read.data === undefined ? undefined : modes[read.data.registration ?? ""] ?? "—"} tone={open ? "warning" : undefined} error={read.error} onRetry={read.reload}
      {...(may(role, "manage") ? { to: "/admin/place" } : {})} about={open ? t`Whoever reaches this server makes an account.` : undefined} />
  )
}

/** The last acts of administrators. */
function Latest() {
  const { t } = useLingui()
  const call = useCall()
  const read = useLoad(async (signal) => (await call("skein.v1.AdminService/ListAuditLog", { kind: "AUDIT_KIND_ADMIN", limit: 8 }, { signal })).entries ?? [])
  return (
    <section className={s.section}>
      <div className={s.sectionHead}><h2><Trans>Last acts</Trans></h2><Link to="/admin/audit"><Trans>Audit log</Trans></Link></div>
      {read.error !== undefined && <ErrorNote error={read.error} onRetry={read.reload} />}
      <ul className={s.latest} aria-label={t`Last acts`}>
        {read.data === undefined && read.error === undefined && [1, 2, 3].map((n) => <li key={n} className={s.act}><Skeleton width="50%" /></li>)}
        {read.data?.map((l) => (
          <li key={`${l.atMs} ${l.id}`} className={s.act}>
            <span className={s.actWords}>
              <span className={s.actName}>{actOf(l)}{(l.code ?? "") !== "" && <Tag tone="danger">{l.code}</Tag>}</span>
              <span className={s.actWho}>{(l.by ?? "") === "" ? <Trans>The admin key</Trans> : <PersonLink user={l.by ?? ""} />}{targetOf(l) !== undefined && <><span aria-hidden="true">→</span><Target of={targetOf(l)} /></>}</span>
            </span>
            <span className={s.below}><When ms={Number(l.atMs ?? 0)} /></span>
          </li>
        ))}
        {read.data?.length === 0 && <li className={s.act}><Trans>Nothing yet.</Trans></li>}
      </ul>
    </section>
  )
}
