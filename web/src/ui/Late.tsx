import { cloneElement, useEffect, useRef, useState, useSyncExternalStore, type MouseEvent, type ReactElement, type ReactNode, type TouchEvent } from "react"
import type * as Parts from "./late/index.js"

/*
 * What opens above the page (dialogs, menus, popovers) comes from Base UI, and nobody needs it for the first sight of
 * the app. It is loaded when the page is at rest, or when somebody opens the first one, which then opens by itself.
 */

type Loaded = typeof Parts

let loaded: Loaded | undefined
let loading: Promise<void> | undefined
const listeners = new Set<() => void>()

/** Loads them. Where that fails, who opens one next tries again. */
export function loadLate(): Promise<void> {
  loading ??= import("./late/index.js").then(
    (m) => {
      loaded = m
      for (const f of [...listeners]) f()
    },
    () => void (loading = undefined),
  )
  return loading
}

function subscribe(f: () => void): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}

function useLate(now: boolean): Loaded | undefined {
  const parts = useSyncExternalStore(subscribe, () => loaded)
  useEffect(() => {
    if (now && parts === undefined) void loadLate()
  }, [now, parts])
  return parts
}

/** A trigger that opens what is not loaded yet: what was clicked opens when it is there. */
function useTrigger(trigger: ReactElement, open: boolean | undefined, change: ((open: boolean) => void) | undefined): { parts: Loaded | undefined; wanted: boolean; stand: ReactElement } {
  const [wanted, setWanted] = useState(false)
  const parts = useLate(wanted || open === true)
  const stand = cloneElement(trigger as ReactElement<{ onClick?: (e: MouseEvent) => void; "aria-haspopup"?: "true" }>, {
    "aria-haspopup": "true",
    onClick: () => {
      setWanted(true)
      change?.(true)
    },
  })
  // Until somebody wants it the button stays as it is: made anew it would lose the focus.
  return { parts: wanted || open === true ? parts : undefined, wanted, stand }
}

export function Menu(props: Parts.MenuProps) {
  const { parts, wanted, stand } = useTrigger(props.trigger, props.open, props.onOpenChange)
  return parts === undefined ? stand : <parts.Menu defaultOpen={wanted} {...props} />
}

export function Popover(props: Parts.PopoverProps) {
  const { parts, wanted, stand } = useTrigger(props.trigger, props.open, props.onOpenChange)
  return parts === undefined ? stand : <parts.Popover defaultOpen={wanted} {...props} />
}

export interface ContextMenuProps {
  children: ReactElement
  /** Nothing: then there is no menu. */
  menu: ReactNode
}

interface Hands {
  onContextMenu?: (e: MouseEvent<HTMLElement>) => void
  onTouchStart?: (e: TouchEvent) => void
  onTouchMove?: () => void
  onTouchEnd?: (e: TouchEvent) => void
  onTouchCancel?: () => void
}

/** A touch that stays so long opens the menu: not every browser says so itself. */
const longTouchMs = 500

/**
 * The second mouse button, a long touch or the menu key on what it is around. That stands in the page as it stands
 * without a menu: neither loading the menu nor opening it makes it anew.
 */
export function ContextMenu({ menu, children }: ContextMenuProps) {
  const [at, setAt] = useState<{ x: number; y: number } | undefined>(undefined)
  const parts = useLate(at !== undefined)
  const touch = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const none = menu === false || menu === undefined || menu === null
  useEffect(() => {
    if (at !== undefined && none) setAt(undefined)
  }, [at, none])
  const own = children.props as Hands
  const open = (x: number, y: number, on: Element): void => {
    // The menu key tells no place: then it is below what has the focus.
    const box = x === 0 && y === 0 ? on.getBoundingClientRect() : undefined
    setAt({ x: box?.left ?? x, y: box?.bottom ?? y })
  }
  const end = (): void => clearTimeout(touch.current)
  const hands: Hands = {
    onContextMenu: (e) => {
      own.onContextMenu?.(e)
      if (e.defaultPrevented) return
      e.preventDefault()
      end()
      open(e.clientX, e.clientY, e.target as Element)
    },
    onTouchStart: (e) => {
      own.onTouchStart?.(e)
      const one = e.touches[0]
      end()
      if (one === undefined || e.touches.length > 1) return
      const on = e.target as Element
      const { clientX, clientY } = one
      touch.current = setTimeout(() => on.dispatchEvent(new globalThis.MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX, clientY })), longTouchMs)
    },
    onTouchMove: end, onTouchCancel: end,
    onTouchEnd: (e) => {
      end()
      if (at !== undefined && e.cancelable) e.preventDefault() // or the tap would end it
    },
  }
  return (
    <>
      {cloneElement(children as ReactElement<Hands>, hands)}
      {at !== undefined && parts !== undefined && !none && <parts.MenuAt {...at} onClose={() => setAt(undefined)}>{menu}</parts.MenuAt>}
    </>
  )
}

export function Dialog(props: Parts.DialogProps) {
  const parts = useLate(props.open)
  return parts === undefined ? null : <parts.Dialog {...props} />
}

export function Confirm(props: Parts.ConfirmProps) {
  const parts = useLate(props.open)
  return parts === undefined ? null : <parts.Confirm {...props} />
}

// These stand in a menu that is open, so it is loaded.

export function MenuItem(props: Parts.MenuItemProps) {
  const parts = useLate(true)
  return parts === undefined ? null : <parts.MenuItem {...props} />
}

export function MenuCheck(props: Parts.MenuCheckProps) {
  const parts = useLate(true)
  return parts === undefined ? null : <parts.MenuCheck {...props} />
}

export function MenuTile(props: Parts.MenuTileProps) {
  const parts = useLate(true)
  return parts === undefined ? null : <parts.MenuTile {...props} />
}

export function MenuLine() {
  const parts = useLate(true)
  return parts === undefined ? null : <parts.MenuLine />
}

export function SubMenu(props: Parts.SubMenuProps) {
  const parts = useLate(true)
  return parts === undefined ? null : <parts.SubMenu {...props} />
}
