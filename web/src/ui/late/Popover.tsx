import { Popover as Base } from "@base-ui/react/popover"
import type { ReactElement, ReactNode } from "react"
import s from "./Popover.module.css"

export interface PopoverProps {
  trigger: ReactElement
  /** Its name for a screen reader. */
  label: string
  children: ReactNode
  align?: "start" | "center" | "end"
  side?: "top" | "bottom" | "left" | "right"
  open?: boolean
  onOpenChange?: (open: boolean) => void
  defaultOpen?: boolean
}

/** Something small beside the button that opened it: emoji, a choice of dates. */
export function Popover({ trigger, label, children, align = "center", side = "top", open, onOpenChange, defaultOpen = false }: PopoverProps) {
  return (
    <Base.Root defaultOpen={defaultOpen} {...(open === undefined ? {} : { open })} {...(onOpenChange === undefined ? {} : { onOpenChange: (now: boolean) => onOpenChange(now) })}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className={s.place} align={align} side={side} sideOffset={6} collisionPadding={8}>
          <Base.Popup className={s.popover} aria-label={label}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
