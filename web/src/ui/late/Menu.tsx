import { Menu as Base } from "@base-ui/react/menu"
import { Check } from "lucide-react"
import { useMemo, type ReactElement, type ReactNode } from "react"
import { cx } from "../cx.js"
import s from "./Menu.module.css"

export interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement
  /** MenuItem, MenuCheck, MenuLine. */
  children: ReactNode
  align?: "start" | "center" | "end"
  side?: "top" | "bottom" | "left" | "right"
  open?: boolean
  onOpenChange?: (open: boolean) => void
  defaultOpen?: boolean
}

export function Menu({ trigger, children, align = "end", side = "bottom", open, onOpenChange, defaultOpen = false }: MenuProps) {
  return (
    <Base.Root defaultOpen={defaultOpen} {...(open === undefined ? {} : { open })} {...(onOpenChange === undefined ? {} : { onOpenChange: (now: boolean) => onOpenChange(now) })}>
      <Base.Trigger render={trigger} />
      <Popup align={align} side={side}>{children}</Popup>
    </Base.Root>
  )
}

/** An open menu at a point of the page. */
export function MenuAt({ x, y, onClose, children }: { x: number; y: number; onClose: () => void; children: ReactNode }) {
  const anchor = useMemo(() => ({ getBoundingClientRect: () => new DOMRect(x, y, 0, 0) }), [x, y])
  return (
    <Base.Root open onOpenChange={(now) => { if (!now) onClose() }}>
      <Base.Portal>
        <Base.Positioner className={s.place} anchor={anchor} side="bottom" align="start" collisionPadding={8}>
          <Base.Popup className={s.menu}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

function Popup({ children, align, side }: { children: ReactNode; align?: "start" | "center" | "end"; side?: "top" | "bottom" | "left" | "right" }) {
  return (
    <Base.Portal>
      <Base.Positioner className={s.place} sideOffset={4} collisionPadding={8} {...(align === undefined ? {} : { align })} {...(side === undefined ? {} : { side })}>
        <Base.Popup className={s.menu}>{children}</Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  )
}

export interface MenuItemProps {
  icon?: ReactNode
  danger?: boolean
  disabled?: boolean
  keys?: string
  onClick?: () => void
  children: ReactNode
}

export function MenuItem({ icon, danger = false, disabled = false, keys, onClick, children }: MenuItemProps) {
  return (
    <Base.Item className={cx(s.item, danger && s.danger)} disabled={disabled} onClick={onClick}>
      {icon !== undefined && <span className={s.icon}>{icon}</span>}
      <span className={s.text}>{children}</span>
      {keys !== undefined && <kbd className={s.keys}>{keys}</kbd>}
    </Base.Item>
  )
}

export interface MenuCheckProps {
  checked: boolean
  onChange: (now: boolean) => void
  children: ReactNode
}

export function MenuCheck({ checked, onChange, children }: MenuCheckProps) {
  return (
    <Base.CheckboxItem className={s.item} checked={checked} onCheckedChange={(now) => onChange(now)} closeOnClick>
      <span className={s.icon}>{checked && <Check />}</span>
      <span className={s.text}>{children}</span>
    </Base.CheckboxItem>
  )
}

export interface MenuTileProps {
  label: string
  className?: string | undefined
  onClick: () => void
  children: ReactNode
}

/** One that has its own look: an emoji in a row of them. */
export function MenuTile({ label, className, onClick, children }: MenuTileProps) {
  return <Base.Item className={className} aria-label={label} onClick={onClick}>{children}</Base.Item>
}

export function MenuLine() {
  return <Base.Separator className={s.line} />
}

/** A menu in a menu. */
export interface SubMenuProps {
  icon?: ReactNode
  label: string
  children: ReactNode
}

export function SubMenu({ icon, label, children }: SubMenuProps) {
  return (
    <Base.SubmenuRoot>
      <Base.SubmenuTrigger className={s.item}>
        {icon !== undefined && <span className={s.icon}>{icon}</span>}
        <span className={s.text}>{label}</span>
        <span aria-hidden="true" className={s.keys}>›</span>
      </Base.SubmenuTrigger>
      <Popup>{children}</Popup>
    </Base.SubmenuRoot>
  )
}
