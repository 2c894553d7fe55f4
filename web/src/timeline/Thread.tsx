import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Bell, BellOff, X } from "lucide-react"
import { useLocation } from "wouter"
import type { Message as Said } from "@skein-im/client"
import { sameItems, useClient, useConnection, useSelect } from "@skein-im/react"
import { Composer } from "../composer/Composer.js"
import { from } from "../shell/from.js"
import { useBarrier } from "../composer/barrier.js"
import { useTitle } from "../conversations/title.js"
import { Button, ContextMenu, ErrorNote, IconButton, Loading, Note, later, toast, useWhy } from "../ui/index.js"
import { SceneProvider, type OpenDialog, type Scene } from "./context.js"
import { useGroup } from "./group.js"
import { useNames } from "./names.js"
import { Rows } from "./Rows.js"
import { settle, threadRows, type Row } from "./rows.js"
import { Stretch } from "./stretch.js"
import { Summary } from "./Summary.js"
import { useTalk } from "./talk.js"
import { ThreadStore, type ThreadShown } from "./thread.js"
import { useScroller } from "./useScroller.js"
import column from "./Timeline.module.css"
import s from "./Thread.module.css"

const MessageMenu = later(() => import("./MessageMenu.js").then((m) => m.MessageMenu))
const Dialogs = later(() => import("./Dialogs.js").then((m) => m.Dialogs))
const Viewer = later(() => import("./Viewer.js").then((m) => m.Viewer))

/** So near to its top older replies are brought. */
const near = 300

/** A thread: the message that it begins with, what was said below it, and a place to say more. */
export function Thread({ conversation, root }: { conversation: string; root: number }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const { state } = useConnection()
  const why = useWhy()
  const title = useTitle(conversation)
  const store = useMemo(() => new ThreadStore(client, conversation, root), [client, conversation, root])
  const shown = useSyncExternalStore(store.subscribe, store.getSnapshot)
  const { thread } = shown
  useEffect(() => {
    if (thread !== undefined && thread.root.seq !== root) go(`/c/${conversation}/t/${thread.root.seq}`, { replace: true }) // a reply was named
  }, [thread, root, conversation, go])
  const follow = (on: boolean): void => void store.follow(on).catch((e: unknown) => toast(why(e), { tone: "error" }))
  return (
    <div className={s.pane}>
      <header className={s.head}>
        <IconButton label={t`Close`} onClick={() => go(`/c/${conversation}`)}><X /></IconButton>
        <span className={s.names}>
          <h1 className={s.title}><Trans>Thread</Trans></h1>
          <bdi className={s.where}>{title.name}</bdi>
        </span>
        {thread !== undefined && (
          <Button look="quiet" icon={thread.follows ? <BellOff /> : <Bell />} onClick={() => follow(!thread.follows)}>
            {thread.follows ? <Trans>Unfollow</Trans> : <Trans>Follow</Trans>}
          </Button>
        )}
      </header>
      {thread === undefined ? (
        <div className={s.wait}>
          {shown.error !== undefined ? <ErrorNote error={shown.error} onRetry={() => void store.read()} />
            : state === "connected" ? <Loading /> : <Note><Trans>No connection. The thread loads as soon as you’re online.</Trans></Note>}
        </div>
      ) : <Open conversation={conversation} store={store} shown={shown} thread={thread} />}
      {thread !== undefined && !thread.root.recalled && <Composer conversation={conversation} thread={root} />}
    </div>
  )
}

