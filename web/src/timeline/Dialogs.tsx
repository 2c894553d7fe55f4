import { useEffect, useState, type ReactNode } from "react"
import { plural } from "@lingui/core/macro"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { bodyOf } from "@skein-im/client/content"
import type { Message, Response, SkeinError } from "@skein-im/client"
import { errorFrom, useAction, useClient } from "@skein-im/react"
import { Button, Choice, Confirm, Dialog, ErrorNote, Loading, Tabs, TextArea, toast } from "../ui/index.js"
import { useScene, type OpenDialog } from "./context.js"
import { ForwardDialog } from "./ForwardDialog.js"
import { momentOf } from "./format.js"
import { useNames } from "./names.js"
import { PersonAvatar } from "./PersonAvatar.js"
import { ReactionMark } from "./stickers.js"
import { talkOf } from "./talk.js"
import { Text } from "./Text.js"
import s from "./Dialogs.module.css"

/** The dialog about a message that is open, if one is. */
export function Dialogs({ dialog: d, onClose }: { dialog: OpenDialog | undefined; onClose: () => void }): ReactNode {
  switch (d?.t) {
    case undefined:
      return null
    case "forward":
      return <ForwardDialog messages={d.messages} onClose={onClose} />
    case "edits":
      return <Edits message={d.message} onClose={onClose} />
    case "readers":
      return <Readers message={d.message} onClose={onClose} />
    case "reactions":
      return <Reacted message={d.message} onClose={onClose} />
    case "votes":
      return <Votes message={d.message} onClose={onClose} />
    case "recall":
      return <Recall message={d.message} onClose={onClose} />
    case "report":
      return <Report message={d.message} onClose={onClose} />
    case "deleteForMe":
      return <DeleteForMe messages={[d.message]} onClose={onClose} />
    case "deleteMany":
      return <DeleteForMe messages={d.messages} onClose={onClose} />
  }
}

interface Of {
  message: Message
  onClose: () => void
}

