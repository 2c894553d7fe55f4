import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient } from "@skein-im/react"
import { useState, type ReactNode } from "react"
import { Row, Section } from "../settings/parts.js"
import { nameOf } from "../timeline/names.js"
import { Button, Confirm, Note, toast } from "../ui/index.js"
import { may, mayActOn } from "./access.js"
import type { Account } from "./accounts.js"
import { BanDialog } from "./BanDialog.js"
import { Refusal, useRoleName } from "./parts.js"
import { EraseDialog, RenameDialog, ResetDialog, RoleDialog } from "./UserDialogs.js"
import { useCall, useMe } from "./useRole.js"

type Doing = "reset" | "rename" | "role" | "ban" | "unban" | "disable" | "enable" | "erase"

/** What can be done with an account: only what this role may, and only to whom it may. */
export function UserActs({ of, onChanged }: { of: Account; onChanged: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const call = useCall()
  const { role, ask } = useMe()
  const name = useRoleName()
  const [doing, setDoing] = useState<Doing | undefined>(undefined)
  const user = of.user?.id ?? ""
  const mine = user === client.user
  const gone = of.state === "ACCOUNT_STATE_DELETED"
  const named = (of.user?.username ?? "") !== ""
  const on = mayActOn(role, of.role)
  const manage = may(role, "manage") && (on || mine)
  const stop = (): void => setDoing(undefined)
  const done = (said: string): void => { stop(); onChanged(); toast(said) }
  const exported = useAction(async () => {
    const { path = "" } = await call("skein.v1.AdminService/ExportUser", { user })
    if (path.startsWith("/")) location.assign(path)
  })
  const act = (what: Doing, title: ReactNode, about: ReactNode, label: string): ReactNode => <Row title={title} about={about}><Button onClick={() => setDoing(what)}>{label}</Button></Row>
  if (!may(role, "moderate")) return null
  if (!on && !mine) return <Note><Trans>Only somebody with a higher role can act on this account.</Trans></Note>
  const banned = of.state === "ACCOUNT_STATE_BANNED"
  const disabled = of.state === "ACCOUNT_STATE_DISABLED"
  return (
    <>
      {manage && !gone && (
        <Section title={t`Account`}>
          {named && act("reset", t`Password`, t`A link with which they set a password.`, t`Reset link`)}
          {named && act("rename", t`User name`, of.user?.username, t`Rename…`)}
          {may(role, "roles") && of.user?.guest !== true && act("role", t`Role`, name(of.role), t`Change role…`)}
          <Row title={t`Everything of theirs`} about={t`As a zip file. They are told, and the audit log records who asked.`}><Button busy={exported.pending} onClick={() => void exported.run()}><Trans>Export</Trans></Button></Row>
          {exported.error !== undefined && (exported.error.code === "unimplemented" ? <Note tone="warning"><Trans>Exports are turned off on this server.</Trans></Note> : <Refusal error={exported.error} />)}
        </Section>
      )}
      {!mine && !gone && (
        <Section title={t`Access`}>
          {banned ? act("unban", t`Banned`, t`Until the ban is over, or you end it.`, t`Unban`) : act("ban", t`Ban`, t`For a time or forever, with a reason that they are told.`, t`Ban…`)}
          {may(role, "manage") && (disabled ? act("enable", t`Disabled`, t`They cannot log in.`, t`Enable`) : act("disable", t`Disable`, t`For somebody who left: nobody can log in as them. Nothing is deleted.`, t`Disable…`))}
        </Section>
      )}
      {!mine && may(role, "manage") && (
        <Section title={t`Danger zone`} danger>
          {act("erase", gone ? t`Their messages` : t`Delete the account`, t`This can’t be undone.`, t`Delete…`)}
        </Section>
      )}
      {doing === "reset" && <ResetDialog of={of} onClose={stop} />}
      {doing === "rename" && <RenameDialog of={of} onClose={stop} onDone={() => done(t`User name changed.`)} />}
      {doing === "role" && <RoleDialog of={of} onClose={stop} onDone={() => { if (mine) ask(); done(t`Role changed. It counts at once.`) }} />}
      {doing === "ban" && <BanDialog user={user} name={nameOf(of.user)} onClose={stop} onDone={() => done(t`Banned. All sessions have ended.`)} />}
      {doing === "erase" && <EraseDialog of={of} onClose={stop} onDone={() => done(t`Account deleted. Remaining data is removed in the background.`)} />}
      <Sure doing={doing} of={of} onClose={stop} run={async (what) => {
        if (what === "unban") await call("skein.v1.AdminService/UnbanUser", { user })
        else await call("skein.v1.AdminService/SetDisabled", { user, disabled: what === "disable" })
        onChanged()
      }} />
    </>
  )
}

/** Asks before what is done with one touch. */
function Sure({ doing, of, onClose, run }: { doing: Doing | undefined; of: Account; onClose: () => void; run: (what: Doing) => Promise<void> }) {
  const { t } = useLingui()
  const name = nameOf(of.user)
  if (doing !== "unban" && doing !== "disable" && doing !== "enable") return null
  const words = {
    unban: [t`Unban ${name}?`, t`Unban`, t`They can log in again at once.`],
    disable: [t`Disable ${name}?`, t`Disable`, t`All their sessions end at once, on all devices, and scheduled messages are not sent. Their messages stay. You can enable the account again.`],
    enable: [t`Enable ${name}?`, t`Enable`, t`They can log in again at once.`],
  }[doing]
  return <Confirm open onClose={onClose} danger={doing === "disable"} title={words[0]!} action={words[1]!} onConfirm={() => run(doing)}>{words[2]}</Confirm>
}
