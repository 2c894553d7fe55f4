import { Trans, useLingui } from "@lingui/react/macro"
import { SkeinError } from "@skein-im/client"
import { useUser } from "@skein-im/react"
import { ChevronLeft } from "lucide-react"
import { useEffect, useRef, type ReactNode } from "react"
import { Link } from "wouter"
import { dayName, momentOf, timeOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { cx, ErrorNote, Note, Tag } from "../ui/index.js"
import type { Role } from "./access.js"
import type { Account } from "./accounts.js"
import s from "./Admin.module.css"

/** A page of the console: a title, what is done here, and what it shows. */
export function Page({ title, about, actions, back = "/admin", narrow = false, children }: { title: ReactNode; about?: ReactNode; actions?: ReactNode; back?: string; narrow?: boolean; children: ReactNode }) {
  const { t } = useLingui()
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // Who came by a link that is gone stands nowhere: a screen reader goes on at the title.
    if (document.activeElement === document.body) head.current?.focus({ preventScroll: true })
  }, [])
  return (
    <div className={cx(s.page, narrow && s.narrow)}>
      <header className={s.head}>
        <Link to={back} className={cx(s.back, back === "/admin" && s.home)} aria-label={t`Back`}><ChevronLeft aria-hidden="true" /></Link>
        <h1 ref={head} tabIndex={-1} className={s.title}>{title}</h1>
        {actions !== undefined && <div className={s.actions}>{actions}</div>}
      </header>
      {about !== undefined && <p className={s.lead}>{about}</p>}
      {children}
    </div>
  )
}

/** Names and what they are, in two columns where there is room. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return <dl className={s.facts}>{of.map(([name, value]) => <div key={name} className={s.fact}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
}

/** What a role is called. */
export function useRoleName(): (role: Role | undefined) => string {
  const { t } = useLingui()
  return (role) => {
    switch (role) {
      case "SERVER_ROLE_OWNER":
        return t({ context: "server role", message: "Owner" })
      case "SERVER_ROLE_ADMIN":
        return t({ context: "server role", message: "Admin" })
      case "SERVER_ROLE_MODERATOR":
        return t({ context: "server role", message: "Moderator" })
      case "SERVER_ROLE_AUDITOR":
        return t({ context: "server role", message: "Auditor" })
      default:
        return t({ context: "server role", message: "No role" })
    }
  }
}

export function RoleTag({ role }: { role: Role | undefined }) {
  const name = useRoleName()
  if (role === undefined || role === "SERVER_ROLE_UNSPECIFIED") return null
  return <Tag tone="accent">{name(role)}</Tag>
}

/** What became of an account; nothing where it is as any. */
export function StateTag({ of }: { of: Account }) {
  switch (of.state) {
    case "ACCOUNT_STATE_BANNED":
      return <Tag tone="danger"><Trans>Banned</Trans></Tag>
    case "ACCOUNT_STATE_DISABLED":
      return <Tag tone="warning"><Trans>Disabled</Trans></Tag>
    case "ACCOUNT_STATE_DELETED":
      return <Tag><Trans>Deleted</Trans></Tag>
    default:
      return of.user?.guest === true ? <Tag><Trans>Guest</Trans></Tag> : null
  }
}

/** Somebody, in a table or a sentence: leads to their page. */
export function PersonLink({ user, quiet = false }: { user: string; quiet?: boolean }) {
  const u = useUser(user)
  const name = u === undefined ? user : nameOf(u)
  return (
    <Link to={`/admin/users/${user}`} className={cx(s.person, quiet && s.quietLink)}>
      {!quiet && <PersonAvatar user={user} size="xs" />}
      <bdi className={s.cut}>{name}</bdi>
    </Link>
  )
}

/** Today with its time, another day with its name; the whole moment for who points at it. */
export function When({ ms }: { ms: number }) {
  if (ms === 0) return <span className={s.faint}>—</span>
  return <time dateTime={new Date(ms).toISOString()} title={momentOf(ms)} className={s.when}>{dayName(ms)}, {timeOf(ms)}</time>
}

/** Why something was not done. Where one may not, it says why in the words of this place, if there are any. */
export function Refusal({ error, denied }: { error: unknown; denied?: string }) {
  const { t } = useLingui()
  if (error === undefined) return null
  if (error instanceof SkeinError && error.code === "permission_denied") return <div role="alert"><Note tone="warning">{denied ?? t`Your role doesn’t allow this. Nothing was changed.`}</Note></div>
  return <ErrorNote error={error} />
}
