import { plural } from "@lingui/core/macro"
import { useLingui } from "@lingui/react/macro"
import { MessagesSquare, Search, Settings, Users } from "lucide-react"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { Brand } from "../ui/Brand.js"
import { useAsking } from "../people/book.js"
import { Badge, cx } from "../ui/index.js"
import type { Place } from "./place.js"
import s from "./Rail.module.css"

/** The way between the rooms: at the side, on a phone below. */
export function Rail({ place }: { place: Place }) {
  const { t } = useLingui()
  const asking = useAsking()
  const top = place.room === "start" || place.room === "search" || place.room === "nothing" || (place.room === "people" && place.user === undefined) || (place.room === "settings" && place.page === "")
  return (
    <nav className={cx(s.rail, top && s.top)} aria-label={t`Main navigation`}>
      <Brand className={s.brand} />
      <Way to="/" label={t`Chats`} at={place.room === "start" || place.room === "conversation"}><MessagesSquare /></Way>
      <Way to="/people" label={t`People`} at={place.room === "people"} mark={asking > 0 && <span className={s.mark}><Badge count={asking} label={plural(asking, { one: "# contact request", other: "# contact requests" })} /></span>}><Users /></Way>
      <Way to="/search" label={t`Search`} at={place.room === "search"}><Search /></Way>
      <span className={s.space} />
      <Way to="/settings" label={t`Settings`} at={place.room === "settings" || place.room === "admin"}><Settings /></Way>
    </nav>
  )
}

function Way({ to, label, at, mark, children }: { to: string; label: string; at: boolean; mark?: ReactNode; children: ReactNode }) {
  return (
    <Link to={to} className={cx(s.way, at && s.at)} aria-current={at ? "page" : undefined}>
      {children}
      {mark}
      <span className={s.label}>{label}</span>
    </Link>
  )
}
