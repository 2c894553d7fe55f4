import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react"

/** So near to the end counts as there. */
const slack = 32
/** So near to the beginning older messages are wanted. */
const nearTop = 80

export interface Scroll {
  view: RefObject<HTMLDivElement | null>
  list: RefObject<HTMLOListElement | null>
  atEnd: boolean
  toEnd: () => void
}

/**
 * Keeps the reader's place: at the end the end, elsewhere the first row that is seen, whatever comes above it or
 * changes its height. Rows have data-key.
 */
export function useScroll(rows: unknown, older: () => void): Scroll {
  const view = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const place = useRef<{ row: Element | undefined; top: number }>({ row: undefined, top: 0 }) // no row: the end
  const [atEnd, setAtEnd] = useState(true)
  const latest = useRef(older)
  latest.current = older

  const keep = useCallback(() => {
    const v = view.current
    if (v === null) return
    const { row, top } = place.current
    if (row === undefined) v.scrollTop = v.scrollHeight
    else if (row.isConnected) v.scrollTop += row.getBoundingClientRect().top - v.getBoundingClientRect().top - top
  }, [])
  const look = useCallback(() => {
    const v = view.current
    if (v === null) return
    const end = v.scrollHeight - v.clientHeight - v.scrollTop <= slack
    const edge = v.getBoundingClientRect().top
    const row = end ? undefined : [...(list.current?.children ?? [])].find((r) => r.getBoundingClientRect().bottom > edge)
    place.current = { row, top: row === undefined ? 0 : row.getBoundingClientRect().top - edge }
    setAtEnd(end)
    if (v.scrollTop < nearTop && v.scrollHeight > v.clientHeight) latest.current()
  }, [])

  useLayoutEffect(keep, [rows, keep])
  useEffect(() => {
    const v = view.current
    const l = list.current
    if (v === null || l === null) return undefined
    const observer = new ResizeObserver(keep)
    observer.observe(v)
    observer.observe(l)
    v.addEventListener("scroll", look, { passive: true })
    return () => {
      observer.disconnect()
      v.removeEventListener("scroll", look)
    }
  }, [keep, look])
  const toEnd = useCallback(() => {
    place.current = { row: undefined, top: 0 }
    setAtEnd(true)
    keep()
  }, [keep])
  return { view, list, atEnd, toEnd }
}
