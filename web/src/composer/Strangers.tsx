import { useState, type KeyboardEvent } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { SendHorizontal } from "lucide-react"
import { SkeinError } from "@skein-im/client"
import { useAction, useClient, type ChatClient } from "@skein-im/react"
import { peerIn } from "../conversations/title.js"
import { useBook, useContact } from "../people/book.js"
import { useName } from "../timeline/names.js"
import { Button, ErrorNote, IconButton, Spinner } from "../ui/index.js"
import { useDraft } from "./drafts.js"
import s from "./Composer.module.css"

/** What goes along with a contact request has at most so many characters. */
const longest = 200

/** In the place of the field, in a chat with somebody who is no contact: the first words, or what the request waits for. */
export function Strangers({ conversation, at }: { conversation: string; at: "stranger" | "asked" | "asksMe" }) {
  const client = useClient()
  const user = peerIn(conversation, client.user)
  const name = useName(user)
  return (
    <div className={s.write}>
      {at === "stranger" ? <FirstWords conversation={conversation} user={user} name={name} /> : at === "asked" ? <Asked user={user} name={name} /> : <AsksMe user={user} name={name} />}
    </div>
  )
}

/**
 * The first words go as a message to whoever lets everybody write to them, and with a contact request to whoever does
 * not: which it is only the server knows.
 */
async function sayFirst(client: ChatClient, conversation: string, user: string, text: string): Promise<void> {
  const send = (): Promise<unknown> => client.call("skein.v1.MessageService/SendMessage", { conversation, content: { type: "text", text } })
  try {
    await send()
  } catch (e) {
    if (!(e instanceof SkeinError) || e.code !== "not_contact") throw e
    const { contact } = await client.call("skein.v1.ContactService/RequestContact", { user, message: text })
    if (contact?.state === "CONTACT_STATE_CONTACT") await send() // they had asked, too
  }
}

function FirstWords({ conversation, user, name }: { conversation: string; user: string; name: string }) {
  const { t } = useLingui()
  const client = useClient()
  const { read } = useBook()
  const draft = useDraft(conversation, 0)
  const text = draft.text.slice(0, longest)
  const send = useAction(async () => {
    await sayFirst(client, conversation, user, text.trim())
    draft.sent(text)
    read()
  })
  const wait = send.error?.code === "rate_limited" ? Math.ceil(send.error.retryAfterMs / 3_600_000) : 0
  const empty = text.trim() === ""
  const go = (): void => { if (!empty && !send.pending) void send.run() }
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.nativeEvent.isComposing || e.keyCode === 229 || e.key !== "Enter" || e.shiftKey) return
    e.preventDefault()
    go()
  }
  return (
    <>
      <p className={s.first}><Trans>You and {name} are not contacts yet. Your first message is sent with a contact request if they only accept messages from contacts.</Trans></p>
      <div className={s.line}>
        <textarea className={s.area} rows={1} dir="auto" maxLength={longest} value={text} aria-label={t`First message`} placeholder={t`First message`} onChange={(e) => draft.set(e.currentTarget.value)} onKeyDown={onKeyDown} />
        <IconButton label={t`Send`} look="primary" disabled={empty || send.pending} onClick={go}>{send.pending ? <Spinner small /> : <SendHorizontal />}</IconButton>
      </div>
      {wait > 1 ? <p role="alert" className={s.first}><Trans>They declined recently. You can ask again in {wait} hours.</Trans></p> : send.error !== undefined && <ErrorNote error={send.error} onRetry={go} />}
    </>
  )
}

function Asked({ user, name }: { user: string; name: string }) {
  const client = useClient()
  const { read } = useBook()
  const message = useContact(user)?.message ?? ""
  const withdraw = useAction(async () => {
    await client.call("skein.v1.ContactService/RemoveContact", { user })
    read()
  })
  return (
    <div className={s.blocked} role="note">
      <div>
        <p><Trans>Contact request sent. You can message each other once {name} accepts.</Trans></p>
        {message !== "" && <p className={s.quoted} dir="auto">{message}</p>}
      </div>
      <Button look="quiet" busy={withdraw.pending} onClick={() => void withdraw.run()}><Trans>Withdraw request</Trans></Button>
      {withdraw.error !== undefined && <ErrorNote error={withdraw.error} />}
    </div>
  )
}

function AsksMe({ user, name }: { user: string; name: string }) {
  const client = useClient()
  const { read } = useBook()
  const message = useContact(user)?.message ?? ""
  const [accepting, setAccepting] = useState(false)
  const answer = useAction(async (accept: boolean) => {
    setAccepting(accept)
    await client.call(accept ? "skein.v1.ContactService/AcceptContact" : "skein.v1.ContactService/RefuseContact", { user })
    read()
  })
  return (
    <div className={s.blocked} role="note">
      <div>
        <p><Trans>{name} sent you a contact request.</Trans></p>
        {message !== "" && <p className={s.quoted} dir="auto">{message}</p>}
      </div>
      <Button look="primary" busy={answer.pending && accepting} disabled={answer.pending} onClick={() => void answer.run(true)}><Trans>Accept</Trans></Button>
      <Button busy={answer.pending && !accepting} disabled={answer.pending} onClick={() => void answer.run(false)}><Trans>Decline</Trans></Button>
      {answer.error !== undefined && <ErrorNote error={answer.error} />}
    </div>
  )
}