function Recall({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const client = useClient()
  return (
    <Confirm open onClose={onClose} title={t`Delete this message for everyone?`} action={t`Delete`} danger onConfirm={() => client.conversation(m.conversation).recall(m.seq)}>
      <Trans>It is deleted for everyone here. A note that there was a message remains.</Trans>
    </Confirm>
  )
}

type Reason = "REPORT_REASON_SPAM" | "REPORT_REASON_ABUSE" | "REPORT_REASON_ILLEGAL" | "REPORT_REASON_OTHER"

/** Tells the moderators of this server about a message. */
function Report({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const client = useClient()
  const [reason, setReason] = useState<Reason>("REPORT_REASON_SPAM")
  const [text, setText] = useState("")
  const send = useAction(async () => {
    await client.call("skein.v1.MessageService/ReportMessage", { conversation: m.conversation, seq: String(m.seq), reason, text: text.trim() })
    onClose()
    toast(t`Thank you. The moderators see it now.`)
  })
  return (
    <Dialog open onClose={onClose} title={t`Report this message?`} size="s" about={t`The moderators of this server see it, with the messages around it. Whoever wrote it is not told.`}
      actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" busy={send.pending} onClick={() => void send.run()}><Trans>Report</Trans></Button></>}>
      <Choice label={t`What is wrong with it?`} value={reason} onChange={setReason} options={[
        { value: "REPORT_REASON_SPAM", label: t`Spam` }, { value: "REPORT_REASON_ABUSE", label: t`Abuse`, about: t`Insults, threats, harassment.` }, { value: "REPORT_REASON_ILLEGAL", label: t`Illegal` }, { value: "REPORT_REASON_OTHER", label: t`Other` },
      ]} />
      <TextArea label={t`What they should know`} value={text} onChange={(e) => setText(e.currentTarget.value)} maxLength={1000} />
      {send.error !== undefined && <ErrorNote error={send.error} />}
    </Dialog>
  )
}

function DeleteForMe({ messages, onClose }: { messages: readonly Message[]; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const { conversation, thread } = useScene()
  const run = async (): Promise<void> => {
    await client.conversation(conversation).deleteForMe(...messages.map((m) => m.seq).filter((n) => n > 0))
    talkOf(client, conversation, thread).endSelection()
  }
  return (
    <Confirm open onClose={onClose} title={t`${plural(messages.length, { one: "Delete the message for you?", other: "Delete # messages for you?" })}`} action={t`Delete for me`} danger onConfirm={run}>
      <Trans>They are deleted from all your devices for good. Others keep them.</Trans>
    </Confirm>
  )
}

interface Paged<T> {
  items: readonly T[]
  more: boolean
  loading: boolean
  error: SkeinError | undefined
  next: () => void
}

/** Pages of a list, the first at once. */
function usePages<T>(read: (cursor: string) => Promise<{ items: readonly T[]; next: string }>, key: string): Paged<T> {
  const [state, setState] = useState<{ items: readonly T[]; cursor: string | undefined; error: SkeinError | undefined; loading: boolean }>({ items: [], cursor: "", error: undefined, loading: true })
  const load = (cursor: string, before: readonly T[], alive: () => boolean): void => {
    setState((o) => ({ ...o, loading: true, error: undefined }))
    read(cursor).then(
      (r) => { if (alive()) setState({ items: [...before, ...r.items], cursor: r.next === "" ? undefined : r.next, error: undefined, loading: false }) },
      (e: unknown) => { if (alive()) setState((o) => ({ ...o, error: errorFrom(e), loading: false })) },
    )
  }
  useEffect(() => {
    let here = true
    load("", [], () => here)
    return () => { here = false }
    // Read anew for another thing, not for another function.
  }, [key])
  return { items: state.items, more: state.cursor !== undefined, loading: state.loading, error: state.error, next: () => load(state.cursor ?? "", state.items, () => true) }
}

function Pages<T>({ pages: p, empty, children }: { pages: Paged<T>; empty: string; children: (item: T, i: number) => ReactNode }) {
  if (p.items.length === 0 && p.loading) return <div className={s.wait}><Loading /></div>
  if (p.error !== undefined) return <ErrorNote error={p.error} onRetry={p.next} />
  if (p.items.length === 0) return <p className={s.none}>{empty}</p>
  return (
    <>
      <ul className={s.list}>{p.items.map(children)}</ul>
      {p.more && <Button wide look="quiet" busy={p.loading} onClick={p.next}><Trans>Show more</Trans></Button>}
    </>
  )
}

function Person({ user, children }: { user: string; children?: ReactNode }) {
  const { profile, group } = useScene()
  const names = useNames([user], group)
  return (
    <li className={s.person}>
      <button type="button" className={s.who} onClick={() => profile(user)}><PersonAvatar user={user} /><bdi>{names.name(user)}</bdi></button>
      {children}
    </li>
  )
}

type Version = NonNullable<Response<"skein.v1.MessageService/ListEdits">["versions"]>[number]

function Edits({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const client = useClient()
  const pages = usePages<Version>(async (cursor) => {
    const r = await client.call("skein.v1.MessageService/ListEdits", { conversation: m.conversation, seq: String(m.seq), limit: 20, before: Number(cursor || 0) })
    return { items: r.versions ?? [], next: r.next === undefined || r.next === 0 ? "" : String(r.next) }
  }, m.id)
  return (
    <Dialog open onClose={onClose} title={t`Edit history`}>
      <div className={s.version}><time>{momentOf(m.editedAtMs)}</time>{m.type === "text" ? <Text text={m.text} of={m} /> : m.fallback}</div>
      <Pages pages={pages} empty={t`Nothing earlier is kept.`}>
        {(v) => (
          <li key={v.version} className={s.version}>
            <time>{momentOf(Number(v.atMs ?? 0))}</time>
            {v.content?.type === "text" ? <Text text={v.content.text ?? ""} of={{ mentions: v.mentions ?? [], groupMention: undefined }} /> : v.content?.fallback}
          </li>
        )}
      </Pages>
    </Dialog>
  )
}

function Readers({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const client = useClient()
  const pages = usePages<{ read: readonly string[]; received: readonly string[] }>(async () => {
    const r = await client.call("skein.v1.MessageService/ListReaders", { conversation: m.conversation, seq: String(m.seq) })
    return { items: [{ read: r.read ?? [], received: r.received ?? [] }], next: "" }
  }, m.id)
  return (
    <Dialog open onClose={onClose} title={t`Read by`} size="s">
      {pages.items.length === 0 ? <Pages pages={pages} empty="">{() => null}</Pages> : pages.items.map((r, i) => (
        <div key={i} className={s.readers}>
          <h3><Plural value={r.read.length} _0="Nobody has read it yet" one="Read by # person" other="Read by # people" /></h3>
          <ul className={s.list}>{r.read.map((u) => <Person key={u} user={u} />)}</ul>
          {r.received.length > 0 && <h3><Plural value={r.received.length} one="Delivered to # more" other="Delivered to # more" /></h3>}
          <ul className={s.list}>{r.received.map((u) => <Person key={u} user={u} />)}</ul>
        </div>
      ))}
    </Dialog>
  )
}

interface WithReaction {
  user?: string
  reaction?: string
}

function Reacted({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const [kind, setKind] = useState("all")
  const total = m.reactions.reduce((n, r) => n + (r.count ?? 0), 0)
  const tabs = [{ value: "all", label: t`All ${total}` }, ...m.reactions.map((r) => ({ value: r.reaction, label: <><ReactionMark reaction={r.reaction} /> {r.count}</> }))]
  return (
    <Dialog open onClose={onClose} title={t`Reactions`} size="s">
      <Tabs label={t`Reactions`} value={kind} tabs={tabs} onChange={setKind} />
      <ReactedList key={kind} message={m} reaction={kind === "all" ? "" : kind} />
    </Dialog>
  )
}

function ReactedList({ message: m, reaction }: { message: Message; reaction: string }) {
  const { t } = useLingui()
  const client = useClient()
  const pages = usePages<WithReaction>(async (cursor) => {
    const r = await client.call("skein.v1.MessageService/ListReactions", { conversation: m.conversation, seq: String(m.seq), reaction, cursor })
    return { items: r.reacted ?? [], next: r.next ?? "" }
  }, `${m.id} ${reaction}`)
  return (
    <Pages pages={pages} empty={t`No reactions.`}>
      {(r) => <Person key={`${r.user} ${r.reaction}`} user={r.user ?? ""}><span className={s.mark}><ReactionMark reaction={r.reaction ?? ""} /></span></Person>}
    </Pages>
  )
}

interface Vote {
  user?: string
  options?: string[]
}

function Votes({ message: m, onClose }: Of) {
  const { t } = useLingui()
  const client = useClient()
  const body = bodyOf(m)
  const options = body.t === "poll" ? body.poll.options : []
  const [option, setOption] = useState("all")
  const tabs = [{ value: "all", label: t`All` }, ...options.map((o) => ({ value: o.id, label: o.text }))]
  return (
    <Dialog open onClose={onClose} title={t`Votes`} about={body.t === "poll" ? body.poll.question : undefined}>
      <Tabs label={t`Options`} value={option} tabs={tabs} onChange={setOption} />
      <VoteList key={option} message={m} option={option === "all" ? "" : option} text={(id) => options.find((o) => o.id === id)?.text ?? id} client={client} />
    </Dialog>
  )
}

function VoteList({ message: m, option, text, client }: { message: Message; option: string; text: (id: string) => string; client: ReturnType<typeof useClient> }) {
  const { t } = useLingui()
  const pages = usePages<Vote>(async (cursor) => {
    const r = await client.call("skein.v1.MessageService/ListVotes", { conversation: m.conversation, seq: String(m.seq), option, cursor })
    return { items: r.voted ?? [], next: r.next ?? "" }
  }, `${m.id} ${option}`)
  return (
    <Pages pages={pages} empty={t`No votes.`}>
      {(v) => <Person key={v.user} user={v.user ?? ""}><span className={s.chosen}>{(v.options ?? []).map(text).join(", ")}</span></Person>}
    </Pages>
  )
}
