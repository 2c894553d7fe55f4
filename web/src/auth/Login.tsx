import { SkeinError } from "@skein-im/client"
import { Trans, useLingui } from "@lingui/react/macro"
import { useState } from "react"
import { Link, useSearchParams } from "wouter"
import { Button, ErrorNote, Field, Note } from "../ui/index.js"
import { Frame } from "./Frame.js"
import { http } from "./http.js"
import { Password } from "./Password.js"
import { ProviderReturn } from "./ProviderReturn.js"
import { Providers } from "./Providers.js"
import { begin, device } from "./session.js"
import { Totp } from "./Totp.js"
import { useSubmit } from "./useSubmit.js"

/** Log in with a name and a password, and, for who has one, the second factor. `ended`: why the last session ended. */
export function Login({ ended }: { ended?: string | undefined }) {
  const { t } = useLingui()
  const [username, setUsername] = useState("")
  const [password, setPassword] = useState("")
  const [ticket, setTicket] = useState("")
  const name = username.trim().toLowerCase()
  const { busy, error, onSubmit } = useSubmit(async () => {
    try {
      begin(await http("skein.v1.AccountService/Login", { username: name, password, device: device(), stayLoggedIn: true }), name)
    } catch (e) {
      if (!(e instanceof SkeinError) || e.code !== "totp_required" || e.ticket === "") throw e
      setTicket(e.ticket)
    }
  })
  const [search, setSearch] = useSearchParams()
  const code = search.get("code") ?? ""
  const refused = search.get("error") ?? ""
  if (code !== "" || refused !== "") return <ProviderReturn code={code} refused={refused} onDone={() => setSearch({}, { replace: true })} />
  if (ticket !== "") return <Totp ticket={ticket} username={name} onBack={() => setTicket("")} />
  return (
    <Frame title={t`Log in`} below={<Trans>New here? <Link href="/register">Create an account</Link></Trans>}>
      {ended !== undefined && <Note tone="warning">{ended}</Note>}
      <form onSubmit={onSubmit}>
        <Field label={t`User name`} value={username} onChange={(e) => setUsername(e.currentTarget.value)} required autoFocus autoComplete="username" autoCapitalize="none" spellCheck={false} />
        <Password label={t`Password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required autoComplete="current-password" />
        {error !== undefined && <ErrorNote error={error} />}
        <Button look="primary" wide submit busy={busy}><Trans>Log in</Trans></Button>
      </form>
      <Providers />
    </Frame>
  )
}
