import { SkeinError } from "@skein-im/client"
import { Trans, useLingui } from "@lingui/react/macro"
import { CircleAlert, Info } from "lucide-react"
import type { ReactNode } from "react"
import { Button } from "./Button.js"
import { cx } from "./cx.js"
import { useWhy } from "./why.js"
import s from "./Notes.module.css"

/** There is nothing here, why, and what can be done about it. */
export function Empty({ icon, title, children, action }: { icon?: ReactNode; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={s.empty}>
      {icon !== undefined && <span className={s.sign}>{icon}</span>}
      <h2 className={s.title}>{title}</h2>
      {children !== undefined && <p className={s.about}>{children}</p>}
      {action}
    </div>
  )
}

/** What went wrong, and another try. */
export function ErrorNote({ error, onRetry, className }: { error: unknown; onRetry?: () => void; className?: string }) {
  const why = useWhy()
  const code = error instanceof SkeinError ? error.code : undefined
  return (
    <div className={cx(s.note, s.error, className)} role="alert">
      <CircleAlert aria-hidden="true" />
      <span className={s.words} data-code={code}>{why(error)}</span>
      {onRetry !== undefined && <Button look="quiet" onClick={onRetry}><Trans>Try again</Trans></Button>}
    </div>
  )
}

/** Something worth knowing. */
export function Note({ tone = "plain", children }: { tone?: "plain" | "warning" | "success"; children: ReactNode }) {
  return (
    <div className={cx(s.note, s[tone])}>
      <Info aria-hidden="true" />
      <span className={s.words}>{children}</span>
    </div>
  )
}

/** A whole pane that is being read; it says so after a moment only, so that quick ones do not flicker. */
export function Loading() {
  const { t } = useLingui()
  return <div className={s.loading} role="status" aria-label={t`Loading`}><span className={s.dots} aria-hidden="true"><i /><i /><i /></span></div>
}
