import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { MailPlus } from "lucide-react"
import { useCallback, useEffect, useState } from "react"
import { useLocation } from "wouter"
import type { Response } from "@skein-im/client"
import { useAction, useClient, useEvent, type Action } from "@skein-im/react"
import { Button, Empty, ErrorNote, Loading } from "../ui/index.js"
import { GroupFace, useCalled } from "./Person.js"
import s from "./People.module.css"

type Invitation = NonNullable<Response<"skein.v1.GroupService/ListInvitations">["invitations"]>[number]

export interface InvitationList {
  list: readonly Invitation[]
  known: boolean
  load: Action<[], void>
}

/** The groups that the user is invited to. */
export function useInvitations(): InvitationList {
  const client = useClient()
  const [list, setList] = useState<readonly Invitation[] | undefined>(undefined)
  const load = useAction(async () => {
    const all: Invitation[] = []
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const r: Response<"skein.v1.GroupService/ListInvitations"> = await client.call("skein.v1.GroupService/ListInvitations", { limit: 200, cursor })
      all.push(...(r.invitations ?? []))
      cursor = r.next || undefined
    }
    setList(all)
  })
  const { run } = load
  useEffect(() => void run(), [run])
  const heard = useCallback(({ type }: { type: string }) => {
    if (type === "GROUP_INVITED" || type === "GROUP_INVITATION_REFUSED") void run()
  }, [run])
  useEvent("account", heard)
  return { list: list ?? [], known: list !== undefined, load }
}

export function Invitations({ of: { list, known, load } }: { of: InvitationList }) {
  const { t } = useLingui()
  if (load.error !== undefined && !known) return <ErrorNote error={load.error} onRetry={() => void load.run()} />
  if (!known) return <Loading />
  if (list.length === 0) return <Empty icon={<MailPlus />} title={t`No invitations`}><Trans>Invitations to groups appear here.</Trans></Empty>
  return <ul className={s.list}>{list.map((i) => <One key={i.conversation} i={i} onDone={() => void load.run()} />)}</ul>
}

function One({ i, onDone }: { i: Invitation; onDone: () => void }) {
  const client = useClient()
  const [, go] = useLocation()
  const inviter = useCalled(i.inviter)
  const answer = useAction(async (accept: boolean) => {
    if (accept) await client.call("skein.v1.GroupService/AcceptInvitation", { conversation: i.conversation })
    else await client.call("skein.v1.GroupService/RefuseInvitation", { conversation: i.conversation })
    onDone()
    if (accept) go(`/c/${i.conversation}`)
  })
  return (
    <li>
      <div className={s.open}>
        <GroupFace id={i.conversation} name={i.name} picture={i.picture} />
        <span className={s.words}>
          <bdi className={s.name}>{i.name}</bdi>
          <span className={s.below}><Trans>{inviter} invites you</Trans> · <Plural value={i.members ?? 0} one="# member" other="# members" /></span>
        </span>
      </div>
      <div className={s.answer}>
        <Button look="primary" busy={answer.pending} onClick={() => void answer.run(true)}><Trans>Join</Trans></Button>
        <Button disabled={answer.pending} onClick={() => void answer.run(false)}><Trans>Decline</Trans></Button>
        {answer.error !== undefined && <ErrorNote error={answer.error} />}
      </div>
    </li>
  )
}
