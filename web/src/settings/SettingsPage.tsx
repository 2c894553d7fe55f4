import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useUser } from "@skein-im/react"
import { Bell, Bookmark, CalendarClock, ChevronRight, Info, KeyRound, LogOut, MonitorSmartphone, Palette, ServerCog, ShieldCheck, Smile, UserRound } from "lucide-react"
import { useState, type ComponentType, type ReactNode } from "react"
import { Link } from "wouter"
import { may } from "../admin/access.js"
import { useRole } from "../admin/useRole.js"
import { logOut } from "../client.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { nameOf } from "../timeline/names.js"
import { Confirm, Empty } from "../ui/index.js"
import { AboutPage } from "./AboutPage.js"
import { Account } from "./Account.js"
import { Appearance } from "./Appearance.js"
import { Devices } from "./Devices.js"
import { Notifications } from "./Notifications.js"
import { Privacy } from "./Privacy.js"
import { Profile } from "./Profile.js"
import { Scheduled } from "./Scheduled.js"
import { Stickers } from "./Stickers.js"
import s from "./Settings.module.css"

const pages: Readonly<Record<string, ComponentType>> = {
  profile: Profile, account: Account, devices: Devices, privacy: Privacy, notifications: Notifications, appearance: Appearance,
  scheduled: Scheduled, stickers: Stickers, about: AboutPage,
}

/** The settings: their list, and one page of them. Where there is room for one only, /settings is the list. */
export function SettingsPage({ page }: { page: string }) {
  const { t } = useLingui()
  const shown = page === "" ? "profile" : page
  const Body = pages[shown]
  return (
    <div className={s.room}>
      <div className={s.inner} data-at={page === "" ? "nav" : "page"}>
        <Nav page={page} />
        <div className={s.scroll}>
          {Body === undefined ? <Empty title={t`Page not found`} /> : <Body key={shown} />}
        </div>
      </div>
    </div>
  )
}

function Nav({ page }: { page: string }) {
  const { t } = useLingui()
  const staff = may(useRole(), "look")
  const client = useClient()
  const me = useUser(client.user)
  const [leaving, setLeaving] = useState(false)
  const at = page === "" ? "profile" : page
  const way = (to: string, icon: ReactNode, label: string): ReactNode => (
    <Link key={to} href={`/settings/${to}`} className={s.way} aria-current={at === to ? "page" : undefined}>
      {icon}<span className={s.wayText}>{label}</span><ChevronRight className={s.chevron} aria-hidden="true" />
    </Link>
  )
  return (
    <nav className={s.nav} aria-label={t`Settings`}>
      <h1 className={s.navTitle}><Trans>Settings</Trans></h1>
      <Link href="/settings/profile" className={s.me}>
        <PersonAvatar user={client.user} size="m" />
        <span className={s.words}><bdi>{nameOf(me)}</bdi>{(me?.username ?? "") !== "" && <span className={s.quiet}>{me?.username}</span>}</span>
      </Link>
      {way("profile", <UserRound />, t`Profile`)}
      {way("account", <KeyRound />, t`Account`)}
      {way("devices", <MonitorSmartphone />, t`Devices`)}
      {way("privacy", <ShieldCheck />, t`Privacy`)}
      {way("notifications", <Bell />, t`Notifications`)}
      {way("appearance", <Palette />, t`Appearance`)}
      {way("stickers", <Smile />, t`Stickers`)}
      {way("scheduled", <CalendarClock />, t`Scheduled`)}
      <Link href={`/c/dm:${client.user}:${client.user}`} className={s.way}><Bookmark /><span className={s.wayText}><Trans>Saved messages</Trans></span><ChevronRight className={s.chevron} aria-hidden="true" /></Link>
      {way("about", <Info />, t`About`)}
      {staff && (
        <>
          <h2 className={s.navGroup}><Trans>This server</Trans></h2>
          <Link href="/admin" className={s.way}><ServerCog /><span className={s.wayText}><Trans>Administration</Trans></span><ChevronRight className={s.chevron} aria-hidden="true" /></Link>
        </>
      )}
      <button type="button" className={`${s.way} ${s.leave}`} onClick={() => setLeaving(true)}><LogOut /><span className={s.wayText}><Trans>Log out</Trans></span></button>
      <Confirm open={leaving} onClose={() => setLeaving(false)} danger title={t`Log out here?`} action={t`Log out`} onConfirm={logOut}>
        <Trans>Messages stored in this browser are removed. Unsent messages are lost.</Trans>
      </Confirm>
    </nav>
  )
}
