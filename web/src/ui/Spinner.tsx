import { useLingui } from "@lingui/react/macro"
import { cx } from "./cx.js"
import s from "./Spinner.module.css"

/** Something is under way. Who shows it sees to it that it ends. */
export function Spinner({ small = false, label }: { small?: boolean; label?: string }) {
  const { t } = useLingui()
  return <span className={cx(s.spinner, small && s.small)} role="status" aria-label={label ?? t`Loading`} />
}

/** Lines that stand where text will be. */
export function Skeleton({ lines = 1, round = false, width }: { lines?: number; round?: boolean; width?: string }) {
  if (round) return <span className={cx(s.bone, s.round)} aria-hidden="true" />
  return (
    <span className={s.bones} aria-hidden="true" style={width === undefined ? undefined : { inlineSize: width }}>
      {Array.from({ length: lines }, (_, i) => <span key={i} className={s.bone} />)}
    </span>
  )
}
