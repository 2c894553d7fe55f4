import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react"
import { useLingui } from "@lingui/react/macro"
import { SquareSlash, Users } from "lucide-react"
import { useClient, useUsers } from "@skein-im/react"
import { cx } from "../ui/index.js"
import type { GroupState } from "../timeline/group.js"
import { isAdmin } from "../timeline/group.js"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { CustomEmoji, useStickers } from "../timeline/stickers.js"
import { useCommands, type ComposerActs } from "./commands.js"
import { beginning, matching, mentionsIn, openAt, put, type Candidate, type Open } from "./complete.js"
import type { Emoji } from "./emoji.js"
import s from "./Composer.module.css"

/** The emoji and their words, once somebody typed a colon. */
let emoji: typeof import("./emoji.js") | undefined

function findEmoji(query: string, most?: number): Emoji[] {
  if (emoji === undefined) void import("./emoji.js").then((m) => void (emoji = m), () => undefined) // the next letter tries again
  return emoji?.findEmoji(query, most) ?? []
}

interface Person extends Candidate {
  label: string
  about: string
}

interface Offer {
  key: string
  word: string
  label: string
  about: string
  user: string
  char: string
  /** What it does in the place of standing in the text. */
  run?: () => void
}

interface CompletionState extends CompletionHandle {
  open: boolean
  offers: readonly Offer[]
  active: number
  listId: string
  activeId: string | undefined
  take: (o: Offer) => void
}

/** What the field tells it, and asks of it. */
export interface CompletionHandle {
  look: () => void
  close: () => void
  /** Takes a key; true: it was one of the list's. */
  key: (e: KeyboardEvent) => boolean
  /** Whom a text mentions. */
  mentions: (text: string) => string[]
  /** Does what a text asks for that is a command; false: it is none. */
  command: (text: string) => boolean
}

/** A list is open: its id, and that of the line that Enter takes. */
export interface Offered {
  listId: string
  activeId: string | undefined
}

export interface CompletionOf {
  conversation: string
  text: string
  setText: (text: string) => void
  area: RefObject<HTMLTextAreaElement | null>
  group: GroupState
  thread: number
  /** Undefined: what is written is not sent but saved, and no command. */
  acts: ComposerActs | undefined
}

const none: ComposerActs = { file: () => undefined, poll: () => undefined, later: () => undefined }

