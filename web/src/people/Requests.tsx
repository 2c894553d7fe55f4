import { Trans, useLingui } from "@lingui/react/macro"
import { Ban, EllipsisVertical, MailOpen, X } from "lucide-react"
import { useLocation } from "wouter"
import { useAction, useClient } from "@skein-im/react"
import { Button, Empty, ErrorNote, Menu, MenuItem, IconButton } from "../ui/index.js"
import { useBook, type Contact } from "./book.js"
import { onShelf } from "./shelves.js"
import { Person } from "./Person.js"
import s from "./People.module.css"

/** Who asks to be a contact, with what they say. */
export function Waiting({ asking }: { asking: readonly Contact[] }) {
  if (asking.length === 0) return null
  return (
    <section className={s.section}>
      <h2 className={s.heading}><Trans>Waiting for your answer</Trans></h2>
      <ul className={s.list}>{asking.map((c) => <Asking key={c.user.id} c={c} />)}</ul>
    </section>
  )
}

/** Who asks to be a contact, and whom the user asked. */
export function Requests({ contacts }: { contacts: ReadonlyMap<string, Contact> }) {
  const { t, i18n } = useLingui()
  const asking = onShelf(contacts, "asksMe", i18n.locale)
  const asked = onShelf(contacts, "asked", i18n.locale)
  if (asking.length + asked.length === 0) return <Empty icon={<MailOpen />} title={t`No requests`}><Trans>Contact requests you receive and send appear here.</Trans></Empty>
  return (
    <>
      <Waiting asking={asking} />
      {asked.length > 0 && (
        <section className={s.section}>
          <h2 className={s.heading}><Trans>Sent by you</Trans></h2>
          <ul className={s.list}>{asked.map((c) => <Asked key={c.user.id} c={c} />)}</ul>
        </section>
      )}
    </>
  )
}

function Asking({ c }: { c: Contact }) {
  const { t, i18n } = useLingui()
  const [, go] = useLocation()
  const client = useClient()
  const { read } = useBook()
  const id = c.user.id
  const answer = useAction(async (how: "accept" | "refuse" | "block") => {
    if (how === "accept") await client.call("skein.v1.ContactService/AcceptContact", { user: id })
    else if (how === "refuse") await client.call("skein.v1.ContactService/RefuseContact", { user: id })
    else await client.call("skein.v1.ContactService/BlockUser", { user: id })
    read()
    if (how === "accept") go(`/c/${client.dm(id).id}`)
  })
  const when = i18n.date(new Date(Number(c.changedAtMs ?? 0)), { day: "numeric", month: "short" })
  return (
    <Person
      id={id} presence={false} onOpen={() => go(`/people/${id}`)} about={c.user.username ? `@${c.user.username} · ${when}` : when}
      end={
        <Menu trigger={<IconButton label={t`More`}><EllipsisVertical /></IconButton>}>
          <MenuItem icon={<Ban />} danger onClick={() => void answer.run("block")}><Trans>Block</Trans></MenuItem>
        </Menu>
      }
    >
      {c.message && <p className={s.quote}>{c.message}</p>}
      <div className={s.answer}>
        <Button look="primary" busy={answer.pending} onClick={() => void answer.run("accept")}><Trans>Accept</Trans></Button>
        <Button disabled={answer.pending} onClick={() => void answer.run("refuse")}><Trans>Decline</Trans></Button>
        {answer.error !== undefined && <ErrorNote error={answer.error} />}
      </div>
    </Person>
  )
}

function Asked({ c }: { c: Contact }) {
  const { t, i18n } = useLingui()
  const [, go] = useLocation()
  const client = useClient()
  const { read } = useBook()
  const withdraw = useAction(async () => {
    await client.call("skein.v1.ContactService/RemoveContact", { user: c.user.id })
    read()
  })
  const until = i18n.date(new Date(Number(c.expiresAtMs ?? 0)), { day: "numeric", month: "short" })
  return (
    <Person
      id={c.user.id} presence={false} onOpen={() => go(`/people/${c.user.id}`)} about={c.expiresAtMs === undefined ? t`waiting for an answer` : t`waiting for an answer until ${until}`}
      end={<IconButton label={t`Withdraw request`} disabled={withdraw.pending} onClick={() => void withdraw.run()}><X /></IconButton>}
    >
      {withdraw.error !== undefined && <ErrorNote error={withdraw.error} />}
    </Person>
  )
}
