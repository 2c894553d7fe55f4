import { useLingui } from "@lingui/react/macro"
import { X } from "lucide-react"
import { useEffect, useState, useSyncExternalStore } from "react"
import { IconButton } from "./Button.js"
import { cx } from "./cx.js"
import s from "./Toast.module.css"

export interface ToastOptions {
  tone?: "plain" | "error"
  /** A button in it: undo. */
  action?: { label: string; run: () => void }
}

interface One extends ToastOptions {
  id: number
  text: string
}

/** So many at a time; an older one makes room. */
const most = 3

let all: readonly One[] = []
let last = 0
const listeners = new Set<() => void>()

function set(next: readonly One[]): void {
  all = next
  for (const f of [...listeners]) f()
}

function subscribe(f: () => void): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}

const close = (id: number): void => set(all.filter((one) => one.id !== id))

/** Says something in passing, from anywhere. What must not be missed does not belong here. */
export function toast(text: string, options: ToastOptions = {}): void {
  set([...all, { ...options, id: ++last, text }].slice(-most))
}

/** Where toasts are shown; stands once in the page. */
export function Toasts() {
  const now = useSyncExternalStore(subscribe, () => all)
  return (
    <div className={s.viewport} aria-live="polite">
      {now.map((one) => <Line key={one.id} one={one} />)}
    </div>
  )
}

/** It stays while somebody points at it, or is in it. */
function Line({ one }: { one: One }) {
  const { t } = useLingui()
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (held) return undefined
    const timer = setTimeout(() => close(one.id), one.action === undefined ? 4000 : 7000)
    return () => clearTimeout(timer)
  }, [held, one])
  return (
    <div className={cx(s.toast, one.tone === "error" && s.error)} role={one.tone === "error" ? "alert" : undefined}
      onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}>
      <p className={s.text}>{one.text}</p>
      {one.action !== undefined && <button type="button" className={s.action} onClick={() => { close(one.id); one.action?.run() }}>{one.action.label}</button>}
      <IconButton small label={t`Close`} tooltip={false} onClick={() => close(one.id)}><X /></IconButton>
    </div>
  )
}
