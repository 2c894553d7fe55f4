import { Trans, useLingui } from "@lingui/react/macro"
import { IdCard } from "lucide-react"
import { useEffect, useState } from "react"
import { useAction, useClient, useUser } from "@skein-im/react"
import { Button, Dialog, ErrorNote, Field } from "../ui/index.js"
import { isOf, useFieldError } from "../people/says.js"
import { Way } from "./Pane.js"
import type { Group } from "./powers.js"
import s from "./Groups.module.css"

/** What the user is called in this group. */
export function Nickname({ group }: { group: Group }) {
  const { t } = useLingui()
  const client = useClient()
  const me = useUser(client.user)
  const [now, setNow] = useState<string | undefined>(undefined)
  const [open, setOpen] = useState(false)
  const { conversation } = group
  const look = useAction(async () => {
    // By the name they have anyway: members are found by the beginning of it.
    let found = ""
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const r: { members?: { user: string; nickname?: string }[]; next?: string } = await client.call("skein.v1.GroupService/ListMembers", { conversation, limit: 200, cursor, query: me?.displayName.slice(0, 64) ?? "" })
      const own = r.members?.find((m) => m.user === client.user)
      found = own?.nickname ?? found
      cursor = own === undefined ? r.next || undefined : undefined
    }
    setNow(found)
  })
  const { run } = look
  useEffect(() => {
    if (me !== undefined) void run()
  }, [run, me, conversation])
  return (
    <>
      <Way icon={<IdCard />} end={now || t`none`} onClick={() => setOpen(true)}><Trans>Your name here</Trans></Way>
      {open && <NicknameDialog conversation={conversation} user="" now={now ?? ""} title={t`Your name in this group`} onClose={() => setOpen(false)} onDone={setNow} />}
    </>
  )
}

/** Says what somebody is called in a group; user "" is who asks. */
export function NicknameDialog({ conversation, user, now, title, onClose, onDone }: { conversation: string; user: string; now: string; title: string; onClose: () => void; onDone: (nickname: string) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const fieldError = useFieldError()
  const [name, setName] = useState(now)
  const save = useAction(async () => {
    await client.call("skein.v1.GroupService/SetNickname", { conversation, user, nickname: name.trim() })
    onDone(name.trim())
    onClose()
  })
  return (
    <Dialog open onClose={onClose} size="s" title={title} about={t`Everyone in the group sees it. Leave it empty to use your profile name.`} actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" busy={save.pending} onClick={() => void save.run()}><Trans>Save</Trans></Button></>}>
      <form className={s.form} onSubmit={(e) => { e.preventDefault(); void save.run() }}>
        <Field label={t`Name`} value={name} onChange={(e) => setName(e.currentTarget.value)} maxLength={64} autoFocus error={fieldError(save.error, "nickname")} />
        {save.error !== undefined && !isOf(save.error, "nickname") && <ErrorNote error={save.error} />}
      </form>
    </Dialog>
  )
}
