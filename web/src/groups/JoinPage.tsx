import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Link2Off } from "lucide-react"
import { useEffect, useState, type FormEvent, type ReactNode } from "react"
import { useLocation } from "wouter"
import { SkeinError, type Response } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { useSession } from "../auth/useSession.js"
import { Button, Empty, ErrorNote, Loading, Note, TextArea } from "../ui/index.js"
import { GroupFace } from "../people/Person.js"
import { isOf, useFieldError } from "../people/says.js"
import { Newcomer } from "./Newcomer.js"
import { takeIntent } from "./intent.js"
import s from "./Groups.module.css"

export type Invited = Response<"skein.v1.GroupService/GetInviteLink">

/** What an invite link leads to: for who is logged in, a group to join; for who is not, a way to be somebody first. */
export function JoinPage({ token }: { token: string }) {
  const session = useSession()
  return session === undefined ? <Newcomer token={token} /> : <Join token={token} />
}

/** The group as whoever has the link sees it. */
export function GroupCard({ token, invited, children }: { token: string; invited: Invited; children?: ReactNode }) {
  return (
    <div className={s.group}>
      <GroupFace id={token} name={invited.name} picture={invited.picture} size="xl" />
      <h1 className={s.name}><bdi>{invited.name}</bdi></h1>
      <p className={s.quiet}><Plural value={invited.members} one="# member" other="# members" /></p>
      {children}
    </div>
  )
}

function Join({ token }: { token: string }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const fieldError = useFieldError()
  const [invited, setInvited] = useState<Invited | undefined>(undefined)
  const [asked, setAsked] = useState("")
  const [text, setText] = useState("")
  const look = useAction(async () => setInvited(await client.call("skein.v1.GroupService/GetInviteLink", { code: token })))
  const join = useAction(async () => {
    const { group } = await client.call("skein.v1.GroupService/JoinByLink", { code: token })
    go(`/c/${group.conversation}`, { replace: true })
  })
  const ask = useAction(async () => setAsked((await client.call("skein.v1.GroupService/RequestToJoin", { code: token, text: text.trim() })).conversation))
  const withdraw = useAction(async () => {
    await client.call("skein.v1.GroupService/WithdrawJoin", { conversation: asked })
    setAsked("")
  })
  const { run } = look
  const { run: runJoin } = join
  useEffect(() => void run(), [run, token])
  useEffect(() => {
    // Who just registered on the page of the link said already that they come.
    if (invited !== undefined && invited.approval !== true && takeIntent(token)) void runJoin()
  }, [invited, runJoin, token])
  if (look.error?.code === "not_found") return <Empty icon={<Link2Off />} title={t`This link does not work any more`}><Trans>It has expired, been used up or been revoked. Ask for a new one.</Trans></Empty>
  if (look.error?.code === "permission_denied") return <Empty icon={<Link2Off />} title={t`You can’t join with this link`}><Trans>This group can’t be joined with your account.</Trans></Empty>
  if (look.error !== undefined) return <div className={s.card}><ErrorNote error={look.error} onRetry={() => void run()} /></div>
  if (invited === undefined) return <Loading />
  const submit = (e: FormEvent): void => {
    e.preventDefault()
    void ask.run()
  }
  const inAlready = ask.error instanceof SkeinError && ask.error.code === "already_exists"
  return (
    <div className={s.joinPane}>
      <div className={s.card}>
        <GroupCard token={token} invited={invited} />
        {invited.approval !== true ? (
          <>
            <Button look="primary" wide busy={join.pending} onClick={() => void join.run()}><Trans>Join</Trans></Button>
            {join.error !== undefined && <ErrorNote error={join.error} />}
          </>
        ) : asked !== "" ? (
          <>
            <Note tone="success"><Trans>Request sent. The group appears in your list once an admin lets you in.</Trans></Note>
            <Button busy={withdraw.pending} onClick={() => void withdraw.run()}><Trans>Withdraw request</Trans></Button>
            {withdraw.error !== undefined && <ErrorNote error={withdraw.error} />}
          </>
        ) : (
          <form onSubmit={submit}>
            <TextArea label={t`Message to the admins`} value={text} onChange={(e) => setText(e.currentTarget.value)} maxLength={200} placeholder={t`Who you are, and why you want to join`} error={fieldError(ask.error, "text")} />
            {inAlready ? <Note><Trans>You are already in this group.</Trans> <Button look="quiet" onClick={() => void join.run()}><Trans>Open it</Trans></Button></Note> : ask.error !== undefined && !isOf(ask.error, "text") && <ErrorNote error={ask.error} />}
            <Button look="primary" wide submit busy={ask.pending}><Trans>Ask to join</Trans></Button>
          </form>
        )}
      </div>
    </div>
  )
}