/** Members behind @, emoji behind :, commands behind /. */
function useCompletion({ conversation, text, setText, area, group, thread, acts }: CompletionOf): CompletionState {
  const { t } = useLingui()
  const client = useClient()
  const listId = useId()
  const [open, setOpen] = useState<Open | undefined>(undefined)
  const [active, setActive] = useState(0)
  const dismissed = useRef<Open | undefined>(undefined) // by Escape: it stays closed while that word is written
  const chosen = useRef(new Map<string, string>())
  const { emoji } = useStickers()
  const ids = useMemo(() => [...group.members.keys()].filter((id) => id !== client.user), [group.members, client])
  const users = useUsers(ids)
  const people = useMemo<Person[]>(() => ids.map((id) => {
    const u = users.get(id)
    const nickname = group.members.get(id)?.nickname ?? ""
    return { id, label: nameOf(u, nickname), about: u?.username ?? "", names: [nickname, u?.displayName ?? "", u?.username ?? ""].filter((n) => n !== "") }
  }), [ids, users, group.members])
  const groups = useMemo(() => {
    if (!conversation.startsWith("grp:") || !(isAdmin(group) || group.group?.whoMayMentionAll === "GROUP_POWER_ALL")) return []
    return [{ id: "all", names: ["all"], label: "all", about: t`Everyone in the group` }, { id: "here", names: ["here"], label: "here", about: t`Everyone who is online now` }]
  }, [conversation, group, t])
  const commands = useCommands(conversation, thread, acts ?? none)
  const offers = useMemo<Offer[]>(() => {
    if (open === undefined) return []
    if (open.kind === "/") return acts === undefined ? [] : beginning(commands, open.query).map(({ id, label, run }) => ({ key: id, word: `/${id}`, label: `/${id}`, about: label, user: "", char: "", run }))
    if (open.kind === ":") {
      const own = [...emoji.keys()].filter((n) => n.includes(open.query)).slice(0, 4).map((n) => ({ key: n, word: `:${n}:`, label: n, about: "", user: "", char: `:${n}:` }))
      return [...own, ...findEmoji(open.query, 8 - own.length).map((e) => ({ key: e.char, word: e.char, label: e.words[0] ?? "", about: "", user: "", char: e.char }))]
    }
    const all: Person[] = [...groups, ...people]
    return matching(all, open.query).map((p) => ({ key: p.id, word: `@${p.label}`, label: p.label, about: p.about, user: groups.some((g) => g.id === p.id) ? "" : p.id, char: "" }))
  }, [open, people, groups, emoji, commands, acts])

  const look = useCallback(() => {
    const e = area.current
    if (e === null) return
    const now = e.selectionStart === e.selectionEnd ? openAt(e.value, e.selectionStart) : undefined
    const shut = dismissed.current
    if (shut !== undefined && e.value[shut.from] !== shut.kind) dismissed.current = undefined // it is not there any more
    else if (now !== undefined && shut?.from === now.from && shut.kind === now.kind) return
    setOpen((old) => (old?.from === now?.from && old?.query === now?.query && old?.kind === now?.kind ? old : now))
    setActive(0)
  }, [area])
  const close = useCallback(() => setOpen(undefined), [])
  const take = useCallback((o: Offer) => {
    const e = area.current
    if (e === null || open === undefined) return
    if (o.run !== undefined) {
      setText("")
      setOpen(undefined)
      return o.run()
    }
    const done = put(text, open, e.selectionStart, o.word)
    if (o.user !== "") chosen.current.set(o.word.slice(1), o.user)
    setText(done.text)
    setOpen(undefined)
    requestAnimationFrame(() => {
      e.focus()
      e.setSelectionRange(done.caret, done.caret)
    })
  }, [area, open, text, setText])
  const key = useCallback((e: KeyboardEvent): boolean => {
    const offer = offers[active]
    if (open === undefined || offer === undefined) return false
    if (e.key === "ArrowDown" || e.key === "ArrowUp") setActive((n) => (n + (e.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length)
    else if (e.key === "Enter" || e.key === "Tab") take(offer)
    else if (e.key === "Escape") {
      dismissed.current = open
      setOpen(undefined)
    } else return false
    e.preventDefault()
    e.stopPropagation()
    return true
  }, [open, offers, active, take])
  const mentions = useCallback((said: string) => mentionsIn(said, chosen.current, people), [people])
  const command = (said: string): boolean => {
    const c = acts === undefined ? undefined : commands.find((x) => said === `/${x.id}`)
    if (c === undefined) return false
    setText("")
    c.run()
    return true
  }
  const shown = open !== undefined && offers.length > 0
  return { open: shown, offers, active, listId, activeId: shown ? `${listId}-${active}` : undefined, look, close, take, key, mentions, command }
}

/** It stands as long as there is an @ or a : in the text, or a / before it, and knows whom the user chose since. */
export function Completion({ handle, onOffered, ...of }: CompletionOf & { handle: RefObject<CompletionHandle | null>; onOffered: (o: Offered | undefined) => void }) {
  const { t } = useLingui()
  const c = useCompletion(of)
  const { open, listId, activeId, look } = c
  useLayoutEffect(() => {
    handle.current = c
  })
  useLayoutEffect(() => {
    look() // with what was typed before this was loaded
    return () => void (handle.current = null)
  }, [look, handle])
  useEffect(() => onOffered(open ? { listId, activeId } : undefined), [open, listId, activeId, onOffered])
  useEffect(() => () => onOffered(undefined), [onOffered])
  if (!c.open) return null
  return (
    <ul id={c.listId} className={s.offers} role="listbox" aria-label={t`Suggestions`}>
      {c.offers.map((o, i) => (
        <li key={o.key} id={`${c.listId}-${i}`} role="option" aria-selected={i === c.active} className={cx(s.offer, i === c.active && s.active)} onPointerDown={(e) => { e.preventDefault(); c.take(o) }}>
          {o.char !== "" ? <span className={s.char}>{o.char.startsWith(":") ? <CustomEmoji name={o.label} /> : o.char}</span> : o.user !== "" ? <PersonAvatar user={o.user} size="xs" /> : o.run !== undefined ? <SquareSlash aria-hidden="true" /> : <Users aria-hidden="true" />}
          <bdi>{o.char === "" ? o.label : `:${o.label}:`}</bdi>
          {o.about !== "" && <small>{o.about}</small>}
        </li>
      ))}
    </ul>
  )
}
