import type { Response } from "@skein-im/client"
import { Trans } from "@lingui/react/macro"
import { useEffect, useState } from "react"
import { Button, ErrorNote } from "../ui/index.js"
import { http } from "./http.js"
import { beginProvider, canProvider } from "./provider.js"
import s from "./Providers.module.css"

type Provider = NonNullable<Response<"skein.v1.AccountService/ListLoginProviders">["providers"]>[number]

/** The deployment's ways to log in elsewhere; nothing, where there are none. */
export function Providers() {
  const [all, setAll] = useState<readonly Provider[]>([])
  const [error, setError] = useState<unknown>(undefined)
  const [busy, setBusy] = useState("")
  useEffect(() => {
    if (!canProvider()) return undefined
    let gone = false
    http("skein.v1.AccountService/ListLoginProviders", {}).then((r) => { if (!gone) setAll(r.providers ?? []) }, () => undefined) // a password does, too
    return () => { gone = true }
  }, [])
  if (all.length === 0) return null
  const go = (id: string): void => {
    setBusy(id)
    setError(undefined)
    beginProvider(id).catch((e: unknown) => { setError(e); setBusy("") })
  }
  return (
    <div className={s.providers}>
      <span className={s.or}><Trans>or</Trans></span>
      {all.map((p) => <Button key={p.name} wide busy={busy === p.name} onClick={() => go(p.name ?? "")}><Trans>Continue with {p.title}</Trans></Button>)}
      {error !== undefined && <ErrorNote error={error} />}
    </div>
  )
}