function Open({ conversation, store, shown, thread }: { conversation: string; store: ThreadStore; shown: ThreadShown; thread: NonNullable<ThreadShown["thread"]> }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const group = useGroup(conversation)
  const barrier = useBarrier(conversation)
  const root = thread.root
  const [talk, talking] = useTalk(conversation, root.seq)
  const [dialog, setDialog] = useState<OpenDialog | undefined>(undefined)
  const [viewed, setViewed] = useState<Said | undefined>(undefined)
  const [menuOf, setMenuOf] = useState<Said | undefined>(undefined)
  const [unreadAfter] = useState(thread.unread > 0 ? thread.read : -1)
  const waiting = useSelect(client.outbox, (all) => all.filter((m) => m.conversation === conversation && m.thread === root.seq), sameItems)
  const replies = useMemo(() => {
    const stored = new Set(shown.replies.map((m) => m.id))
    return [...shown.replies, ...waiting.filter((m) => !stored.has(m.id))]
  }, [shown.replies, waiting])
  const all = useMemo(() => [root, ...replies], [root, replies])
  const names = useNames(useMemo(() => peopleOf(all, client.user), [all, client]), group)
  const before = useRef<Row[]>([])
  const rows = useMemo(() => (before.current = settle(before.current, threadRows(root, replies, unreadAfter))), [root, replies, unreadAfter])
  const look = useCallback(() => {
    if (document.visibilityState === "visible" && document.hasFocus()) store.seen()
  }, [store])
  const scroll = useScroller(rows, true, (v) => {
    if (v.content === 0 || v.height === 0) return
    if (v.scrollTop < near && store.getSnapshot().error === undefined) void store.older()
    if (v.content - v.height - v.scrollTop <= near) look()
  })
  useEffect(() => {
    const again = (): void => { if (scroll.atEnd()) look() }
    again()
    addEventListener("focus", again)
    document.addEventListener("visibilitychange", again)
    return () => {
      removeEventListener("focus", again)
      document.removeEventListener("visibilitychange", again)
    }
  }, [look, scroll.atEnd, thread.last])
  useEffect(() => {
    talk.toEnd = () => scroll.aim("end")
    talk.lastOwn = () => store.getSnapshot().replies.findLast((m) => m.own && m.seq > 0)
  }, [talk, scroll.aim, store])
  const stretch = useMemo(() => new Stretch(client, conversation), [client, conversation])
  const scene = useMemo<Scene>(() => ({
    conversation, thread: root.seq, me: client.user, dm: !conversation.startsWith("grp:"), group, names, mayWrite: barrier === undefined || barrier.react,
    jump: (seq) => go(`/c/${conversation}/m/${seq}`), stretch, view: setViewed, profile: (user) => go(`/people/${user}`, from()), dialog: setDialog,
  }), [conversation, root.seq, client, group, names, barrier, go, stretch])
  const find = (target: EventTarget): Said | undefined => {
    const seq = Number((target as Element).closest?.("[data-seq]")?.getAttribute("data-seq") ?? 0)
    return seq > 0 ? all.find((m) => m.seq === seq) : undefined
  }
  const divider = (
    <div className={s.divider}>
      <span><Plural value={root.replies?.count ?? 0} _0="No replies yet" one="# reply" other="# replies" /></span>
      {shown.more && <Button look="quiet" busy={shown.loading === "older"} onClick={() => void store.older()}><Trans>Show older replies</Trans></Button>}
    </div>
  )
  const last = shown.replies.findLast((m) => !m.own)
  return (
    <SceneProvider value={scene}>
      <div className={column.stage}>
        <ContextMenu menu={menuOf !== undefined && <MessageMenu message={menuOf} />}>
          <div ref={scroll.scroller} className={column.scroller} tabIndex={0} role="region" aria-label={t`Messages of the thread`} onContextMenuCapture={(e) => setMenuOf(find(e.target))}>
            <div ref={scroll.list} className={column.content}>
              <Rows rows={rows} busy={shown.loading !== ""} selected={talking.selected} marked={0} divider={divider} />
            </div>
          </div>
        </ContextMenu>
      </div>
      {shown.error !== undefined && <ErrorNote error={shown.error} onRetry={() => void store.read()} className={column.error ?? ""} />}
      {dialog !== undefined && <Dialogs dialog={dialog} onClose={() => setDialog(undefined)} />}
      {viewed !== undefined && <Viewer message={viewed} messages={all} onClose={() => setViewed(undefined)} />}
      <div className="visually-hidden" role="log" aria-live="polite">{last !== undefined && last.seq > (unreadAfter < 0 ? thread.last : unreadAfter) && <p key={last.id}>{names.name(last.sender)}: <Summary message={last} /></p>}</div>
    </SceneProvider>
  )
}

function peopleOf(messages: readonly Said[], me: string): string[] {
  const all = new Set([me])
  for (const m of messages) for (const u of [m.sender, ...m.mentions, ...m.reactions.flatMap((r) => r.users ?? [])]) if (u !== "") all.add(u)
  return [...all].sort()
}
