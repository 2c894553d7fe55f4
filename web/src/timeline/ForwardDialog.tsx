import { useMemo, useState } from "react"
import { plural } from "@lingui/core/macro"
import { Trans, useLingui } from "@lingui/react/macro"
import { Bookmark, Check } from "lucide-react"
import type { Message, Summary } from "@skein-im/client"
import { dm, SkeinError } from "@skein-im/client"
import { useClient, useConversations, useUsers } from "@skein-im/react"
import { Avatar, Button, Checkbox, Dialog, ErrorNote, Field, toast } from "../ui/index.js"
import { useRemarks } from "../people/book.js"
import { nameOf } from "./names.js"
import { PersonAvatar } from "./PersonAvatar.js"
import { talkOf } from "./talk.js"
import s from "./Dialogs.module.css"

interface To {
  id: string
  name: string
  peer: string
}

/** Copies of messages into other conversations: each by itself, or all in one message. The server says who wrote them. */
export function ForwardDialog({ messages, onClose }: { messages: readonly Message[]; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [query, setQuery] = useState("")
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [merge, setMerge] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const all = useTargets()
  const fits = all.filter((x) => x.name.toLocaleLowerCase().includes(query.trim().toLocaleLowerCase()))
  const toggle = (id: string): void => setChosen((old) => {
    const now = new Set(old)
    if (!now.delete(id)) now.add(id)
    return now
  })
  const send = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      for (const to of chosen) {
        await forward(client, messages, to, merge ? titleOf(messages, t`Messages`, client) : undefined)
        setChosen((old) => new Set([...old].filter((x) => x !== to))) // what was sent is not sent again by another try
      }
      toast(t`${plural(chosen.size, { one: "Forwarded", other: "Forwarded to # conversations" })}`)
      for (const c of new Set(messages.map((m) => m.conversation))) talkOf(client, c).endSelection()
      onClose()
    } catch (e) {
      setError(e)
    }
    setBusy(false)
  }
  return (
    <Dialog
      open onClose={onClose} title={t`${plural(messages.length, { one: "Forward the message", other: "Forward # messages" })}`}
      actions={<Button look="primary" busy={busy} disabled={chosen.size === 0} onClick={() => void send()}>{chosen.size > 1 ? t`Forward to ${chosen.size}` : t`Forward`}</Button>}
    >
      <Field label={t`Find a conversation`} bare placeholder={t`Find a conversation`} value={query} onChange={(e) => setQuery(e.currentTarget.value)} autoFocus />
      <div className={s.targets} role="group" aria-label={t`Conversations`}>
        {fits.map((x) => (
          <button key={x.id} type="button" role="checkbox" aria-checked={chosen.has(x.id)} className={s.target} onClick={() => toggle(x.id)}>
            {x.peer === "" ? x.id.startsWith("grp:") ? <Avatar id={x.id} name={x.name} group size="s" /> : <Bookmark aria-hidden="true" /> : <PersonAvatar user={x.peer} />}
            <bdi>{x.name}</bdi>
            {chosen.has(x.id) && <Check aria-hidden="true" />}
          </button>
        ))}
        {fits.length === 0 && <p className={s.none}><Trans>No conversation with that name.</Trans></p>}
      </div>
      {messages.length > 1 && <Checkbox label={t`All in one message`} checked={merge} onChange={setMerge} />}
      {error !== undefined && <ErrorNote error={error} />}
    </Dialog>
  )
}

/** Where one may write: newest first, one's own notes before. */
function useTargets(): To[] {
  const { t } = useLingui()
  const client = useClient()
  const conversations = useConversations()
  const users = useUsers(useMemo(() => conversations.map((c) => c.peer).filter((p) => p !== ""), [conversations]))
  const remarks = useRemarks()
  return useMemo(() => {
    const own = dm(client.user, client.user)
    const name = (c: Summary): string => (c.kind === "group" ? c.title || t`Group` : nameOf(users.get(c.peer), remarks.get(c.peer)))
    return [{ id: own, name: t`Saved messages`, peer: "" }, ...conversations.filter((c) => c.id !== own && c.member).map((c) => ({ id: c.id, name: name(c), peer: c.peer }))]
  }, [client, conversations, users, remarks, t])
}

function titleOf(messages: readonly Message[], fallback: string, client: ReturnType<typeof useClient>): string {
  const c = messages[0]?.conversation ?? ""
  return client.conversation(c).summary.getSnapshot()?.title || fallback
}

async function forward(client: ReturnType<typeof useClient>, messages: readonly Message[], to: string, title: string | undefined): Promise<void> {
  const r = await client.call("skein.v1.MessageService/ForwardMessages", {
    conversation: to, messages: messages.map((m) => ({ conversation: m.conversation, seq: String(m.seq) })), ...(title === undefined ? {} : { merge: { title } }),
  })
  if (r.error !== undefined) throw new SkeinError({ code: r.error.code ?? "unavailable", message: r.error.message ?? "" })
}
