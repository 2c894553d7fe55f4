import { SkeinError } from "@skein-im/client"
import { Trans, useLingui } from "@lingui/react/macro"
import { useState } from "react"
import { Link, useSearchParams } from "wouter"
import { Button, Empty, ErrorNote, Note } from "../ui/index.js"
import { Frame } from "./Frame.js"
import { http } from "./http.js"
import { Password } from "./Password.js"
import { useSubmit } from "./useSubmit.js"

/** A new password, by the link that an administrator gave. */
export function Reset() {
  const { t } = useLingui()
  const [search] = useSearchParams()
  const code = search.get("code") ?? ""
  const [newPassword, setPassword] = useState("")
  const [done, setDone] = useState(false)
  const { busy, error, onSubmit } = useSubmit(async () => {
    await http("skein.v1.AccountService/ResetPassword", { code, newPassword })
    setDone(true)
  })
  const gone = error instanceof SkeinError && (error.code === "not_found" || error.code === "too_late")
  const log = <Link href="/login"><Trans>Log in</Trans></Link>
  if (code === "") return <Frame title={t`A new password`} below={log}><Empty title={t`This link is incomplete`}><Trans>Open it exactly as you received it.</Trans></Empty></Frame>
  if (done) return <Frame title={t`Password set`} about={<Trans>You were logged out on all devices. Log in with your new password.</Trans>} below={log} />
  return (
    <Frame title={t`A new password`} about={<Trans>Setting it logs you out on all devices.</Trans>} below={log}>
      <form onSubmit={onSubmit}>
        <Password label={t`New password`} value={newPassword} onChange={(e) => setPassword(e.currentTarget.value)} required minLength={8} maxLength={200} autoFocus autoComplete="new-password" hint={t`At least 8 characters.`} />
        {error !== undefined && (gone ? <Note tone="warning"><Trans>This link was used or has expired. Ask for a new one.</Trans></Note> : <ErrorNote error={error} />)}
        <Button look="primary" wide submit busy={busy}><Trans>Set the password</Trans></Button>
      </form>
    </Frame>
  )
}
