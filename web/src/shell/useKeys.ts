import { useEffect } from "react"
import { useLocation } from "wouter"
import { open, overlay } from "./switcher.js"

/** Whether what is typed goes into a text. */
function writing(e: KeyboardEvent): boolean {
  const at = e.target
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName))
}

/** Something that takes Esc for itself is open: a dialog, a menu. */
const covered = (): boolean => document.querySelector("[role=dialog], [role=alertdialog], [role=menu], [role=listbox][data-open]") !== null

/** The keys that work everywhere. Whoever handled a key before says so by preventDefault. */
export function useKeys(up: string | undefined): void {
  const [, go] = useLocation()
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.isComposing || e.defaultPrevented) return
      if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") open(overlay.getSnapshot() === "switcher" ? undefined : "switcher")
      else if (e.key === "F6") walkPanes(e.shiftKey ? -1 : 1)
      else if (e.altKey && !e.ctrlKey && !e.metaKey && (e.key === "ArrowDown" || e.key === "ArrowUp")) walkChats(e.key === "ArrowDown" ? 1 : -1)
      else if (e.key === "?" && !writing(e) && !covered()) open("keys")
      else if (e.key === "Escape" && up !== undefined && !covered()) go(up)
      else return
      e.preventDefault()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [go, up])
}

function walkPanes(step: number): void {
  const panes = [...document.querySelectorAll<HTMLElement>("[data-pane]")].filter((p) => p.offsetParent !== null)
  const at = panes.findIndex((p) => p.contains(document.activeElement))
  const to = panes[(at + step + panes.length) % panes.length]
  // The place in a pane where one goes on: what is open in the list, the composer, or the pane itself.
  ;(to?.querySelector<HTMLElement>("[aria-current=page], textarea") ?? to)?.focus()
}

function walkChats(step: number): void {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>("[data-pane] a[href^='/c/']")]
  const at = rows.findIndex((r) => r.getAttribute("aria-current") === "page")
  rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.click()
}
