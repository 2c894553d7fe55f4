import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Dialog as Base } from "@base-ui/react/dialog"
import { Trans, useLingui } from "@lingui/react/macro"
import { X } from "lucide-react"
import { useState, type ReactNode } from "react"
import { Button, IconButton } from "../Button.js"
import { cx } from "../cx.js"
import { ErrorNote } from "../Notes.js"
import s from "./Dialog.module.css"

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: string
  /** A line below the title. */
  about?: ReactNode
  children?: ReactNode
  /** The buttons below, the main one last. */
  actions?: ReactNode
  size?: "s" | "m" | "l"
}

/** A window above the page; on a phone it comes from below. Esc and a tap outside close it. */
export function Dialog({ open, onClose, title, about, children, actions, size = "m" }: DialogProps) {
  const { t } = useLingui()
  return (
    <Base.Root open={open} onOpenChange={(now) => { if (!now) onClose() }}>
      <Base.Portal>
        <Base.Backdrop className={s.backdrop} />
        <Base.Viewport className={s.viewport}>
          <Base.Popup className={cx(s.dialog, s[size])}>
            <header className={s.head}>
              <div className={s.titles}>
                <Base.Title className={s.title}>{title}</Base.Title>
                {about !== undefined && <Base.Description className={s.about}>{about}</Base.Description>}
              </div>
              <Base.Close render={<IconButton label={t`Close`} tooltip={false}><X /></IconButton>} />
            </header>
            {children !== undefined && <div className={s.body}>{children}</div>}
            {actions !== undefined && <footer className={s.actions}>{actions}</footer>}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  )
}

export interface ConfirmProps {
  open: boolean
  onClose: () => void
  title: string
  children?: ReactNode
  /** What the button does: "Leave the group". */
  action: string
  danger?: boolean
  /** Closes the dialog when it resolves; what it rejects with is shown. */
  onConfirm: () => void | Promise<void>
}

/** Asks before something that is hard to undo. */
export function Confirm({ open, onClose, title, children, action, danger = false, onConfirm }: ConfirmProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const close = (): void => { setError(undefined); onClose() }
  const run = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      close()
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <AlertDialog.Root open={open} onOpenChange={(now) => { if (!now) close() }}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={s.backdrop} />
        <AlertDialog.Viewport className={s.viewport}>
          <AlertDialog.Popup className={cx(s.dialog, s.s)}>
            <header className={s.head}><AlertDialog.Title className={s.title}>{title}</AlertDialog.Title></header>
            <AlertDialog.Description className={s.body} render={<div />}>{children}</AlertDialog.Description>
            {error !== undefined && <div className={s.body}><ErrorNote error={error} /></div>}
            <footer className={s.actions}>
              <AlertDialog.Close render={<Button><Trans>Cancel</Trans></Button>} />
              <Button look={danger ? "danger" : "primary"} busy={busy} onClick={() => void run()}>{action}</Button>
            </footer>
          </AlertDialog.Popup>
        </AlertDialog.Viewport>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
