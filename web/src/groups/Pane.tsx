import { useLingui } from "@lingui/react/macro"
import { ArrowLeft, X } from "lucide-react"
import type { ReactNode } from "react"
import { cx, IconButton } from "../ui/index.js"
import s from "./Groups.module.css"

/** A page of the pane of details: back to the one before, or closed. */
export function Pane({ title, onBack, onClose, end, children }: { title: string; onBack?: () => void; onClose?: () => void; end?: ReactNode; children: ReactNode }) {
  const { t } = useLingui()
  return (
    <div className={s.pane}>
      <header className={s.head}>
        {onBack !== undefined && <IconButton label={t`Back`} onClick={onBack}><ArrowLeft /></IconButton>}
        {onClose !== undefined && <IconButton label={t`Close`} onClick={onClose}><X /></IconButton>}
        <h1 className={s.title}>{title}</h1>
        {end}
      </header>
      <div className={s.body}>{children}</div>
    </div>
  )
}

/** A line that leads somewhere, or does something. */
export function Way({ icon, end, about, danger = false, disabled = false, onClick, children }: { icon: ReactNode; end?: ReactNode; about?: ReactNode; danger?: boolean; disabled?: boolean; onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className={cx(s.way, danger && s.bad)} disabled={disabled} onClick={onClick}>
      {icon}
      <span className={s.wayWords}><span>{children}</span>{about !== undefined && <span className={s.quiet}>{about}</span>}</span>
      {end !== undefined && <span className={s.wayEnd}>{end}</span>}
    </button>
  )
}
