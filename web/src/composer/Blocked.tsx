import { useState, type ReactNode } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Ban, Lock, Megaphone, UserRoundPlus, VolumeX } from "lucide-react"
import { useClient, useView } from "@skein-im/react"
import { Button, toast, useWhy } from "../ui/index.js"
import { momentOf } from "../timeline/format.js"
import type { Barrier } from "./barrier.js"
import s from "./Composer.module.css"

/** Why one cannot write here, in the place of the field, and what can be done about it. */
export function Blocked({ conversation, barrier }: { conversation: string; barrier: Barrier }): ReactNode {
  switch (barrier.why) {
    case "left":
      return <Why icon={<Ban />}><Trans>You are not in this group any more. You may read what was said until then.</Trans></Why>
    case "dismissed":
      return <Why icon={<Ban />}><Trans>This group is over.</Trans></Why>
    case "deleted":
      return <Why icon={<Ban />}><Trans>This account was deleted.</Trans></Why>
    case "admins":
      return <Why icon={<Megaphone />}><Trans>Only admins write here. You may react.</Trans></Why>
    case "muted_all":
      return <Why icon={<Lock />}><Trans>Only admins write here for now.</Trans></Why>
    case "muted":
      return <Why icon={<VolumeX />}><Trans>You are muted here until {momentOf(barrier.untilMs)}.</Trans></Why>
    case "not_contact":
      return <NotContact conversation={conversation} />
  }
}

function Why({ icon, children, action }: { icon: ReactNode; children: ReactNode; action?: ReactNode }) {
  return <div className={s.blocked} role="note">{icon}<p>{children}</p>{action}</div>
}

function NotContact({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const peer = useView(client.conversation(conversation).summary)?.peer ?? ""
  const [asked, setAsked] = useState(false)
  const ask = (): void => {
    client.call("skein.v1.ContactService/RequestContact", { user: peer }).then(() => setAsked(true), (e: unknown) => toast(why(e), { tone: "error" }))
  }
  const failed = useView(client.outbox).filter((m) => m.conversation === conversation && m.status === "failed")
  const again = (): void => {
    for (const m of failed) client.retry(m.id).catch(() => undefined) // it says so itself
  }
  return (
    <Why icon={<UserRoundPlus />} action={asked ? <Button onClick={again}>{t`Try again`}</Button> : <Button look="primary" onClick={ask}>{t`Ask to be a contact`}</Button>}>
      {asked ? <Trans>You have asked. When they say yes, your message can be sent.</Trans> : <Trans>Only their contacts can write to them.</Trans>}
    </Why>
  )
}
