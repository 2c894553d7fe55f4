import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent } from "react"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { MessagesSquare } from "lucide-react"
import { useLocation } from "wouter"
import type { Message as Said } from "@skein-im/client"
import { useClient, useConnection, useEvent, useView } from "@skein-im/react"
import { ContextMenu, Empty, ErrorNote, Loading, Spinner, later } from "../ui/index.js"
import { SceneProvider, type OpenDialog, type Scene } from "./context.js"
import { hasWords, named } from "./events.js"
import { useGroup } from "./group.js"
import { useNames } from "./names.js"
import { News } from "./News.js"
import { keyOf, rowsOf, settle, type Row } from "./rows.js"
import { Rows } from "./Rows.js"
import { Stretch } from "./stretch.js"
import { useTalk } from "./talk.js"
import { useReading, type Reading } from "./useReading.js"
import { useScroller, type Scroller } from "./useScroller.js"
import { useBarrier } from "../composer/barrier.js"
import { from } from "../shell/from.js"
import s from "./Timeline.module.css"

const MessageMenu = later(() => import("./MessageMenu.js").then((m) => m.MessageMenu))
const TypingLine = later(() => import("./TypingLine.js").then((m) => m.TypingLine))
const JumpButtons = later(() => import("./JumpButtons.js").then((m) => m.JumpButtons))
const PinnedBar = later(() => import("./PinnedBar.js").then((m) => m.PinnedBar))
const Dialogs = later(() => import("./Dialogs.js").then((m) => m.Dialogs))
const SelectBar = later(() => import("./SelectBar.js").then((m) => m.SelectBar))
const Viewer = later(() => import("./Viewer.js").then((m) => m.Viewer))

/** How near to an end of what is here more is brought. */
const near = 800
const markedMs = 1800

/** A conversation's messages. `focusSeq`: begins there. */
export function Timeline({ conversation, focusSeq }: { conversation: string; focusSeq?: number }) {
  return <One key={conversation} conversation={conversation} focusSeq={focusSeq ?? 0} />
}

function One({ conversation, focusSeq }: { conversation: string; focusSeq: number }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const summary = useView(client.conversation(conversation).summary)
  const stretch = useMemo(() => new Stretch(client, conversation), [client, conversation])
  const shown = useSyncExternalStore(stretch.subscribe, stretch.getSnapshot)
  const group = useGroup(conversation)
  const barrier = useBarrier(conversation)
  const [talk, talking] = useTalk(conversation)
  const [dialog, setDialog] = useState<OpenDialog | undefined>(undefined)
  const [viewed, setViewed] = useState<Said | undefined>(undefined)
  const [menuOf, setMenuOf] = useState<Said | undefined>(undefined)
  const [marked, setMarked] = useState(0)
  const reading = useReading(conversation, summary)

  const ids = useMemo(() => peopleOf(shown.messages, client.user), [shown.messages, client])
  const names = useNames(ids, group)
  const rows = useRows(shown.messages, reading.unreadAfter, shown.complete)
  const begun = useRef(-1)
  const scroll = useScroller(rows, shown.follows, (v) => {
    if (v.content === 0 || v.height === 0) return
    if (v.scrollTop < near) stretch.up()
    if (v.content - v.height - v.scrollTop < near) stretch.down()
    if (begun.current >= 0 && stretch.settled) reading.look(scroll) // what stands there before it is opened was not seen
  })
  const wanted = useRef(0) // what is jumped to: without a connection it comes later
  const arrive = useCallback(() => {
    const seq = wanted.current
    if (seq === 0 || !stretch.settled) return
    wanted.current = 0
    const m = stretch.find(seq)
    if (m === undefined) return
    scroll.aim({ key: keyOf(m), at: 0.35 })
    setMarked(seq)
  }, [stretch, scroll.aim])
  const jump = useCallback(async (seq: number) => {
    wanted.current = seq
    await stretch.goTo(seq)
    arrive()
  }, [stretch, arrive])
  useEffect(() => {
    if (shown.loading === "") arrive()
  }, [shown, arrive])
  useEffect(() => {
    if (marked === 0) return undefined
    const timer = setTimeout(() => setMarked(0), markedMs)
    return () => clearTimeout(timer)
  }, [marked])
  const toEnd = useCallback(() => {
    wanted.current = 0
    stretch.toEnd()
    scroll.aim("end")
  }, [stretch, scroll.aim])
  useBeginning(begun, summary !== undefined, focusSeq, reading, stretch, jump, scroll)
  useEffect(() => {
    talk.toEnd = () => {
      reading.clear()
      toEnd()
    }
    talk.lastOwn = () => stretch.all().findLast((m) => m.own && m.seq > 0 && m.kind === "message")
  }, [talk, toEnd, stretch, reading.clear])
  useEvent("message", (m) => {
    if (m.conversation === conversation) stretch.trim(scroll.atEnd())
  })

  const jumpNow = useCallback((seq: number) => void jump(seq), [jump])
  const scene = useMemo<Scene>(() => ({
    conversation, thread: 0, me: client.user, dm: !conversation.startsWith("grp:"), group, names, mayWrite: barrier === undefined || barrier.react, jump: jumpNow, stretch,
    view: setViewed, profile: (user) => go(`/people/${user}`, from()), dialog: setDialog,
  }), [conversation, client, group, names, barrier, jumpNow, stretch, go])
  const selecting = talking.selected !== undefined
  const online = useConnection().state === "connected"
  // A direct chat that nobody wrote in is in no list: once all is synced, there is nothing to wait for.
  const fresh = summary === undefined && scene.dm && online
  const empty = rows.length === 0 && (fresh || (shown.complete && summary !== undefined))

  return (
    <SceneProvider value={scene}>
      <PinnedBar conversation={conversation} onOpen={jumpNow} />
      <div className={s.stage}>
        <ContextMenu menu={menuOf !== undefined && !selecting && <MessageMenu message={menuOf} />}>
          <div
            ref={scroll.scroller} className={s.scroller} tabIndex={0} role="region" aria-label={t`Messages`}
            onContextMenuCapture={(e) => setMenuOf(messageAt(e.target, stretch))} onKeyDown={(e) => fromOutside(e, scroll)}
          >
            <div ref={scroll.list} className={s.content}>
              <div className={s.room} />
              {shown.loading === "up" && <div className={s.more}><Spinner small /></div>}
              {shown.error !== undefined && <ErrorNote error={shown.error} onRetry={() => stretch.retry()} className={s.error ?? ""} />}
              {summary !== undefined && shown.complete && rows.length > 0 && <p className={s.begin}>{scene.dm ? <Trans>This is the beginning of your conversation.</Trans> : <Trans>This is the beginning of what you can read here.</Trans>}</p>}
              <Rows rows={rows} busy={shown.loading !== ""} selected={talking.selected} marked={marked} />
              {shown.loading === "down" && <div className={s.more}><Spinner small /></div>}
            </div>
          </div>
        </ContextMenu>
        {empty && <div className={s.empty}><Empty icon={<MessagesSquare />} title={t`Nothing here yet`}>{scene.mayWrite ? t`Say hello.` : undefined}</Empty></div>}
        {(shown.loading === "jump" || (summary === undefined && rows.length === 0 && !fresh)) && <div className={s.empty}><Loading /></div>}
        <JumpButtons away={reading.away || !shown.follows} unread={summary?.unread ?? 0} mentions={summary?.unreadMentions ?? 0} onEnd={() => {
          const line = rows.find((r) => r.kind === "unread")
          if (line !== undefined && reading.below(scroll, "unread")) scroll.aim({ key: "unread", at: 0.1 })
          else if ((summary?.unread ?? 0) > 0 && !shown.follows) jumpNow((summary?.read ?? 0) + 1)
          else toEnd()
        }} />
        <TypingLine conversation={conversation} />
      </div>
      {selecting && <SelectBar conversation={conversation} stretch={stretch} />}
      {dialog !== undefined && <Dialogs dialog={dialog} onClose={() => setDialog(undefined)} />}
      {viewed !== undefined && <Viewer message={viewed} messages={shown.messages} onClose={() => setViewed(undefined)} />}
      <News conversation={conversation} />
      <span className="visually-hidden" role="status">{selecting && <Plural value={talking.selected?.size ?? 0} one="# message selected" other="# messages selected" />}</span>
    </SceneProvider>
  )
}

