import { useEffect, useRef, useState } from "react"
import { useLocation, useSearch } from "wouter"
import { useLoad } from "../settings/useLoad.js"

/** What is looked at stands in the address: reload, back and a shared link show the same. */

/** The address with other values; an empty one goes, and with any change the first page is looked at. */
export function changed(search: string, changes: Readonly<Record<string, string>>): string {
  const q = new URLSearchParams(search)
  q.delete("at")
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") q.delete(name)
    else q.set(name, value)
  }
  const s = q.toString()
  return s === "" ? "" : `?${s}`
}

export interface Query {
  get: (name: string) => string
  set: (changes: Readonly<Record<string, string>>, replace?: boolean) => void
}

export function useQuery(): Query {
  const [path, go] = useLocation()
  const search = useSearch()
  return {
    get: (name) => new URLSearchParams(search).get(name) ?? "",
    set: (changes, replace = false) => go(path + changed(search, changes), { replace }),
  }
}

const pauseMs = 250

/** A field whose text stands in the address once typing pauses. */
export function useTyped(name: string): [string, (text: string) => void] {
  const query = useQuery()
  const value = query.get(name)
  const [text, setText] = useState(value)
  const settled = useRef(value)
  const latest = useRef(query)
  useEffect(() => {
    latest.current = query
  })
  useEffect(() => {
    if (value === settled.current) return
    settled.current = value // somebody went back
    setText(value)
  }, [value])
  useEffect(() => {
    const wanted = text.trim()
    if (wanted === settled.current) return undefined
    const timer = setTimeout(() => {
      settled.current = wanted
      latest.current.set({ [name]: wanted }, true)
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [text, name])
  return [text, setText]
}

export interface Paged<T> {
  /** undefined: nothing was read yet. They stay while the next are read. */
  rows: readonly T[] | undefined
  loading: boolean
  error: unknown
  reload: () => void
  /** From 1; 0 where the address was entered in the middle. */
  page: number
  onBack: (() => void) | undefined
  onNext: (() => void) | undefined
}

interface Answer<T> {
  rows: readonly T[]
  next: string
}

/** The cursors of the pages before this one, as the browser keeps them with the entry of its history. */
export function trail(state: unknown): readonly string[] {
  const back = (state as { back?: unknown } | null)?.back
  return Array.isArray(back) && back.every((c) => typeof c === "string") ? back : []
}

/** One page of a long list; the cursor of the server stands in the address, and nothing else of the list is read. */
export function usePaged<T>(key: string, load: (cursor: string, signal: AbortSignal) => Promise<Answer<T>>): Paged<T> {
  const [path, go] = useLocation()
  const search = useSearch()
  const at = new URLSearchParams(search).get("at") ?? ""
  const read = useLoad((signal) => load(at, signal), `${key} ${at}`)
  const last = useRef<Answer<T> | undefined>(undefined)
  useEffect(() => {
    if (read.data !== undefined) last.current = read.data
  }, [read.data])
  const shown = read.data ?? (read.error === undefined ? last.current : undefined)
  const back = trail(history.state)
  const to = (cursor: string, back: readonly string[]): void => go(path + changed(search, { at: cursor }), { state: { back } })
  const next = read.data?.next ?? ""
  return {
    rows: shown?.rows, loading: read.loading, error: read.error, reload: read.reload,
    page: at === "" ? 1 : back.length === 0 ? 0 : back.length + 1,
    onBack: at === "" ? undefined : () => to(back.at(-1) ?? "", back.slice(0, -1)),
    onNext: next === "" ? undefined : () => to(next, [...back, at]),
  }
}
