import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient, useProfiles, useUser, type User } from "@skein-im/react"
import { useEffect, useState } from "react"
import { Password } from "../auth/Password.js"
import { Button, ErrorNote, Field, Loading, TextArea, toast } from "../ui/index.js"
import { useFieldErrors } from "./fields.js"
import { Actions, Form, Page, Section } from "./parts.js"
import { Portrait } from "./Portrait.js"
import { useSecurity } from "./security.js"
import s from "./Settings.module.css"

/** How others see me: picture, name, what I say about myself, and the name by which they find me. */
export function Profile() {
  const { t } = useLingui()
  const client = useClient()
  const me = useUser(client.user)
  return (
    <Page title={t`Profile`} about={<Trans>How others see you.</Trans>}>
      {me === undefined ? <Loading /> : (
        <>
          <Section>
            <div className={s.pad}><Portrait /></div>
            <About key={me.id} me={me} />
          </Section>
          {(me.username ?? "") !== "" && <Section title={t`User name`} about={<Trans>Others find you by it, and you log in with it. You can change it once every 30 days; the old one stays reserved for you for 90 days.</Trans>}><Username me={me} /></Section>}
        </>
      )}
    </Page>
  )
}

function About({ me }: { me: User }) {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const [name, setName] = useState(me.displayName ?? "")
  const [about, setAbout] = useState(me.about ?? "")
  const save = useAction(async () => {
    const { user } = await client.call("skein.v1.UserService/UpdateProfile", { displayName: name.trim(), about: about.trim() })
    if (user !== undefined) profiles.put([user])
    toast(t`Profile updated.`)
  })
  const errors = useFieldErrors(save.error, "displayName", "about")
  const same = name.trim() === (me.displayName ?? "") && about.trim() === (me.about ?? "")
  // Changed on another device, and nothing was typed here: it is shown.
  useEffect(() => setName(me.displayName ?? ""), [me.displayName])
  useEffect(() => setAbout(me.about ?? ""), [me.about])
  return (
    <Form onSubmit={() => void save.run()}>
      <Field label={t`Name`} value={name} onChange={(e) => setName(e.currentTarget.value)} required maxLength={64} autoComplete="name" error={name.trim() === "" ? t`Enter your name.` : errors.of("displayName")} />
      <TextArea label={t`About you`} value={about} onChange={(e) => setAbout(e.currentTarget.value)} maxLength={200} rows={2} error={errors.of("about")} hint={about.length > 150 ? t`${200 - about.length} characters left` : undefined} />
      {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
      <Actions><Button look="primary" submit busy={save.pending} disabled={same || name.trim() === ""}><Trans>Save</Trans></Button></Actions>
    </Form>
  )
}

function Username({ me }: { me: User }) {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const security = useSecurity()
  const [username, setUsername] = useState(me.username ?? "")
  const [password, setPassword] = useState("")
  const save = useAction(async () => {
    const { user } = await client.call("skein.v1.AccountService/ChangeUsername", { username: username.trim().toLowerCase(), ...(password === "" ? {} : { password }) })
    if (user !== undefined) profiles.put([user])
    setPassword("")
    toast(t`User name changed.`)
  })
  const errors = useFieldErrors(save.error, "username", "password")
  const same = username.trim().toLowerCase() === me.username
  const often = save.error?.code === "rate_limited" ? t`You changed it less than 30 days ago.` : undefined
  return (
    <Form onSubmit={() => void save.run()}>
      <Field label={t`User name`} bare value={username} onChange={(e) => setUsername(e.currentTarget.value)} required minLength={3} maxLength={32} autoCapitalize="none" spellCheck={false} autoComplete="off" hint={t`3 to 32 letters, digits, dots, hyphens or underscores.`} error={errors.of("username") ?? often} />
      {!same && security.data?.password !== false && <Password label={t`Your password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required autoComplete="current-password" error={errors.of("password")} />}
      {errors.rest !== undefined && often === undefined && <ErrorNote error={errors.rest} />}
      {!same && <Actions>
        <Button onClick={() => { setUsername(me.username ?? ""); save.clear() }}><Trans>Cancel</Trans></Button>
        <Button look="primary" submit busy={save.pending}><Trans>Change the user name</Trans></Button>
      </Actions>}
    </Form>
  )
}
