import { useLingui } from "@lingui/react/macro"
import { useClient, useConversations, useUsers, type User } from "@skein-im/react"
import { Bookmark, MessagesSquare, Search, ServerCog, Settings, UserPlus, Users, UsersRound } from "lucide-react"
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react"
import { useLocation } from "wouter"
import { may } from "../admin/access.js"
import { useRole } from "../admin/useRole.js"
import { useBook, useRemarks } from "../people/book.js"
import { onShelf } from "../people/shelves.js"
import { nameOf } from "../timeline/names.js"
import { Avatar, cx, Dialog } from "../ui/index.js"
import { fits } from "./match.js"
import { open as show } from "./switcher.js"
import s from "./Switcher.module.css"

interface Goal {
  key: string
  to: string
  name: string
  about: string
  sign: ReactNode
  rank: number
}

const most = 12
/** Others than those one writes with are looked for once typing pauses. */
const pauseMs = 200

/** Goes anywhere: conversations, people, rooms. */
export function Switcher() {
  const { t } = useLingui()
  const [query, setQuery] = useState("")
  const [at, setAt] = useState(0)
  const [, go] = useLocation()
  const id = useId()
  const list = useRef<HTMLUListElement>(null)
  const goals = useGoals(query)
  const chosen = Math.min(at, goals.length - 1)
  const close = (): void => show(undefined)
  const enter = (g: Goal | undefined): void => {
    if (g === undefined) return
    close()
    go(g.to)
  }
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [chosen])
  const onKey = (e: KeyboardEvent): void => {
    if (e.nativeEvent.isComposing) return
    if (e.key === "ArrowDown") setAt((chosen + 1) % Math.max(goals.length, 1))
    else if (e.key === "ArrowUp") setAt((chosen + goals.length - 1) % Math.max(goals.length, 1))
    else if (e.key === "Enter") enter(goals[chosen])
    else return
    e.preventDefault()
  }
  return (
    <Dialog open onClose={close} title={t`Jump to`} size="m">
      <input className={s.input} role="combobox" aria-expanded="true" aria-controls={id} aria-activedescendant={goals[chosen] === undefined ? undefined : `${id}-${chosen}`} aria-label={t`Jump to a chat, person or page`}
        placeholder={t`Jump to a chat, person or page`} value={query} autoFocus autoComplete="off" spellCheck={false} onChange={(e) => { setQuery(e.currentTarget.value); setAt(0) }} onKeyDown={onKey} />
      <ul ref={list} id={id} className={s.list} role="listbox" aria-label={t`Jump to`}>
        {goals.map((g, i) => (
          <li key={g.key} id={`${id}-${i}`} role="option" aria-selected={i === chosen} className={cx(s.goal, i === chosen && s.chosen)} onClick={() => enter(g)} onPointerMove={() => setAt(i)}>
            <span className={s.sign}>{g.sign}</span>
            <bdi className={s.name}>{g.name}</bdi>
            <span className={s.about}>{g.about}</span>
          </li>
        ))}
        {goals.length === 0 && <li className={s.none} role="status">{t`No results.`}</li>}
      </ul>
    </Dialog>
  )
}

function useGoals(query: string): Goal[] {
  const { t } = useLingui()
  const client = useClient()
  const all = useConversations()
  const users = useUsers(all.map((c) => c.peer).filter((p) => p !== ""))
  const found = usePeople(query)
  const remarks = useRemarks()
  const { contacts } = useBook()
  const staff = may(useRole(), "look")
  return useMemo(() => {
    const goals: Goal[] = []
    const known = new Set<string>()
    for (const c of all) {
      const user = users.get(c.peer)
      if (c.peer !== "") known.add(c.peer)
      const name = c.kind === "group" ? c.title : c.peer === "" ? t`Saved messages` : nameOf(user, remarks.get(c.peer))
      const rank = Math.max(fits(name, query), fits(user?.username ?? "", query))
      const sign = c.kind === "dm" && c.peer === "" ? <Bookmark /> : <Avatar id={c.kind === "group" ? c.id : c.peer} name={name} size="s" group={c.kind === "group"} />
      if (rank > 0) goals.push({ key: c.id, to: `/c/${c.id}`, name, about: c.unread > 0 ? t`${c.unread} unread` : user?.username ? `@${user.username}` : "", sign, rank: rank + (c.unread > 0 ? 0.5 : 0) })
    }
    for (const { user } of onShelf(contacts, "contacts", "en")) {
      if (known.has(user.id)) continue // nothing was said yet
      const name = nameOf(user, remarks.get(user.id))
      const rank = Math.max(fits(name, query), fits(user.username ?? "", query))
      if (rank === 0) continue
      known.add(user.id)
      goals.push({ key: user.id, to: `/c/${client.dm(user.id).id}`, name, about: user.username ? `@${user.username}` : "", sign: <Avatar id={user.id} name={name} size="s" />, rank: rank * 0.95 })
    }
    for (const u of found) {
      if (known.has(u.id) || u.id === client.user) continue
      goals.push({ key: u.id, to: `/people/${u.id}`, name: nameOf(u, remarks.get(u.id)), about: u.username ? `@${u.username}` : "", sign: <Avatar id={u.id} name={nameOf(u)} size="s" />, rank: 2.5 })
    }
    const rooms: [string, string, ReactNode][] = [
      ["/", t`Chats`, <MessagesSquare />], ["/people", t`People`, <Users />], ["/people", t`New chat`, <UserPlus />], ["/new-group", t`New group`, <UsersRound />],
      [`/search${query.trim() === "" ? "" : `?q=${encodeURIComponent(query.trim())}`}`, t`Search messages`, <Search />], ["/settings", t`Settings`, <Settings />],
      ...(staff ? [["/admin", t`Administration`, <ServerCog />] as [string, string, ReactNode]] : []),
    ]
    for (const [to, name, sign] of rooms) {
      const rank = query.trim() === "" ? 0.1 : name === t`Search messages` ? 0.2 : fits(name, query) * 0.9
      if (rank > 0) goals.push({ key: name, to, name: to.startsWith("/search?") ? t`Search messages for “${query.trim()}”` : name, about: "", sign, rank })
    }
    return goals.sort((a, b) => b.rank - a.rank).slice(0, most)
  }, [all, users, remarks, contacts, found, query, client, staff, t])
}

/** People whose names begin so. Those of an older question are left out. */
function usePeople(query: string): readonly User[] {
  const client = useClient()
  const [found, setFound] = useState<{ query: string; users: readonly User[] }>({ query: "", users: [] })
  const prefix = query.trim().replace(/^@/, "")
  useEffect(() => {
    if (prefix.length < 2) return undefined
    const stop = new AbortController()
    const timer = setTimeout(() => {
      client.call("skein.v1.UserService/SearchUsers", { prefix, limit: 6 }, { signal: stop.signal }).then((r) => setFound({ query: prefix, users: r.users ?? [] }), () => undefined) // the chats are here all the same
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [client, prefix])
  return found.query === prefix ? found.users : none
}

const none: readonly User[] = []
