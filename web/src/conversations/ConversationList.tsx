import { Trans, useLingui } from "@lingui/react/macro"
import type { Summary } from "@skein-im/client"
import { useConnection, useConversations } from "@skein-im/react"
import { Archive, ArrowLeft, MessagesSquare, Search, SquarePen, UserPlus, UsersRound } from "lucide-react"
import { useRef, useState, type KeyboardEvent } from "react"
import { useLocation } from "wouter"
import { openSwitcher } from "../shell/switcher.js"
import { useOnePane } from "../shell/useOnePane.js"
import { Button, cx, Empty, IconButton, later, Menu, MenuItem, Skeleton } from "../ui/index.js"
import { folders, ordered, type Filter } from "./order.js"
import { Row } from "./Row.js"
import s from "./ConversationList.module.css"

const Greetings = later(() => import("./Greetings.js").then((m) => m.Greetings))
const Start = later(() => import("../shell/Start.js").then((m) => m.Start))

/** All conversations, those that are pinned first; by filter and folder. */
export function ConversationList({ selected }: { selected?: string | undefined }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const all = useConversations()
  const [filter, setFilter] = useState<Filter>("all")
  const shown = ordered(all, filter, selected)
  const hidden = all.some((c) => c.hidden)
  const named = folders(all)
  const filters: { value: Filter; label: string }[] = [
    { value: "all", label: t`All` }, { value: "unread", label: t`Unread` }, { value: "groups", label: t`Groups` },
    ...named.map((f) => ({ value: `folder:${f}` as const, label: f })),
  ]
  return (
    <>
      <header className={s.head}>
        {filter === "hidden" && <IconButton label={t`Back`} onClick={() => setFilter("all")}><ArrowLeft /></IconButton>}
        <h1 className={s.title}>{filter === "hidden" ? <Trans>Hidden chats</Trans> : <Trans>Chats</Trans>}</h1>
        <Menu trigger={<IconButton label={t`New chat or group`}><SquarePen /></IconButton>}>
          <MenuItem icon={<UserPlus />} onClick={() => go("/people")}><Trans>New chat</Trans></MenuItem>
          <MenuItem icon={<UsersRound />} onClick={() => go("/new-group")}><Trans>New group</Trans></MenuItem>
          {hidden && <MenuItem icon={<Archive />} onClick={() => setFilter("hidden")}><Trans>Hidden chats</Trans></MenuItem>}
        </Menu>
      </header>
      {filter !== "hidden" && (
        <div className={s.tools}>
          <button type="button" className={s.jump} onClick={openSwitcher}>
            <Search aria-hidden="true" /><span className={s.jumpText}><Trans>Jump to…</Trans></span><kbd className={s.key}>{/Mac|iP/.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
          </button>
          {all.length > 0 && (
            <div className={s.filters} role="group" aria-label={t`Show`}>
              {filters.map((f) => <button key={f.value} type="button" className={cx(s.filter, f.value === filter && s.on)} aria-pressed={f.value === filter} onClick={() => setFilter(f.value)}>{f.label}</button>)}
            </div>
          )}
        </div>
      )}
      <div className={s.scroll}>
        {filter === "all" && <Greetings selected={selected} />}
        <List shown={shown} selected={selected} filter={filter} none={all.length === 0} onAll={() => setFilter("all")} />
      </div>
    </>
  )
}

function List({ shown, selected, filter, none, onAll }: { shown: readonly Summary[]; selected: string | undefined; filter: Filter; none: boolean; onAll: () => void }) {
  const { t } = useLingui()
  const { state } = useConnection()
  const one = useOnePane()
  const asked = useRef(false)
  if (state === "connected") asked.current = true
  // An empty list before the first answer says nothing yet.
  if (none && !asked.current) return <Waiting />
  if (none && one) return <Start /> // the pane beside it has no room here
  if (none) return <Empty icon={<MessagesSquare />} title={t`No conversations yet`}><Trans>Your chats and groups appear here.</Trans></Empty>
  if (shown.length === 0) {
    return (
      <Empty title={filter === "unread" ? t`All caught up` : t`Nothing here`} action={<Button look="quiet" onClick={onAll}><Trans>Show all</Trans></Button>} />
    )
  }
  return <ul className={s.list} onKeyDown={walk}>{shown.map((c) => <Row key={c.id} c={c} selected={c.id === selected} />)}</ul>
}

function Waiting() {
  const { t } = useLingui()
  return (
    <ul className={s.list} aria-label={t`Loading`} aria-busy="true">
      {[62, 48, 70, 55, 40].map((w) => <li key={w} className={s.bone}><Skeleton round /><Skeleton lines={2} width={`${w}%`} /></li>)}
    </ul>
  )
}

/** Arrows walk the list. */
function walk(e: KeyboardEvent<HTMLElement>): void {
  const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : e.key === "Home" ? -Infinity : e.key === "End" ? Infinity : 0
  if (step === 0 || e.altKey || e.ctrlKey || e.metaKey) return
  const rows = [...e.currentTarget.querySelectorAll<HTMLElement>("a")]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const to = Math.min(Math.max(at + step, 0), rows.length - 1)
  rows[to]?.focus()
  e.preventDefault()
}
