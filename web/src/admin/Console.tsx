import { Trans, useLingui } from "@lingui/react/macro"
import { useConnection } from "@skein-im/react"
import { ArrowLeft, ChevronRight, Flag, Gauge, HeartPulse, Link2, ListFilter, Megaphone, ScrollText, ShieldCheck, Smile, Store, Timer, Users as UsersSign, UsersRound } from "lucide-react"
import type { ComponentType, ReactNode } from "react"
import { Link } from "wouter"
import s from "../settings/Settings.module.css"
import { Empty, ErrorNote, Loading } from "../ui/index.js"
import { isPage, may, pages, type PageName } from "./access.js"
import a from "./Admin.module.css"
import { Announcements } from "./Announcements.js"
import { Audit } from "./Audit.js"
import { FilterRules } from "./FilterRules.js"
import { GroupPage } from "./GroupPage.js"
import { Groups } from "./Groups.js"
import { HealthPage } from "./HealthPage.js"
import { Links } from "./Links.js"
import { Overview } from "./Overview.js"
import { Page, useRoleName } from "./parts.js"
import { Place } from "./Place.js"
import { ReportPage } from "./ReportPage.js"
import { Reports } from "./Reports.js"
import { Retention } from "./Retention.js"
import { StickerPacks } from "./StickerPacks.js"
import { Offline } from "./Table.js"
import { useMe } from "./useRole.js"
import { UserPage } from "./UserPage.js"
import { Users } from "./Users.js"

const bodies: Readonly<Record<PageName, ComponentType>> = {
  overview: Overview, health: HealthPage, users: Users, groups: Groups, reports: Reports, audit: Audit, links: Links, filters: FilterRules, announcements: Announcements, place: Place, retention: Retention, stickers: StickerPacks,
}

/** What can be opened in a list. */
const single: Readonly<Partial<Record<PageName, ComponentType<{ id: string }>>>> = { users: UserPage, groups: GroupPage, reports: ReportPage }

/** The console: its pages, of which each role sees those that it may use. Where there is room for one thing only, /admin is their list. */
export function Console({ page, id }: { page: string; id: string | undefined }) {
  const me = useMe(true)
  const { t } = useLingui()
  const offline = useConnection().state !== "connected"
  if (me.role === undefined) return me.error === undefined ? offline ? <Offline /> : <Loading /> : <div className={a.page}><ErrorNote error={me.error} onRetry={me.ask} /></div>
  if (!may(me.role, "look")) return <Page title={t`Administration`}><Empty icon={<ShieldCheck />} title={t`For administrators`}><Trans>You have no role on this server. An owner can give you one.</Trans></Empty></Page>
  const shown = page === "" ? "overview" : page
  return (
    <div className={s.room}>
      <div className={s.inner} data-at={page === "" ? "nav" : "page"}>
        <Nav page={shown} />
        <div className={s.scroll}>{isPage(shown) ? <Shown key={`${shown} ${id ?? ""}`} page={shown} id={id} /> : <Page title={t`Page not found`}>{null}</Page>}</div>
      </div>
    </div>
  )
}

function Shown({ page, id }: { page: PageName; id: string | undefined }) {
  const { t } = useLingui()
  const { role } = useMe()
  const name = useRoleName()
  if (!may(role, pages[page])) {
    return <Page title={t`Administration`}><Empty icon={<ShieldCheck />} title={t`Not for your role`}><Trans>Your role here is: {name(role)}. It doesn’t include this page.</Trans></Empty></Page>
  }
  const One = single[page]
  if (id !== undefined) return One === undefined ? <Page title={t`Page not found`}>{null}</Page> : <One id={id} />
  const Body = bodies[page]
  return <Body />
}

function Nav({ page }: { page: string }) {
  const { t } = useLingui()
  const { role } = useMe()
  const name = useRoleName()
  const way = (to: PageName, icon: ReactNode, label: string): ReactNode => may(role, pages[to]) && (
    <Link key={to} href={`/admin/${to}`} className={s.way} aria-current={page === to ? "page" : undefined}>
      {icon}<span className={s.wayText}>{label}</span><ChevronRight className={s.chevron} aria-hidden="true" />
    </Link>
  )
  return (
    <nav className={s.nav} aria-label={t`Administration`}>
      <h1 className={s.navTitle}><Trans>Administration</Trans></h1>
      <p className={s.navRole}><Trans>Your role: {name(role)}</Trans></p>
      {way("overview", <Gauge />, t`Overview`)}
      {way("health", <HeartPulse />, t`Health`)}
      <h2 className={s.navGroup}><Trans context="part of the console">People</Trans></h2>
      {way("users", <UsersSign />, t`Users`)}
      {way("groups", <UsersRound />, t`Groups`)}
      {way("links", <Link2 />, t`Invitations`)}
      <h2 className={s.navGroup}><Trans>Safety</Trans></h2>
      {way("reports", <Flag />, t`Reports`)}
      {way("filters", <ListFilter />, t`Filters`)}
      {way("audit", <ScrollText />, t`Audit log`)}
      {way("retention", <Timer />, t`Retention`)}
      {may(role, "manage") && <h2 className={s.navGroup}><Trans>This server</Trans></h2>}
      {way("place", <Store />, t`Server settings`)}
      {way("announcements", <Megaphone />, t`Announcements`)}
      {way("stickers", <Smile />, t`Stickers`)}
      <span className={s.navSpace} />
      <Link href="/settings" className={s.way}><ArrowLeft /><span className={s.wayText}><Trans>Settings</Trans></span></Link>
    </nav>
  )
}
