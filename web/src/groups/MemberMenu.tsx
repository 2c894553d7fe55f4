import { Trans, useLingui } from "@lingui/react/macro"
import { Ban, Crown, IdCard, Mic, MicOff, ShieldCheck, ShieldOff, UserMinus, UserRound } from "lucide-react"
import { useState, type ReactElement } from "react"
import { useAction, useClient, useUser } from "@skein-im/react"
import { Button, Confirm, Dialog, ErrorNote, Field, Menu, MenuItem, MenuLine, Select, SubMenu, toast, useWhy } from "../ui/index.js"
import { useCalled } from "../people/Person.js"
import { isOf, useFieldError } from "../people/says.js"
import { NicknameDialog } from "./Nickname.js"
import { actsOn, powersIn, type Group, type Member } from "./powers.js"
import { spans, useSpan } from "./times.js"
import s from "./Groups.module.css"

type Asked = "remove" | "ban" | "transfer" | "nickname"

/** What the user may do with a member of a group. */
export function MemberMenu({ group, member, muted, trigger, onProfile, onChanged }: { group: Group; member: Member; muted: boolean; trigger: ReactElement; onProfile: () => void; onChanged: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const why = useWhy()
  const span = useSpan()
  const { conversation } = group
  const { user, role } = member
  const name = useCalled(user, member.nickname)
  const guest = useUser(user)?.guest === true
  const [asked, setAsked] = useState<Asked | undefined>(undefined)
  const may = actsOn(group.role, role)
  const { own } = powersIn(group)
  const done = async (what: Promise<unknown>): Promise<void> => {
    await what
    onChanged()
  }
  const now = (what: Promise<unknown>): void => void done(what).catch((e: unknown) => toast(why(e), { tone: "error" }))
  const mute = (seconds: number): void => now(client.call("skein.v1.GroupService/MuteMember", { conversation, user, untilMs: seconds === 0 ? "0" : String(client.serverTimeMs() + seconds * 1000) }))
  const setRole = (to: "ROLE_ADMIN" | "ROLE_MEMBER"): void => now(client.call("skein.v1.GroupService/SetRole", { conversation, user, role: to }))
  const close = (): void => setAsked(undefined)
  return (
    <>
      <Menu trigger={trigger}>
        <MenuItem icon={<UserRound />} onClick={onProfile}><Trans>Profile</Trans></MenuItem>
        {may && (
          <>
            <MenuItem icon={<IdCard />} onClick={() => setAsked("nickname")}><Trans>Name in this group</Trans></MenuItem>
            {own && !guest && (role === "ROLE_ADMIN"
              ? <MenuItem icon={<ShieldOff />} onClick={() => setRole("ROLE_MEMBER")}><Trans>Make a member</Trans></MenuItem>
              : <MenuItem icon={<ShieldCheck />} onClick={() => setRole("ROLE_ADMIN")}><Trans>Make an admin</Trans></MenuItem>)}
            {own && !guest && <MenuItem icon={<Crown />} onClick={() => setAsked("transfer")}><Trans>Transfer ownership</Trans></MenuItem>}
            {muted ? <MenuItem icon={<Mic />} onClick={() => mute(0)}><Trans>Let them write again</Trans></MenuItem> : (
              <SubMenu icon={<MicOff />} label={t`Mute`}>
                {[spans.hour, spans.day, spans.week, 4 * spans.week].map((seconds) => <MenuItem key={seconds} onClick={() => mute(seconds)}>{span(seconds)}</MenuItem>)}
              </SubMenu>
            )}
            <MenuLine />
            <MenuItem icon={<UserMinus />} danger onClick={() => setAsked("remove")}><Trans>Remove</Trans></MenuItem>
            <MenuItem icon={<Ban />} danger onClick={() => setAsked("ban")}><Trans>Ban</Trans></MenuItem>
          </>
        )}
      </Menu>
      <Confirm open={asked === "remove"} onClose={close} title={t`Remove ${name}?`} action={t`Remove`} danger onConfirm={() => done(client.call("skein.v1.GroupService/RemoveMembers", { conversation, users: [user] }))}>
        <Trans>They leave the group, and can be added again.</Trans>
      </Confirm>
      <Confirm open={asked === "transfer"} onClose={close} title={t`Make ${name} the owner?`} action={t`Make owner`} danger onConfirm={() => done(client.call("skein.v1.GroupService/TransferOwnership", { conversation, user }))}>
        <Trans>They become the owner and you become an admin. Only they can give it back.</Trans>
      </Confirm>
      {asked === "ban" && <BanDialog conversation={conversation} user={user} name={name} onClose={close} onDone={onChanged} />}
      {asked === "nickname" && <NicknameDialog conversation={conversation} user={user} now={member.nickname ?? ""} title={t`Nickname for ${name}`} onClose={close} onDone={onChanged} />}
    </>
  )
}

function BanDialog({ conversation, user, name, onClose, onDone }: { conversation: string; user: string; name: string; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const fieldError = useFieldError()
  const [reason, setReason] = useState("")
  const [lasts, setLasts] = useState("0")
  const ban = useAction(async () => {
    await client.call("skein.v1.GroupService/BanMember", { conversation, user, reason: reason.trim(), untilMs: lasts === "0" ? "0" : String(client.serverTimeMs() + Number(lasts) * 1000) })
    onDone()
    onClose()
  })
  return (
    <Dialog open onClose={onClose} size="s" title={t`Ban ${name}?`} about={t`They leave the group, and can’t be added or join with a link.`} actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" busy={ban.pending} onClick={() => void ban.run()}><Trans>Ban</Trans></Button></>}>
      <div className={s.form}>
        <Select label={t`For`} value={lasts} onChange={setLasts} options={[{ value: "0", label: t`ever` }, ...[spans.day, spans.week, 4 * spans.week].map((seconds) => ({ value: String(seconds), label: span(seconds) }))]} />
        <Field label={t`Why`} value={reason} onChange={(e) => setReason(e.currentTarget.value)} maxLength={200} hint={t`Visible to all members.`} error={fieldError(ban.error, "reason")} />
        {ban.error !== undefined && !isOf(ban.error, "reason") && <ErrorNote error={ban.error} />}
      </div>
    </Dialog>
  )
}
