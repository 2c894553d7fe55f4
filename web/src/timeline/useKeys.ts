import { useCallback, type KeyboardEvent } from "react"
import type { Message } from "@skein-im/client"
import type { Acts } from "./acts.js"
import type { Talk } from "./talk.js"

/** Keys on a message that has the focus. What they do is in its menu, too; the menu key opens that. */
const keys = { r: "reply", t: "thread", e: "edit", c: "copy", f: "forward", p: "pin", s: "select", Delete: "deleteForMe" } as const

function actOf(key: string): (typeof keys)[keyof typeof keys] | undefined {
  const name = key.length === 1 ? key.toLowerCase() : key
  return name in keys ? keys[name as keyof typeof keys] : undefined
}

/** Which message an arrow leads to: the next one, over events and dates. */
function walk(from: Element, to: 1 | -1): void {
  const feed = from.closest('[role="feed"]')
  const all = [...(feed?.querySelectorAll<HTMLElement>("article") ?? [])]
  const next = all[all.indexOf(from as HTMLElement) + to]
  if (next === undefined) return
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: "nearest" })
}

export function useKeys(acts: Acts, talk: Talk): (e: KeyboardEvent, m: Message) => void {
  return useCallback((e, m) => {
    if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      e.preventDefault()
      return walk(e.currentTarget, e.key === "ArrowUp" ? -1 : 1)
    }
    if (e.key === "Escape") {
      if (talk.getSnapshot().selected !== undefined) return talk.endSelection()
      return talk.focus()
    }
    if (talk.getSnapshot().selected !== undefined) {
      if (e.key !== " " && e.key !== "Enter") return
      e.preventDefault()
      return talk.select(m.seq)
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return
    const name = actOf(e.key)
    if (name === undefined) return
    e.preventDefault()
    const may = acts.may(m)
    if (may[name]) acts[name](m)
  }, [acts, talk])
}
