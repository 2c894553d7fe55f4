import { Trans, useLingui } from "@lingui/react/macro"
import { UserRoundCheck } from "lucide-react"
import { useEffect, useState } from "react"
import type { Response } from "@skein-im/client"
import { useAction, useClient, useEvent, type Action } from "@skein-im/react"
import { Button, Empty, ErrorNote, Loading } from "../ui/index.js"
import { Person } from "../people/Person.js"
import { Pane } from "./Pane.js"
import type { Group } from "./powers.js"
import { useDay } from "./times.js"
import s from "./Groups.module.css"

type JoinRequest = NonNullable<Response<"skein.v1.GroupService/ListJoinRequests">["requests"]>[number]

/** Who asks to join a group, for its admins. */
export function useJoinRequests(conversation: string): { list: readonly JoinRequest[]; known: boolean; load: Action<[], void> } {
  const client = useClient()
  const [list, setList] = useState<readonly JoinRequest[] | undefined>(undefined)
  const load = useAction(async () => setList((await client.call("skein.v1.GroupService/ListJoinRequests", { conversation, limit: 500 })).requests ?? []))
  const { run } = load
  useEffect(() => void run(), [run, conversation])
  useEvent("account", (e) => {
    if (e.type.startsWith("GROUP_JOIN_") && e.event.conversation === conversation) void run()
  })
  useEvent("group", (e) => {
    if (e.conversation === conversation && e.type === "MEMBER_ADDED") void run()
  })
  return { list: list ?? [], known: list !== undefined, load }
}

export function JoinRequests({ group, onBack }: { group: Group; onBack: () => void }) {
  const { t } = useLingui()
  const { list, known, load } = useJoinRequests(group.conversation)
  return (
    <Pane title={t`Requests to join`} onBack={onBack}>
      {load.error !== undefined && <ErrorNote error={load.error} onRetry={() => void load.run()} />}
      {!known && load.error === undefined && <Loading />}
      {known && list.length === 0 && <Empty icon={<UserRoundCheck />} title={t`Nobody is waiting`}><Trans>Requests to join with an invite link appear here.</Trans></Empty>}
      <ul className={s.list}>{list.map((r) => <One key={r.user} conversation={group.conversation} r={r} onDone={() => void load.run()} />)}</ul>
    </Pane>
  )
}

function One({ conversation, r, onDone }: { conversation: string; r: JoinRequest; onDone: () => void }) {
  const client = useClient()
  const day = useDay()
  const answer = useAction(async (approve: boolean) => {
    if (approve) await client.call("skein.v1.GroupService/ApproveJoin", { conversation, user: r.user })
    else await client.call("skein.v1.GroupService/RefuseJoin", { conversation, user: r.user })
    onDone()
  })
  return (
    <Person id={r.user} presence={false} about={<Trans>asked on {day(r.createdAtMs)}</Trans>}>
      {r.text && <p className={s.quote}>{r.text}</p>}
      <div className={s.answer}>
        <Button look="primary" busy={answer.pending} onClick={() => void answer.run(true)}><Trans>Let in</Trans></Button>
        <Button disabled={answer.pending} onClick={() => void answer.run(false)}><Trans>Decline</Trans></Button>
        {answer.error !== undefined && <ErrorNote error={answer.error} />}
      </div>
    </Person>
  )
}
