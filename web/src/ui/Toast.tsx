import { Toast as Base } from "@base-ui/react/toast"
import { useLingui } from "@lingui/react/macro"
import { X } from "lucide-react"
import type { ReactNode } from "react"
import { IconButton } from "./Button.js"
import { cx } from "./cx.js"
import s from "./Toast.module.css"

const manager = Base.createToastManager()

export interface ToastOptions {
  tone?: "plain" | "error"
  /** A button in it: undo. */
  action?: { label: string; run: () => void }
}

/** Says something in passing, from anywhere. What must not be missed does not belong here. */
export function toast(text: string, { tone = "plain", action }: ToastOptions = {}): void {
  const id = manager.add({
    title: text, type: tone, timeout: action === undefined ? 4000 : 7000, priority: tone === "error" ? "high" : "low",
    ...(action === undefined ? {} : { actionProps: { children: action.label, onClick: () => { manager.close(id); action.run() } } }),
  })
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Base.Provider toastManager={manager} limit={3}>
      {children}
      <Base.Portal><Base.Viewport className={s.viewport}><List /></Base.Viewport></Base.Portal>
    </Base.Provider>
  )
}

function List() {
  const { t } = useLingui()
  const { toasts } = Base.useToastManager()
  return toasts.map((one) => (
    <Base.Root key={one.id} toast={one} className={cx(s.toast, one.type === "error" && s.error)} swipeDirection={["down", "right"]}>
      <Base.Title className={s.text} render={<p />} />
      {one.actionProps !== undefined && <Base.Action className={s.action} />}
      <Base.Close render={<IconButton small label={t`Close`} tooltip={false}><X /></IconButton>} />
    </Base.Root>
  ))
}
