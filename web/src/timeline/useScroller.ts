import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react"
import { firstSeen, isAtEnd, placeOf, scrollFor, type Box, type Place, type View } from "./anchor.js"

/*
 * Keeps the reader's place while rows come, go and change their height. The browser's own anchoring is off: it knows
 * nothing of the end of a chat, and not every browser has it. Rows are the elements with data-key, in their order.
 */

export interface Target {
  key: string
  /** Where in the view: 0 its top, 1 its bottom. */
  at: number
}

export interface Scroller {
  /** Refs of what scrolls, and of its content. */
  scroller: (e: HTMLDivElement | null) => void
  list: (e: HTMLDivElement | null) => void
  /** With the next rows the view goes there. */
  aim: (t: Target | "end") => void
  /** Keys of rows that are seen, from the first to the last. */
  seen: () => { first: number; last: number; rows: HTMLElement[] }
  atEnd: () => boolean
}

export function useScroller(rows: unknown, follows: boolean, moved: (v: View) => void): Scroller {
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [parts, setParts] = useState<{ scroller: HTMLDivElement | null; list: HTMLDivElement | null }>({ scroller: null, list: null })
  const place = useRef<Place>({ end: true })
  const target = useRef<Target | "end" | undefined>("end")
  /** The row that the view was taken to: it stays where it is while others come to their height, until somebody scrolls. */
  const held = useRef<string | undefined>(undefined)
  /** What was measured when the place was noted. */
  const size = useRef({ width: 0, height: 0, content: 0, top: 0 })
  const latest = useRef({ follows, moved })
  latest.current = { follows, moved }

  const view = (): View => {
    const e = scroller.current!
    return { scrollTop: e.scrollTop, height: e.clientHeight, content: e.scrollHeight }
  }
  const elements = (): HTMLElement[] => [...(list.current?.querySelectorAll<HTMLElement>("[data-key]") ?? [])]
  const boxOf = (e: HTMLElement): Box => {
    const r = e.getBoundingClientRect()
    const top = r.top - scroller.current!.getBoundingClientRect().top + scroller.current!.scrollTop
    return { key: e.dataset["key"] ?? "", top, height: r.height }
  }

  const note = useCallback(() => {
    const all = elements()
    const e = scroller.current!
    size.current = { width: e.clientWidth, height: e.clientHeight, content: e.scrollHeight, top: e.scrollTop }
    place.current = placeOf(view(), all.length, (i) => boxOf(all[i]!), latest.current.follows)
    const kept = place.current.end ? undefined : all.find((x) => x.dataset["key"] === held.current)
    if (kept !== undefined) place.current = { end: false, key: held.current!, offset: boxOf(kept).top - e.scrollTop }
  }, [])

  const restore = useCallback(() => {
    const e = scroller.current
    if (e === null || e.clientHeight === 0) return
    const find = (key: string): HTMLElement | undefined => elements().find((x) => x.dataset["key"] === key)
    const aimed = target.current
    if (aimed === "end") {
      e.scrollTop = e.scrollHeight
      target.current = held.current = undefined
    } else if (aimed !== undefined) {
      const row = find(aimed.key)
      if (row === undefined) return
      const b = boxOf(row)
      e.scrollTop = b.top - Math.max(0, (e.clientHeight - b.height) * aimed.at)
      target.current = undefined
      held.current = aimed.key
    } else {
      const to = scrollFor(place.current, view(), (key) => {
        const row = find(key)
        return row === undefined ? undefined : boxOf(row).top
      })
      if (to !== undefined && Math.abs(to - e.scrollTop) > 0.4) e.scrollTop = to
    }
    note()
    latest.current.moved(view())
  }, [note])

  useLayoutEffect(restore, [rows, restore])

  useEffect(() => {
    const { scroller: e, list: l } = parts
    if (e === null || l === null) return undefined
    const onScroll = (): void => {
      // Of another size of the view the observer hears in this frame, and restores the place: it is not to be lost before.
      if (e.clientWidth !== size.current.width || e.clientHeight !== size.current.height) return
      // So also of a content that grew while nobody scrolled: the event is of what restore did before.
      const ours = Math.abs(e.scrollTop - size.current.top) < 1
      if (ours && e.scrollHeight !== size.current.content) return
      if (!ours) held.current = undefined
      note()
      latest.current.moved(view())
    }
    const observer = new ResizeObserver(restore)
    observer.observe(e)
    observer.observe(l)
    e.addEventListener("scroll", onScroll, { passive: true })
    return () => {
      observer.disconnect()
      e.removeEventListener("scroll", onScroll)
    }
  }, [parts, note, restore])

  const aim = useCallback((t: Target | "end") => {
    target.current = t
    restore()
  }, [restore])
  const seen = useCallback(() => {
    const all = elements()
    const v = view()
    const first = firstSeen(all.length, (i) => boxOf(all[i]!), v.scrollTop)
    let last = first - 1
    while (last + 1 < all.length) {
      const b = boxOf(all[last + 1]!)
      if (b.top + Math.min(b.height, v.height) > v.scrollTop + v.height + 4) break
      last++
    }
    return { first, last, rows: all }
  }, [])
  const atEnd = useCallback(() => scroller.current !== null && latest.current.follows && isAtEnd(view()), [])
  const setScroller = useCallback((e: HTMLDivElement | null) => {
    scroller.current = e
    setParts((p) => (p.scroller === e ? p : { ...p, scroller: e }))
  }, [])
  const setList = useCallback((e: HTMLDivElement | null) => {
    list.current = e
    setParts((p) => (p.list === e ? p : { ...p, list: e }))
  }, [])
  return { scroller: setScroller, list: setList, aim, seen, atEnd }
}
