import { Link } from "wouter"
import s from "./Admin.module.css"
import type { Place } from "./audit.js"
import { PersonLink } from "./parts.js"

/** What something was done to: a link to its page, if it has one. */
export function Target({ of }: { of: Place | undefined }) {
  switch (of?.t) {
    case undefined:
      return <span className={s.faint}>—</span>
    case "user":
      return <PersonLink user={of.id} />
    case "group":
      return <Link to={`/admin/groups/${of.id}`} className={`${s.mono} ${s.id}`}>{of.id}</Link>
    case "report":
      return <Link to={`/admin/reports/${of.id}`} className={`${s.mono} ${s.id}`}>{of.id}</Link>
    case "other":
      return <span className={`${s.mono} ${s.id}`}>{of.id}</span>
  }
}
