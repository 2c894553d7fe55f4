import { useState } from "react"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { MessagesSquare } from "lucide-react"
import { useLocation } from "wouter"
import type { Thread } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { shortTime } from "../conversations/when.js"
import { useLoad } from "../settings/useLoad.js"
import { Summary } from "../timeline/Summary.js"
import { Badge, Button, Empty, ErrorNote, Loading } from "../ui/index.js"
import { Way } from "./Pane.js"
import s from "./Groups.module.css"

/** The threads of a conversation, the one with the newest root first. */
export function Threads({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const client = useClient()
  const first = useLoad((signal) => client.conversation(conversation).threads("", 50, signal), conversation)
  const [more, setMore] = useState<{ threads: readonly Thread[]; next: string } | undefined>(undefined)
  const on = useAction(async (cursor: string) => {
    const r = await client.conversation(conversation).threads(cursor)
    setMore((was) => ({ threads: [...(was?.threads ?? []), ...r.threads], next: r.next }))
  })
  if (first.data === undefined) return first.error === undefined ? <Loading /> : <ErrorNote error={first.error} onRetry={first.reload} />
  const all = [...first.data.threads, ...(more?.threads ?? [])]
  const next = more?.next ?? first.data.next
  if (all.length === 0 && next === "") return <Empty icon={<MessagesSquare />} title={t`No threads yet`}>{t`Threads appear here once someone replies in one.`}</Empty>
  return (
    <section className={s.block}>
      {all.map((thread) => <Line key={thread.root.seq} of={thread} />)}
      {on.error !== undefined && <ErrorNote error={on.error} onRetry={() => void on.run(next)} />}
      {next !== "" && on.error === undefined && <Button look="quiet" busy={on.pending} onClick={() => void on.run(next)}><Trans>Show more</Trans></Button>}
    </section>
  )
}

function Line({ of: { root, unread, follows } }: { of: Thread }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const about = <><Plural value={root.replies?.count ?? 0} one="# reply" other="# replies" /> · {shortTime(root.replies?.lastAtMs ?? 0, Date.now())}{follows && <> · <Trans>followed</Trans></>}</>
  return (
    <Way icon={<MessagesSquare />} about={about} end={unread > 0 && <Badge count={unread} label={t`${unread} unread`} />} onClick={() => go(`/c/${root.conversation}/t/${root.seq}`)}>
      <Summary message={root} />
    </Way>
  )
}
