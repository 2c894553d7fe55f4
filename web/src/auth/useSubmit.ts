import { useState, type FormEvent } from "react"

/** A form that is sent once at a time, and keeps what went wrong until the next try. */
export function useSubmit(send: () => Promise<void>): { busy: boolean; error: unknown; setError: (e: unknown) => void; onSubmit: (e: FormEvent) => void } {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const onSubmit = (e: FormEvent): void => {
    e.preventDefault()
    if (busy) return
    setBusy(true)
    setError(undefined)
    send().catch(setError).finally(() => setBusy(false))
  }
  return { busy, error, setError, onSubmit }
}
