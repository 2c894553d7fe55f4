import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient, type User } from "@skein-im/react"
import { useState } from "react"
import { DeviceRow, newestFirst, type Session } from "../settings/Devices.js"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, CopyText, Form, Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { momentOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { Button, Checkbox, Confirm, Dialog, ErrorNote, Field, Note, toast } from "../ui/index.js"
import { resetUrl } from "./links.js"

/** What an administrator does with an account: devices, password, user name, export, the end. */
export function UserDialog({ user, onClose, onChanged }: { user: User; onClose: () => void; onChanged: (u: User) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [doing, setDoing] = useState<"reset" | "rename" | "erase" | undefined>(undefined)
  const mine = user.id === client.user
  const named = (user.username ?? "") !== ""
  const exported = useAction(async () => {
    const { path = "" } = await client.call("skein.v1.AdminService/ExportUser", { user: user.id })
    if (path.startsWith("/")) location.assign(path)
  })
  if (doing === "reset") return <ResetLink user={user} onClose={() => setDoing(undefined)} />
  if (doing === "rename") return <Rename user={user} onClose={() => setDoing(undefined)} onChanged={onChanged} />
  if (doing === "erase") return <Erase user={user} onClose={() => setDoing(undefined)} onDone={() => { onChanged({ ...user, deleted: true }); onClose() }} />
  return (
    <Dialog open onClose={onClose} title={nameOf(user)} about={named ? `${user.username} · ${user.id}` : user.id}>
      <Form onSubmit={onClose}>
        {user.deleted !== true && <Sessions user={user} />}
        <Section title={t`Account`}>
          {named && <Row title={<Trans>Password</Trans>} about={<Trans>A link that lets them set a new password once.</Trans>}><Button onClick={() => setDoing("reset")}><Trans>Reset link</Trans></Button></Row>}
          {named && <Row title={<Trans>User name</Trans>} about={user.username}><Button onClick={() => setDoing("rename")}><Trans>Change</Trans></Button></Row>}
          {user.deleted !== true && <Row title={<Trans>Everything of theirs</Trans>} about={<Trans>As a zip file. They are told, and the log records who asked.</Trans>}><Button busy={exported.pending} onClick={() => void exported.run()}><Trans>Export</Trans></Button></Row>}
          {exported.error !== undefined && (exported.error.code === "unimplemented" ? <Note tone="warning"><Trans>Exports are turned off on this server.</Trans></Note> : <ErrorNote error={exported.error} />)}
          {!mine && <Row title={user.deleted === true ? <Trans>Their messages</Trans> : <Trans>Delete the account</Trans>} about={<Trans>This can’t be undone.</Trans>}><Button onClick={() => setDoing("erase")}><Trans>Delete…</Trans></Button></Row>}
        </Section>
      </Form>
    </Dialog>
  )
}

function Sessions({ user }: { user: User }) {
  const { t } = useLingui()
  const client = useClient()
  const all = useLoad(async (signal) => newestFirst((await client.call("skein.v1.AdminService/ListUserSessions", { user: user.id }, { signal })).sessions ?? []))
  const [ending, setEnding] = useState<Session | "all" | undefined>(undefined)
  return (
    <>
      <Reading of={all}>
        {(sessions) => (
          <Section title={t`Devices`}>
            {sessions.length === 0 && <Row title={<Trans>Not logged in on any device</Trans>} />}
            {sessions.map((d) => <DeviceRow key={d.id} of={d}><Button look="quiet" onClick={() => setEnding(d)}><Trans>End</Trans></Button></DeviceRow>)}
            {sessions.length > 1 && <Row title={<Trans>All devices</Trans>}><Button onClick={() => setEnding("all")}><Trans>End all</Trans></Button></Row>}
          </Section>
        )}
      </Reading>
      <Confirm open={ending !== undefined} onClose={() => setEnding(undefined)} danger title={ending === "all" ? t`Log out all their devices?` : t`Log out this device?`} action={t`Log out`}
        onConfirm={async () => {
          await client.call("skein.v1.AdminService/KickUser", { user: user.id, ...(ending === "all" || ending === undefined ? {} : { session: ending.id ?? "" }) })
          all.reload()
        }}>
        <Trans>They need their password to log in again.</Trans>
      </Confirm>
    </>
  )
}

function ResetLink({ user, onClose }: { user: User; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [withoutTotp, setWithout] = useState(false)
  const [made, setMade] = useState<{ code: string; until: number } | undefined>(undefined)
  const make = useAction(async () => {
    const r = await client.call("skein.v1.AdminService/CreateResetLink", { user: user.id, withoutTotp })
    setMade({ code: r.code ?? "", until: Number(r.expiresAtMs ?? 0) })
  })
  return (
    <Dialog open onClose={onClose} title={t`A new password for ${nameOf(user)}`} size="s" about={t`Send it in a way you trust: whoever has the link can set the password, once.`}>
      {made !== undefined ? (
        <Form onSubmit={onClose}>
          <CopyText label={t`The link`} value={resetUrl(location.origin, made.code)} />
          <p><Trans>It is shown only once, and is valid until {momentOf(made.until)}. Using it logs them out on all devices.</Trans></p>
          <Actions><Button look="primary" submit><Trans>Done</Trans></Button></Actions>
        </Form>
      ) : (
        <Form onSubmit={() => void make.run()}>
          <Checkbox label={t`Also turn off two-step login`} about={t`For someone who lost the app and the recovery codes.`} checked={withoutTotp} onChange={setWithout} />
          {make.error !== undefined && <ErrorNote error={make.error} />}
          <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={make.pending}><Trans>Create link</Trans></Button></Actions>
        </Form>
      )}
    </Dialog>
  )
}

function Rename({ user, onClose, onChanged }: { user: User; onClose: () => void; onChanged: (u: User) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [username, setUsername] = useState(user.username ?? "")
  const save = useAction(async () => {
    const r = await client.call("skein.v1.AdminService/SetUsername", { user: user.id, username: username.trim().toLowerCase() })
    if (r.user !== undefined) onChanged(r.user)
    onClose()
    toast(t`User name changed.`)
  })
  const errors = useFieldErrors(save.error, "username")
  return (
    <Dialog open onClose={onClose} title={t`Another user name`} size="s">
      <Form onSubmit={() => void save.run()}>
        <Field label={t`User name`} value={username} onChange={(e) => setUsername(e.currentTarget.value)} required minLength={3} maxLength={32} autoFocus autoCapitalize="none" spellCheck={false} autoComplete="off" error={errors.of("username")} />
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

function Erase({ user, onClose, onDone }: { user: User; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [messages, setMessages] = useState(user.deleted === true)
  const [typed, setTyped] = useState("")
  const name = user.username || user.id
  const run = useAction(async () => {
    await client.call("skein.v1.AdminService/EraseUser", { user: user.id, messages })
    onDone()
    toast(t`Account deleted. Remaining data is removed in the background.`)
  })
  return (
    <Dialog open onClose={onClose} title={t`Delete ${nameOf(user)} permanently?`} size="s" about={t`Name, picture, contacts and devices are deleted immediately. This can’t be undone.`}>
      <Form onSubmit={() => void run.run()}>
        <Checkbox label={t`Also delete everything they wrote`} about={t`All their messages are deleted, in every conversation.`} checked={messages} onChange={setMessages} />
        <Field label={t`To confirm, type ${name}`} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} required autoCapitalize="none" spellCheck={false} autoComplete="off" />
        {run.error !== undefined && (run.error.code === "permission_denied" ? <Note tone="warning"><Trans>The last administrator can’t be deleted.</Trans></Note> : <ErrorNote error={run.error} />)}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={run.pending} disabled={typed.trim() !== name}><Trans>Delete permanently</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
