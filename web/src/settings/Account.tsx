import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient } from "@skein-im/react"
import { useState } from "react"
import { logOut } from "../client.js"
import { Password } from "../auth/Password.js"
import { Button, Checkbox, Dialog, ErrorNote, Field, Note, toast } from "../ui/index.js"
import { useFieldErrors } from "./fields.js"
import { LinkedLogins } from "./LinkedLogins.js"
import { Actions, Form, Page, Reading, Row, Section } from "./parts.js"
import { useSecurity, type Security } from "./security.js"
import { TwoStep } from "./TwoStep.js"
import s from "./Settings.module.css"

/** How I get in, and what is mine: password, second factor, other ways to log in, export, the end of the account. */
export function Account() {
  const { t } = useLingui()
  const security = useSecurity()
  return (
    <Page title={t`Account`} about={<Trans>How you log in, and your data.</Trans>}>
      <Reading of={security}>
        {(now) => (
          <>
            {now.password === true && <Section title={t`Password`}><NewPassword /></Section>}
            {now.password === true && <TwoStep now={now} onChanged={security.reload} />}
            <LinkedLogins password={now.password === true} />
            <Section title={t`Your data`}><Export now={now} /></Section>
            <Section title={t`Delete the account`} danger><Delete now={now} /></Section>
          </>
        )}
      </Reading>
    </Page>
  )
}

function NewPassword() {
  const { t } = useLingui()
  const client = useClient()
  const [open, setOpen] = useState(false)
  const [oldPassword, setOld] = useState("")
  const [newPassword, setNew] = useState("")
  const close = (): void => { setOpen(false); setOld(""); setNew(""); save.clear() }
  const save = useAction(async () => {
    await client.call("skein.v1.AccountService/ChangePassword", { oldPassword, newPassword })
    close()
    toast(t`Your password was changed. Other devices have to log in again.`)
  })
  const errors = useFieldErrors(save.error, "oldPassword", "newPassword")
  return (
    <>
      <Row title={<Trans>Password</Trans>} about={<Trans>Changing it logs out all other devices.</Trans>}><Button onClick={() => setOpen(true)}><Trans>Change</Trans></Button></Row>
      <Dialog open={open} onClose={close} title={t`Change the password`} size="s">
        <Form onSubmit={() => void save.run()}>
          <Password label={t`Current password`} value={oldPassword} onChange={(e) => setOld(e.currentTarget.value)} required autoFocus autoComplete="current-password" error={errors.of("oldPassword")} />
          <Password label={t`New password`} value={newPassword} onChange={(e) => setNew(e.currentTarget.value)} required minLength={8} maxLength={200} autoComplete="new-password" hint={t`At least 8 characters. A short sentence is easy to remember.`} error={errors.of("newPassword")} />
          {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
          <Actions><Button onClick={close}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending}><Trans>Change the password</Trans></Button></Actions>
        </Form>
      </Dialog>
    </>
  )
}

/** The fields by which somebody proves that it is them: what the account has of them. */
export function Proof({ now, password, setPassword, code, setCode, errors }: { now: Security; password: string; setPassword: (v: string) => void; code: string; setCode: (v: string) => void; errors: { of: (f: string) => string | undefined } }) {
  const { t } = useLingui()
  return (
    <>
      {now.password === true && <Password label={t`Your password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required autoFocus autoComplete="current-password" error={errors.of("password")} />}
      {now.totp === true && <Field label={t`Code`} value={code} onChange={(e) => setCode(e.currentTarget.value)} required autoComplete="one-time-code" spellCheck={false} hint={t`6-digit code from your authenticator app, or a recovery code.`} error={errors.of("code")} />}
    </>
  )
}

function Export({ now }: { now: Security }) {
  const { t } = useLingui()
  const client = useClient()
  const [open, setOpen] = useState(false)
  const [password, setPassword] = useState("")
  const [code, setCode] = useState("")
  const close = (): void => { setOpen(false); setPassword(""); setCode(""); begin.clear() }
  const begin = useAction(async () => {
    const { path = "" } = await client.call("skein.v1.AccountService/BeginExport", { password, code })
    if (!path.startsWith("/")) return
    close()
    const a = document.createElement("a")
    a.href = path
    a.download = ""
    a.click()
    toast(t`Download started.`)
  })
  const errors = useFieldErrors(begin.error, "password", "code")
  return (
    <>
      <Row title={<Trans>Everything of mine</Trans>} about={<Trans>Your profile, contacts, messages and files, as one zip file.</Trans>}><Button onClick={() => setOpen(true)}><Trans>Export</Trans></Button></Row>
      <Dialog open={open} onClose={close} title={t`Export my data`} about={t`First, confirm that it’s you.`} size="s">
        <Form onSubmit={() => void begin.run()}>
          <Proof now={now} password={password} setPassword={setPassword} code={code} setCode={setCode} errors={errors} />
          {errors.rest !== undefined && (begin.error?.code === "unimplemented" ? <Note tone="warning"><Trans>Exports are turned off on this server. Ask its administrator.</Trans></Note> : <ErrorNote error={errors.rest} />)}
          <Actions><Button onClick={close}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={begin.pending}><Trans>Download</Trans></Button></Actions>
        </Form>
      </Dialog>
    </>
  )
}

function Delete({ now }: { now: Security }) {
  const { t } = useLingui()
  const client = useClient()
  const [open, setOpen] = useState(false)
  const [sure, setSure] = useState(false)
  const [password, setPassword] = useState("")
  const [code, setCode] = useState("")
  const close = (): void => { setOpen(false); setPassword(""); setCode(""); setSure(false); run.clear() }
  const run = useAction(async () => {
    try {
      await client.call("skein.v1.AccountService/DeleteAccount", { password, code })
    } catch (e) {
      if (!(e instanceof Error && "code" in e && e.code === "account_deleted")) throw e // the answer of before was lost
    }
    await logOut()
  })
  const errors = useFieldErrors(run.error, "password", "code")
  if (now.password !== true) return <div className={s.pad}><Trans>You have no password here. Ask an administrator to delete your account.</Trans></div>
  return (
    <>
      <Row title={<Trans>Delete the account</Trans>} about={<Trans>This can’t be undone. What you wrote stays with its recipients, without your name.</Trans>}><Button onClick={() => setOpen(true)}><Trans>Delete…</Trans></Button></Row>
      <Dialog open={open} onClose={close} title={t`Delete this account permanently?`} size="s">
        <ul className={s.list}>
          <li><Trans>Your name, picture, contacts, drafts and saved messages are deleted immediately.</Trans></li>
          <li><Trans>You leave all groups. Groups you own go to another member.</Trans></li>
          <li><Trans>You are logged out on all devices.</Trans></li>
        </ul>
        <Form onSubmit={() => void run.run()}>
          <Proof now={now} password={password} setPassword={setPassword} code={code} setCode={setCode} errors={errors} />
          <Checkbox label={t`I understand that this can’t be undone.`} checked={sure} onChange={setSure} />
          {errors.rest !== undefined && (run.error?.code === "permission_denied" ? <Note tone="warning"><Trans>You are the last administrator. Somebody else has to become one first.</Trans></Note> : <ErrorNote error={errors.rest} />)}
          <Actions><Button onClick={close}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={run.pending} disabled={!sure}><Trans>Delete permanently</Trans></Button></Actions>
        </Form>
      </Dialog>
    </>
  )
}
