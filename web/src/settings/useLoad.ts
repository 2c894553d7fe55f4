import { useCallback, useEffect, useRef, useState } from "react"

export interface Loaded<T> {
  /** What was read last; it stays while it is read anew. */
  data: T | undefined
  error: unknown
  loading: boolean
  reload: () => void
  /** Puts something in its place: what an action answered. */
  set: (to: T | ((was: T) => T)) => void
}

/** Reads something when the component comes, and when `key` is another one. `load` may be written in place. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, key = ""): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: unknown; loading: boolean; key: string }>({ data: undefined, error: undefined, loading: true, key })
  const [tries, setTries] = useState(0)
  const latest = useRef(load)
  useEffect(() => {
    latest.current = load
  })
  useEffect(() => {
    const stop = new AbortController()
    setState((was) => ({ data: was.key === key ? was.data : undefined, error: undefined, loading: true, key }))
    latest.current(stop.signal).then(
      (data) => { if (!stop.signal.aborted) setState({ data, error: undefined, loading: false, key }) },
      (error: unknown) => { if (!stop.signal.aborted) setState((was) => ({ ...was, error, loading: false })) },
    )
    return () => stop.abort()
  }, [key, tries])
  const reload = useCallback(() => setTries((n) => n + 1), [])
  const set = useCallback((to: T | ((was: T) => T)) => {
    setState((was) => {
      if (typeof to !== "function") return { ...was, data: to }
      return was.data === undefined ? was : { ...was, data: (to as (was: T) => T)(was.data) }
    })
  }, [])
  return { data: state.key === key ? state.data : undefined, error: state.error, loading: state.loading, reload, set }
}
