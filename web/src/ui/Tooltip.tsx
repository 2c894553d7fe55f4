import { cloneElement, useSyncExternalStore, type FocusEvent, type PointerEvent, type ReactElement } from "react"
import s from "./Tooltip.module.css"

/*
 * A few words about something, for a pointer and the keyboard; one at a time. They say nothing that the element's
 * label does not, so they are hidden from screen readers.
 */

interface Shown {
  text: string
  keys: string | undefined
  at: DOMRect
}

let shown: Shown | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

const patience = 500

function show(next: Shown | undefined): void {
  clearTimeout(timer)
  if (next === shown) return
  shown = next
  for (const f of [...listeners]) f()
}

function subscribe(f: () => void): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}

const hide = (): void => show(undefined)
addEventListener("pointerdown", hide, true)
addEventListener("keydown", hide, true)
addEventListener("scroll", hide, true)

interface Hands {
  onPointerEnter?: (e: PointerEvent) => void
  onPointerLeave?: (e: PointerEvent) => void
  onFocus?: (e: FocusEvent) => void
  onBlur?: (e: FocusEvent) => void
}

export function Tooltip({ text, keys, children }: { text: string; keys?: string; children: ReactElement }) {
  const own = children.props as Hands
  return cloneElement(children as ReactElement<Hands>, {
    onPointerEnter: (e) => {
      own.onPointerEnter?.(e)
      if (e.pointerType !== "mouse") return
      const el = e.currentTarget
      clearTimeout(timer)
      timer = setTimeout(() => show({ text, keys, at: el.getBoundingClientRect() }), patience)
    },
    onPointerLeave: (e) => {
      own.onPointerLeave?.(e)
      hide()
    },
    onFocus: (e) => {
      own.onFocus?.(e)
      if (e.currentTarget.matches(":focus-visible")) show({ text, keys, at: e.currentTarget.getBoundingClientRect() })
    },
    onBlur: (e) => {
      own.onBlur?.(e)
      hide()
    },
  })
}

/** Where tooltips are shown; stands once in the page. */
export function Tooltips() {
  const now = useSyncExternalStore(subscribe, () => shown)
  if (now === undefined) return null
  const above = now.at.bottom + 44 > innerHeight
  const x = Math.min(Math.max(now.at.left + now.at.width / 2, 70), innerWidth - 70)
  return (
    <div className={s.tooltip} data-above={above || undefined} aria-hidden="true" style={{ left: x, top: above ? now.at.top - 6 : now.at.bottom + 6 }}>
      {now.text}
      {now.keys !== undefined && <kbd className={s.keys}>{now.keys}</kbd>}
    </div>
  )
}
