import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { SkeinError } from "@skein-im/client"

export interface Action<A extends readonly unknown[], R> {
  /** Does it; resolves with undefined where it failed, which `error` tells then. */
  run: (...args: A) => Promise<R | undefined>
  pending: boolean
  error: SkeinError | undefined
  /** Forgets the error. */
  clear: () => void
}

/** What was thrown, as a SkeinError: one of the program's own is `internal`, with it as its cause. */
export function errorFrom(e: unknown): SkeinError {
  return e instanceof SkeinError ? e : new SkeinError({ code: "internal", message: e instanceof Error ? e.message : String(e), cause: e })
}

/** Something that is done now and then, with its state. Of several at once the last one begun is told about. */
export function useAction<A extends readonly unknown[], R>(f: (...args: A) => Promise<R>): Action<A, R> {
  const [state, setState] = useState<{ pending: boolean; error: SkeinError | undefined }>({ pending: false, error: undefined })
  const last = useRef(0)
  const latest = useRef(f)
  useEffect(() => {
    latest.current = f
  })
  useEffect(() => () => void last.current++, []) // of what ends after the component nothing is shown
  const run = useCallback(async (...args: A): Promise<R | undefined> => {
    const mine = ++last.current
    setState({ pending: true, error: undefined })
    try {
      const r = await latest.current(...args)
      if (mine === last.current) setState({ pending: false, error: undefined })
      return r
    } catch (e) {
      if (mine === last.current) setState({ pending: false, error: errorFrom(e) })
      return undefined
    }
  }, [])
  const clear = useCallback(() => setState((s) => (s.error === undefined ? s : { ...s, error: undefined })), [])
  return useMemo(() => ({ run, ...state, clear }), [run, state, clear])
}
