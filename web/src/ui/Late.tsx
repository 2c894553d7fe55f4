import { cloneElement, useEffect, useState, useSyncExternalStore, type MouseEvent, type ReactElement } from "react"
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
  return { parts, wanted, stand }
}

export function Menu(props: Parts.MenuProps) {
  const { parts, wanted, stand } = useTrigger(props.trigger, props.open, props.onOpenChange)
  return parts === undefined ? stand : <parts.Menu defaultOpen={wanted} {...props} />
}

export function Popover(props: Parts.PopoverProps) {
  const { parts, wanted, stand } = useTrigger(props.trigger, props.open, props.onOpenChange)
  return parts === undefined ? stand : <parts.Popover defaultOpen={wanted} {...props} />
}

/** Until it is loaded, the browser's own menu opens. */
export function ContextMenu(props: Parts.ContextMenuProps) {
  const parts = useLate(false)
  return parts === undefined ? props.children : <parts.ContextMenu {...props} />
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
