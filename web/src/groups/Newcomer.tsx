import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useEffect, useState } from "react"
import { Link } from "wouter"
import { SkeinError } from "@skein-im/client"
import { Frame } from "../auth/Frame.js"
import { http } from "../auth/http.js"
import { Password } from "../auth/Password.js"
import { begin, device } from "../auth/session.js"
import { useSubmit } from "../auth/useSubmit.js"
import { Button, ErrorNote, Field, Note } from "../ui/index.js"
import { isOf, useFieldError } from "../people/says.js"
import { keepIntent, usernameOf } from "./intent.js"
import type { Invited } from "./JoinPage.js"
import s from "./Groups.module.css"

/** The page of an invite link for who is not logged in: whom they join, a name, a password, and they are in. */
export function Newcomer({ token }: { token: string }) {
  const { t } = useLingui()
  const fieldError = useFieldError()
  const [invited, setInvited] = useState<Invited | undefined>(undefined)
  const [gone, setGone] = useState(false)
  const [name, setName] = useState("")
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const [password, setPassword] = useState("")
  const [guest, setGuest] = useState(false)
  useEffect(() => {
    // Before a login not all servers tell what a link leads to: then it is told after it.
    http("skein.v1.GroupService/GetInviteLink", { code: token }).then(setInvited, (e: unknown) => setGone(e instanceof SkeinError && e.code === "not_found"))
  }, [token])
  const username = (typed ?? usernameOf(name)).trim().toLowerCase()
  const displayName = name.trim()
  const [missing, setMissing] = useState(false)
  const rule = t`3 to 32 letters, digits, dots, hyphens or underscores.`
  const { busy, error, setError, onSubmit } = useSubmit(async () => {
    setMissing(displayName === "")
    if (displayName === "") return
    keepIntent(token)
    if (guest) begin(await http("skein.v1.AccountService/RegisterGuest", { displayName, device: device() }), "")
    else begin(await http("skein.v1.AccountService/Register", { username, password, displayName, device: device(), stayLoggedIn: true }), username)
  })
  const code = error instanceof SkeinError ? error.code : ""
  const named = ["username", "display_name", "password"].some((f) => isOf(error, f))
  const here = `/login?next=${encodeURIComponent(`/join/${token}`)}`
  if (gone) return <Frame title={t`This link does not work any more`} about={<Trans>It has expired, been used up or been revoked. Ask for a new one.</Trans>} below={<Trans>Already have an account? <Link href="/login">Log in</Link></Trans>} />
  const title = invited === undefined ? t`You are invited` : t`Join ${invited.name}`
  const refused = guest && (code === "permission_denied" || code === "too_large")
  return (
    <Frame title={title} about={invited === undefined ? <Trans>Create an account here to see the group you are invited to.</Trans> : <Count n={invited.members} approval={invited.approval === true} />} below={<Trans>Already have an account? <Link href={here}>Log in</Link></Trans>}>
      <form onSubmit={onSubmit}>
        <Field label={t`Your name`} value={name} onChange={(e) => setName(e.currentTarget.value)} required autoFocus maxLength={64} autoComplete="name" error={missing && displayName === "" ? t`Enter your name.` : fieldError(error, "display_name")} />
        {!guest && (
          <>
            <Field label={t`User name`} value={typed ?? usernameOf(name)} onChange={(e) => setTyped(e.currentTarget.value)} required pattern="[a-zA-Z0-9_.\-]{3,32}" title={rule} autoComplete="username" autoCapitalize="none" spellCheck={false}
              hint={<>{rule} <Trans>Others find you by it.</Trans></>} error={code === "already_exists" ? t`This user name is taken.` : fieldError(error, "username")} />
            <Password label={t`Password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required minLength={8} maxLength={200} autoComplete="new-password" hint={t`At least 8 characters.`} error={fieldError(error, "password")} />
          </>
        )}
        {refused && <Note tone="warning"><Trans>This server takes no guests right now. Create an account instead.</Trans></Note>}
        {!guest && code === "permission_denied" && <Note tone="warning"><Trans>This server is by invitation only. You may be able to join as a guest.</Trans></Note>}
        {error !== undefined && !named && code !== "already_exists" && code !== "permission_denied" && !refused && <ErrorNote error={error} />}
        <Button look="primary" wide submit busy={busy}>{guest ? <Trans>Join as a guest</Trans> : <Trans>Create account and join</Trans>}</Button>
      </form>
      <Button look="quiet" className={s.more} onClick={() => { setError(undefined); setGuest(!guest) }}>{guest ? <Trans>Create an account instead</Trans> : <Trans>Join as a guest, without an account</Trans>}</Button>
    </Frame>
  )
}

function Count({ n, approval }: { n: number; approval: boolean }) {
  return approval ? <Trans>{n} members. An admin lets you in.</Trans> : <Plural value={n} one="# member" other="# members" />
}