/** Rows that say the same stay the same objects. */
function useRows(messages: readonly Said[], unreadAfter: number, whole: boolean): Row[] {
  const before = useRef<Row[]>([])
  return useMemo(() => {
    before.current = settle(before.current, rowsOf(messages.filter((m) => m.kind === "message" || hasWords(m)), unreadAfter, whole))
    return before.current
  }, [messages, unreadAfter, whole])
}

function peopleOf(messages: readonly Said[], me: string): string[] {
  const all = new Set([me])
  for (const m of messages) {
    for (const u of m.kind === "event" ? named(m) : [m.sender, ...m.mentions, m.forward?.sender ?? "", ...m.reactions.flatMap((r) => r.users ?? [])]) if (u !== "") all.add(u)
  }
  return [...all].sort()
}

function messageAt(target: EventTarget, stretch: Stretch): Said | undefined {
  const seq = Number((target as Element).closest?.("[data-seq]")?.getAttribute("data-seq") ?? 0)
  return seq > 0 ? stretch.find(seq) : undefined
}

/** From the whole of it the arrow keys lead to the messages that are seen. */
function fromOutside(e: KeyboardEvent, scroll: ReturnType<typeof useScroller>): void {
  if (e.target !== e.currentTarget || (e.key !== "ArrowUp" && e.key !== "ArrowDown")) return
  const { first, last, rows } = scroll.seen()
  const all = rows.slice(Math.max(0, first), last + 1).flatMap((r) => [...r.querySelectorAll<HTMLElement>("article")])
  const one = e.key === "ArrowUp" ? all.at(-1) : all[0]
  if (one === undefined) return
  e.preventDefault()
  one.focus({ preventScroll: true })
}

/** Where a conversation is opened: at a message, above what is unread, or at its end. */
function useBeginning(begun: { current: number }, ready: boolean, focusSeq: number, { unreadAfter, look }: Reading, stretch: Stretch, jump: (seq: number) => Promise<void>, scroll: Scroller): void {
  const at = useRef(scroll)
  at.current = scroll
  useEffect(() => {
    if (!ready || begun.current === focusSeq) return
    const again = begun.current >= 0
    begun.current = focusSeq
    if (focusSeq > 0) return void jump(focusSeq)
    if (again) return
    if (unreadAfter < 0) return look(at.current)
    void stretch.goTo(unreadAfter + 1).then(() => at.current.aim({ key: "unread", at: 0.1 }))
  }, [begun, ready, focusSeq, unreadAfter, look, stretch, jump])
}
