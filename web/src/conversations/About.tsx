import { Plural, Trans } from "@lingui/react/macro"
import { i18n } from "@lingui/core"
import { useTyping } from "@skein-im/react"
import type { ReactNode } from "react"
import { useGroup } from "../timeline/group.js"
import { useName } from "../timeline/names.js"
import type { Title } from "./title.js"
import { shortTime } from "./when.js"

/** The line below a conversation's name: who is typing, whether the other is here, how many are in it. */
export function About({ conversation, title }: { conversation: string; title: Title }): ReactNode {
  const { users } = useTyping(conversation)
  const first = users[0]
  const name = useName(first)
  const { group } = useGroup(conversation)
  if (first !== undefined) return title.kind === "dm" ? <Trans>typing …</Trans> : <Trans>{name} is typing …</Trans>
  if (title.kind === "group") {
    const n = Number(group?.members ?? 0)
    return n === 0 ? null : <Plural value={n} one="# member" other="# members" />
  }
  if (title.kind === "saved") return <Trans>Only you can see this</Trans>
  if (title.online === true) return <Trans>online</Trans>
  if (title.lastSeenAtMs === 0) return null
  const minutes = Math.floor((Date.now() - title.lastSeenAtMs) / 60_000)
  if (minutes < 1) return <Trans>last seen just now</Trans>
  if (minutes < 60) return <Plural value={minutes} one="last seen # minute ago" other="last seen # minutes ago" />
  const when = minutes < 24 * 60 ? shortTime(title.lastSeenAtMs, Date.now()) : i18n.date(new Date(title.lastSeenAtMs), { dateStyle: "medium" })
  return <Trans>last seen {when}</Trans>
}
