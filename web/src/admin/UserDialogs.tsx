import { Trans, useLingui } from "@lingui/react/macro"
import { useAction } from "@skein-im/react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, CopyText, Form } from "../settings/parts.js"
import { momentOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { Button, Checkbox, Choice, Dialog, Field } from "../ui/index.js"
import { roles, type Role } from "./access.js"
import type { Account } from "./accounts.js"
import { resetUrl } from "./links.js"
import { Refusal, useRoleName } from "./parts.js"
import { useCall } from "./useRole.js"

interface Of {
  of: Account
  onClose: () => void
}

interface Doing extends Of {
  onDone: () => void
}

/** A link with which somebody sets a new password. */
export function ResetDialog({ of, onClose }: Of) {
  const { t } = useLingui()
  const call = useCall()
  const [withoutTotp, setWithout] = useState(false)
  const [made, setMade] = useState<{ code: string; until: number } | undefined>(undefined)
  const make = useAction(async () => {
    const r = await call("skein.v1.AdminService/CreateResetLink", { user: of.user?.id ?? "", withoutTotp })
    setMade({ code: r.code ?? "", until: Number(r.expiresAtMs ?? 0) })
  })
  const about = t`Send it in a way you trust: whoever has the link can set the password, once.`
  return (
    <Dialog open onClose={onClose} title={t`A new password for ${nameOf(of.user)}`} size="s" about={about}>
      {made !== undefined ? (
        <Form onSubmit={onClose}>
          <CopyText label={t`The link`} value={resetUrl(location.origin, made.code)} />
          <p><Trans>It is shown only once, and is valid until {momentOf(made.until)}. Using it logs them out on all devices.</Trans></p>
          <Actions><Button look="primary" submit><Trans>Done</Trans></Button></Actions>
        </Form>
      ) : (
        <Form onSubmit={() => void make.run()}>
          {of.totp === true && <Checkbox label={t`Also turn off two-step login`} about={t`For someone who lost the app and the recovery codes.`} checked={withoutTotp} onChange={setWithout} />}
          <Refusal error={make.error} />
          <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={make.pending}><Trans>Create link</Trans></Button></Actions>
        </Form>
      )}
    </Dialog>
  )
}

/** Another user name, at once. */
export function RenameDialog({ of, onClose, onDone }: Doing) {
  const { t } = useLingui()
  const call = useCall()
  const [username, setUsername] = useState(of.user?.username ?? "")
  const save = useAction(async () => {
    await call("skein.v1.AdminService/SetUsername", { user: of.user?.id ?? "", username: username.trim().toLowerCase() })
    onDone()
  })
  const errors = useFieldErrors(save.error, "username")
  return (
    <Dialog open onClose={onClose} title={t`Another user name`} size="s" about={t`They log in with the new one from now on. Nobody else can take the old one for 90 days.`}>
      <Form onSubmit={() => void save.run()}>
        <Field label={t`User name`} value={username} onChange={(e) => setUsername(e.currentTarget.value)} required minLength={3} maxLength={32} autoFocus autoCapitalize="none" spellCheck={false} autoComplete="off" error={errors.of("username")} />
        <Refusal error={errors.rest} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

/** Gives or takes a role. */
export function RoleDialog({ of, onClose, onDone }: Doing) {
  const { t } = useLingui()
  const call = useCall()
  const name = useRoleName()
  const was: Role = of.role ?? "SERVER_ROLE_UNSPECIFIED"
  const [role, setRole] = useState<Role>(was)
  const save = useAction(async () => {
    await call("skein.v1.AdminService/SetServerRole", { user: of.user?.id ?? "", role })
    onDone()
  })
  const what: Record<Role, string> = {
    SERVER_ROLE_UNSPECIFIED: t`A user like any other.`,
    SERVER_ROLE_AUDITOR: t`Reads lists and the audit log, and changes nothing.`,
    SERVER_ROLE_MODERATOR: t`Ends sessions, bans users, decides reports, closes groups.`,
    SERVER_ROLE_ADMIN: t`All of that, and accounts, invitations and this server’s settings.`,
    SERVER_ROLE_OWNER: t`Everything, and says who has a role.`,
  }
  return (
    <Dialog open onClose={onClose} title={t`The role of ${nameOf(of.user)}`} size="s" about={t`It counts at once, also for who is connected. In conversations it counts for nothing.`}>
      <Form onSubmit={() => void save.run()}>
        <Choice label={t`Role`} value={role} onChange={setRole} options={roles.map((r) => ({ value: r, label: name(r), about: what[r] }))} />
        <Refusal error={save.error} denied={t`This can’t be changed: only owners give roles, and the last owner who can log in stays one. Make somebody else an owner first.`} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending} disabled={role === was}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

/** Deletes an account for ever, once its name was typed. */
export function EraseDialog({ of, onClose, onDone }: Doing) {
  const { t } = useLingui()
  const call = useCall()
  const gone = of.state === "ACCOUNT_STATE_DELETED"
  const [messages, setMessages] = useState(gone)
  const [typed, setTyped] = useState("")
  const name = of.user?.username || of.user?.id || ""
  const run = useAction(async () => {
    await call("skein.v1.AdminService/EraseUser", { user: of.user?.id ?? "", messages })
    onDone()
  })
  return (
    <Dialog open onClose={onClose} title={t`Delete ${nameOf(of.user)} permanently?`} size="s" about={gone ? t`The account is gone already. This can’t be undone.` : t`Name, picture, contacts and devices are deleted immediately. This can’t be undone.`}>
      <Form onSubmit={() => void run.run()}>
        <Checkbox label={t`Also delete everything they wrote`} about={t`All their messages are deleted, in every conversation.`} checked={messages} onChange={setMessages} disabled={gone} />
        <Field label={t`To confirm, type ${name}`} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} required autoCapitalize="none" spellCheck={false} autoComplete="off" />
        <Refusal error={run.error} denied={t`You can’t delete this account: its role is no lesser one than yours, or it is the last owner’s.`} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={run.pending} disabled={typed.trim() !== name}><Trans>Delete permanently</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
