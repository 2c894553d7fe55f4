import type { ReactNode } from "react"
import { Trans } from "@lingui/react/macro"
import { Ban, Lock, Megaphone, VolumeX } from "lucide-react"
import { momentOf } from "../timeline/format.js"
import type { Barrier } from "./barrier.js"
import { Strangers } from "./Strangers.js"
import s from "./Composer.module.css"

/** Why one cannot write here, in the place of the field, and what can be done about it. */
export function Blocked({ conversation, barrier }: { conversation: string; barrier: Barrier }): ReactNode {
  switch (barrier.why) {
    case "left":
      return <Why icon={<Ban />}><Trans>You are no longer in this group. You can still read what was said until you left.</Trans></Why>
    case "dismissed":
      return <Why icon={<Ban />}><Trans>This group was closed.</Trans></Why>
    case "deleted":
      return <Why icon={<Ban />}><Trans>This account was deleted.</Trans></Why>
    case "admins":
      return <Why icon={<Megaphone />}><Trans>Only admins can write here. You can react.</Trans></Why>
    case "muted_all":
      return <Why icon={<Lock />}><Trans>Only admins can write here for now.</Trans></Why>
    case "muted":
      return <Why icon={<VolumeX />}><Trans>You are muted here until {momentOf(barrier.untilMs)}.</Trans></Why>
    case "stranger":
    case "asked":
    case "asksMe":
      return <Strangers conversation={conversation} at={barrier.why} />
  }
}

function Why({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return <div className={s.blocked} role="note">{icon}<p>{children}</p></div>
}
