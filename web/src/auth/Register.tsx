import { SkeinError } from "@skein-im/client"
import { Trans, useLingui } from "@lingui/react/macro"
import { useState } from "react"
import { Link, useSearchParams } from "wouter"
import { Button, ErrorNote, Field } from "../ui/index.js"
import { Frame } from "./Frame.js"
import { http } from "./http.js"
import { Password } from "./Password.js"
import { begin, device } from "./session.js"
import { useSubmit } from "./useSubmit.js"

/** What a user name may be, as the server has it. */
const form = "[a-zA-Z0-9_.\\-]{3,32}"

/** Make an account: a name and a password, nothing else. With ?invite=CODE where not everybody may. */
export function Register() {
  const { t } = useLingui()
  const [search] = useSearchParams()
  const invitation = search.get("invite") ?? ""
  const [username, setUsername] = useState("")
  const [displayName, setDisplayName] = useState("")
  const [password, setPassword] = useState("")
  const [missing, setMissing] = useState(false)
  const blank = displayName.trim() === ""
  const rule = t`3 to 32 letters, digits, dots, hyphens or underscores.`
  const { busy, error, onSubmit } = useSubmit(async () => {
    setMissing(true)
    if (blank) return
    const name = username.trim().toLowerCase()
    begin(await http("skein.v1.AccountService/Register", {
      username: name, password, device: device(), stayLoggedIn: true,
      displayName: displayName.trim(), ...(invitation === "" ? {} : { invitation }),
    }), name)
  })
  const code = error instanceof SkeinError ? error.code : ""
  return (
    <Frame title={t`Create account`} below={<Trans>Already have an account? <Link href="/login">Log in</Link></Trans>}>
      <form onSubmit={onSubmit}>
        <Field label={t`Your name`} value={displayName} onChange={(e) => setDisplayName(e.currentTarget.value)} autoFocus maxLength={64} autoComplete="name" required hint={t`This is how others see you. You can change it later.`} error={missing && blank ? t`Enter your name.` : undefined} />
        <Field label={t`User name`} value={username} onChange={(e) => setUsername(e.currentTarget.value)} required pattern={form} autoComplete="username" autoCapitalize="none" spellCheck={false}
          title={rule} hint={<>{rule} <Trans>Others find you by it.</Trans></>} error={code === "already_exists" ? t`This user name is taken.` : undefined} />
        <Password label={t`Password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required minLength={8} maxLength={200} autoComplete="new-password" hint={t`At least 8 characters.`} />
        {error !== undefined && code !== "already_exists" && (code === "permission_denied" ? <ErrorNote error={new SkeinError({ code: "closed_here", message: t`Registration is by invitation only. Ask the administrator of this server for a link.` })} /> : <ErrorNote error={error} />)}
        <Button look="primary" wide submit busy={busy}><Trans>Create account</Trans></Button>
      </form>
    </Frame>
  )
}
