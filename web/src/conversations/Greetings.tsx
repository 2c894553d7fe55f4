import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useClient, useConversations } from "@skein-im/react"
import { useMemo } from "react"
import { Link } from "wouter"
import { useBook } from "../people/book.js"
import { newContacts, onShelf } from "../people/shelves.js"
import { useName } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Badge, cx } from "../ui/index.js"
import s from "./ConversationList.module.css"

/** Above the conversations: who waits for an answer, and new contacts with whom nothing was said yet. */
export function Greetings({ selected }: { selected: string | undefined }) {
  const client = useClient()
  const { contacts } = useBook()
  const all = useConversations()
  const asking = useMemo(() => onShelf(contacts, "asksMe", "en"), [contacts])
  const fresh = useMemo(() => {
    const begun = new Set(all.map((c) => c.peer))
    return newContacts([...contacts.values()], begun, client.serverTimeMs())
  }, [contacts, all, client])
  const first = asking[0]
  if (first === undefined && fresh.length === 0) return null
  return (
    <ul className={s.greetings}>
      {first !== undefined && <Asking first={first.user.id} count={asking.length} />}
      {fresh.map((id) => <Fresh key={id} id={id} to={client.dm(id).id} selected={selected} />)}
    </ul>
  )
}

function Asking({ first, count }: { first: string; count: number }) {
  const { t } = useLingui()
  const name = useName(first)
  return (
    <li>
      <Link to="/people" className={cx(s.row, s.unread)}>
        <PersonAvatar user={first} size="m" />
        <span className={s.body}>
          <span className={s.line}><span className={s.name}><bdi>{name}</bdi></span></span>
          <span className={s.line}>
            <span className={s.preview}>{count === 1 ? <Trans>wants to add you as a contact</Trans> : <Plural value={count - 1} one="and # other want to add you as a contact" other="and # others want to add you as a contact" />}</span>
            <Badge count={count} label={t`${count} waiting`} />
          </span>
        </span>
      </Link>
    </li>
  )
}

function Fresh({ id, to, selected }: { id: string; to: string; selected: string | undefined }) {
  const name = useName(id)
  return (
    <li>
      <Link to={`/c/${to}`} className={cx(s.row, to === selected && s.selected)} aria-current={to === selected ? "page" : undefined}>
        <PersonAvatar user={id} size="m" />
        <span className={s.body}>
          <span className={s.line}><span className={s.name}><bdi>{name}</bdi></span></span>
          <span className={s.line}><span className={s.preview}><Trans>You are now contacts. Say hello.</Trans></span></span>
        </span>
      </Link>
    </li>
  )
}
