import { Trans, useLingui } from "@lingui/react/macro"
import { SquarePen, UserPlus, UsersRound } from "lucide-react"
import { Link, useLocation } from "wouter"
import type { Summary } from "@skein-im/client"
import { useConversations } from "../hooks.js"
import { Avatar, Badge, cx, Empty, IconButton, Menu, MenuItem } from "../ui/index.js"
import { useTitle } from "./title.js"
import s from "./ConversationList.module.css"

/** All conversations, those that are pinned first. */
export function ConversationList({ selected }: { selected?: string | undefined }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const shown = useConversations().filter((c) => !c.hidden)
  const ordered = [...shown.filter((c) => c.mine.pinned), ...shown.filter((c) => !c.mine.pinned)]
  return (
    <>
      <header className={s.head}>
        <h1 className={s.title}><Trans>Chats</Trans></h1>
        <Menu trigger={<IconButton label={t`New`}><SquarePen /></IconButton>}>
          <MenuItem icon={<UserPlus />} onClick={() => go("/people")}><Trans>New chat</Trans></MenuItem>
          <MenuItem icon={<UsersRound />} onClick={() => go("/new-group")}><Trans>New group</Trans></MenuItem>
        </Menu>
      </header>
      {ordered.length === 0 ? <Empty title={t`No conversations yet`}><Trans>Those that you begin, and groups that you are in, are here.</Trans></Empty> : (
        <ul className={s.list}>{ordered.map((c) => <Row key={c.id} c={c} selected={c.id === selected} />)}</ul>
      )}
    </>
  )
}

function Row({ c, selected }: { c: Summary; selected: boolean }) {
  const { t } = useLingui()
  const title = useTitle(c.id)
  return (
    <li>
      <Link to={`/c/${c.id}`} className={cx(s.row, selected && s.selected)} aria-current={selected ? "page" : undefined}>
        <Avatar id={title.id} name={title.name} src={title.picture} group={title.group} online={title.online} />
        <span className={s.body}>
          <span className={s.line}><span className={s.name}>{title.name}</span></span>
          <span className={s.line}>
            <span className={s.preview}>{c.last?.text}</span>
            <Badge count={c.unread} label={t`${c.unread} unread`} />
          </span>
        </span>
      </Link>
    </li>
  )
}
