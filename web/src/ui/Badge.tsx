import { cx } from "./cx.js"
import s from "./Badge.module.css"

/** A number of what is new; above 999 it says so. quiet: of something muted. */
export function Badge({ count, quiet = false, label }: { count: number; quiet?: boolean; label: string }) {
  if (count <= 0) return null
  return (
    <span className={cx(s.badge, quiet && s.quiet)}>
      <span aria-hidden="true">{count > 999 ? "999+" : count}</span>
      <span className="visually-hidden">{label}</span>
    </span>
  )
}

/** A mark without a number: there is something. */
export function Dot({ label }: { label: string }) {
  return <span className={s.dot}><span className="visually-hidden">{label}</span></span>
}

/** A word about something: admin, guest, draft. */
export function Tag({ tone = "quiet", children }: { tone?: "quiet" | "accent" | "danger" | "success" | "warning"; children: React.ReactNode }) {
  return <span className={cx(s.tag, s[`tag-${tone}`])}>{children}</span>
}
