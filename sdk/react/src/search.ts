import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import type { Request, Response, SkeinError } from "@skein-im/client"
import { errorFrom } from "./action.js"
import { useClient } from "./context.js"

type Method = "skein.v1.MessageService/SearchMessages"
/** A message that was found, and where it says what was looked for. */
export type Found = NonNullable<Response<Method>["found"]>[number]

export interface SearchRequest {
  /** Words; may be empty where `types` has something. */
  query: string
  /** Only there; else in all conversations. */
  conversation?: string | undefined
  /** Only what this user wrote. */
  sender?: string | undefined
  /** Only these types of content; `link`: texts with an address. */
  types?: readonly string[] | undefined
  /** Only what was stored then or later, and before; Unix ms. */
  afterMs?: number | undefined
  beforeMs?: number | undefined
}

export interface SearchOptions {
  /** So long nothing may change before it is asked; default 250. */
  debounceMs?: number
  /** Messages of a page; default 20, at most 50. */
  pageSize?: number
}

export interface Search {
  /** `idle`: there is nothing to look for. `searching` begins with the first key, before it is asked. */
  state: "idle" | "searching" | "done" | "failed"
  /** Newest first; those of the search before while a new one runs. */
  found: readonly Found[]
  /** There may be more: `loadMore` asks for them. */
  more: boolean
  loadingMore: boolean
  /** False: the server looked only through what was stored up to `knownUntilMs`. */
  complete: boolean
  knownUntilMs: number
  error: SkeinError | undefined
  loadMore: () => void
  /** Asks again, after an error. */
  retry: () => void
}

interface Result {
  state: Search["state"]
  found: readonly Found[]
  next: string
  loadingMore: boolean
  complete: boolean
  knownUntilMs: number
  error: SkeinError | undefined
}

const nothing: Result = { state: "idle", found: [], next: "", loadingMore: false, complete: true, knownUntilMs: 0, error: undefined }

function requestOf(r: SearchRequest, limit: number): Request<Method> {
  const text = { query: r.query.trim(), conversation: r.conversation ?? "", sender: r.sender ?? "" }
  return { ...text, types: [...(r.types ?? [])], afterMs: String(r.afterMs ?? 0), beforeMs: String(r.beforeMs ?? 0), limit }
}

/** Searches messages while the user types: debounced, with pages; what is not looked for any more is not waited for. */
export function useSearch(r: SearchRequest, o: SearchOptions = {}): Search {
  const client = useClient()
  const { debounceMs = 250, pageSize = 20 } = o
  const key = JSON.stringify(requestOf(r, pageSize))
  const request = useMemo(() => JSON.parse(key) as Request<Method>, [key])
  const [result, setResult] = useState<Result>(nothing)
  const [tries, setTries] = useState(0)
  const running = useRef<AbortController | undefined>(undefined)

  const ask = useCallback(
    async (cursor: string, before: readonly Found[], signal: AbortSignal) => {
      try {
        const a = await client.call("skein.v1.MessageService/SearchMessages", { ...request, cursor }, { signal })
        if (signal.aborted) return
        const found = [...before, ...(a.found ?? [])]
        setResult({ ...nothing, state: "done", found, next: a.next ?? "", complete: a.complete === true, knownUntilMs: Number(a.knownUntilMs ?? 0) })
      } catch (e) {
        if (signal.aborted) return
        setResult((was) => ({ ...was, loadingMore: false, state: "failed", error: errorFrom(e) }))
      }
    },
    [client, request],
  )

  useEffect(() => {
    if ((request.query ?? "") === "" && (request.types ?? []).length === 0) {
      setResult(nothing)
      return undefined
    }
    const stop = (running.current = new AbortController())
    setResult((was) => ({ ...was, state: "searching", next: "", loadingMore: false, error: undefined }))
    const timer = setTimeout(() => void ask("", [], stop.signal), debounceMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [ask, request, debounceMs, tries])

  const loadMore = useCallback(() => {
    const signal = running.current?.signal
    if (result.next === "" || result.loadingMore || signal === undefined || signal.aborted) return
    setResult((was) => ({ ...was, loadingMore: true, error: undefined }))
    void ask(result.next, result.found, signal)
  }, [ask, result])
  const retry = useCallback(() => setTries((n) => n + 1), [])
  return useMemo(() => {
    const { next, ...shown } = result
    return { ...shown, more: next !== "", loadMore, retry }
  }, [result, loadMore, retry])
}
