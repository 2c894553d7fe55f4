import { useCallback, useEffect, useMemo, useRef, useState, type ReactElement, type ReactNode } from "react"
import type { ChatClient, Message, SkeinError, StateSnapshot, Summary } from "@skein-im/client"
import { useConnection, useConversation } from "../conversations.js"
import { useMessages } from "../messages.js"
import { useUsers } from "../profiles.js"
import { useTyping } from "../typing.js"
import type { Access } from "./access.js"
import { Composer } from "./Composer.js"
import type { ConversationOptions, ConversationState } from "./options.js"
import { SceneContext, type Scene } from "./scene.js"
import type { Texts } from "./texts.js"
import { Timeline } from "./Timeline.js"

/** A cut that is mended within so long is not told. */
const quietMs = 1500

export interface ConversationProps extends Pick<ConversationOptions, "server" | "conversation" | "heading" | "onState"> {
  client: ChatClient
  access: Access
  t: Texts
}

/** The conversation of a client: its messages, and where one writes. */
export function Conversation({ client, server, conversation, access, t, heading, onState }: ConversationProps): ReactElement {
  const connection = useConnection()
  const summary = useConversation(conversation)
  const messages = useMessages(conversation)
  const state = useCalm(stateOf(connection, summary, conversation))
  const users = useUsers(useMemo(() => [...new Set([...messages.messages.flatMap((m) => [m.sender, ...m.mentions]), summary?.peer ?? ""])].filter((id) => id !== ""), [messages.messages, summary?.peer]))
  const [noted, note] = useNote()
  useTold(onState, state, connection.error)

  const name = useCallback((id: string) => users.get(id)?.displayName || users.get(id)?.username || t.someone, [users, t])
  const find = useQuoted(client, conversation, messages.messages, connection.state === "connected")
  const [answered, answer] = useState<Message>()
  const mayWrite = summary?.member !== false
  const scene = useMemo<Scene>(() => ({ client, server, conversation, access, t, name, find, mayWrite, answer, note }), [client, server, conversation, access, t, name, find, mayWrite, note])
  const { users: typing } = useTyping(conversation)

  const stop = connection.error?.code === "other_version" && state === "failed" ? otherVersion : stops[state]
  const title = heading ?? (summary?.title || (summary?.peer ? name(summary.peer) : t.title))
  const below = state === "offline" ? t.offline : typing.length > 1 ? t.typingMany : typing[0] === undefined ? "" : t.typing(name(typing[0]))
  const here = messages.messages.length > 0 || state === "open"
  return (
    <SceneContext.Provider value={scene}>
      {title !== "" && <header><h2 dir="auto">{title}</h2></header>}
      {stop !== undefined ? <Stopped title={t[stop.title]} why={stop.why === "wrong" ? (connection.error?.message ?? t.wrong) : t[stop.why]} action={stop.again === undefined ? undefined : t[stop.again]} onAction={() => client.reconnect()} />
        : here ? <Timeline of={messages} connected={connection.state === "connected"} named={summary?.kind !== "dm"} read={summary?.read ?? 0} />
          : <Waiting t={t} />}
      <p className="below" role="status" data-state={state}>{noted || below}</p>
      {stop === undefined && (mayWrite ? <Composer answered={answered} /> : <p className="barred">{t.mayNotWrite}</p>)}
    </SceneContext.Provider>
  )
}

interface Stop {
  title: keyof Texts & ("expired" | "refused" | "forbidden" | "replaced" | "otherVersion" | "failed")
  why: "expiredWhy" | "refusedWhy" | "forbiddenWhy" | "replacedWhy" | "otherVersionWhy" | "wrong"
  again: "again" | "useHere" | undefined
}

/** What stands in the place of the messages, and what may be done about it. */
const stops: Partial<Record<ConversationState, Stop>> = {
  expired: { title: "expired", why: "expiredWhy", again: "again" },
  refused: { title: "refused", why: "refusedWhy", again: undefined },
  forbidden: { title: "forbidden", why: "forbiddenWhy", again: undefined },
  replaced: { title: "replaced", why: "replacedWhy", again: "useHere" },
  failed: { title: "failed", why: "wrong", again: "again" },
}

/** A client that the page shares among its tabs (`shared`): the tab that leads has another version of it. */
const otherVersion: Stop = { title: "otherVersion", why: "otherVersionWhy", again: "again" }

/** How the conversation stands. A group of which the server told nothing is none of the user's. */
export function stateOf({ state, error }: StateSnapshot, summary: Summary | undefined, conversation: string): ConversationState {
  switch (state) {
    case "connected":
      return summary === undefined && conversation.startsWith("grp:") ? "forbidden" : "open"
    case "stopped":
    case "closed":
      if (error?.code === "replaced") return "replaced"
      if (error?.code === "origin_refused") return "refused"
      return error?.action === "login" || error?.code === "unauthenticated" ? "expired" : "failed"
    default:
      return error === undefined || error.action === "login" ? "connecting" : "offline"
  }
}

/** The state as it is shown: after it was open, a cut stays untold for a moment, and one that is told is told until it ends. */
function useCalm(now: ConversationState): ConversationState {
  const [shown, setShown] = useState(now)
  const waits = now === "connecting" || now === "offline"
  const cut = waits && shown === "open"
  const next = waits && shown === "offline" ? shown : now
  useEffect(() => {
    if (cut) return undefined
    setShown(next)
    return undefined
  }, [cut, next])
  useEffect(() => {
    if (!cut) return undefined
    const timer = setTimeout(() => setShown("offline"), quietMs)
    return () => clearTimeout(timer)
  }, [cut])
  return shown
}

function useTold(onState: ConversationOptions["onState"], state: ConversationState, error: SkeinError | undefined): void {
  const latest = useRef({ onState, error })
  latest.current = { onState, error }
  useEffect(() => {
    latest.current.onState?.(state, state === "open" ? undefined : latest.current.error)
  }, [state])
}

/** A line that goes by itself. */
function useNote(): [string, (text: string) => void] {
  const [text, setText] = useState("")
  useEffect(() => {
    if (text === "") return undefined
    const timer = setTimeout(() => setText(""), 6000)
    return () => clearTimeout(timer)
  }, [text])
  return [text, setText]
}

/** Messages by their seq: those that are here, and those that they answer, each asked for once. */
function useQuoted(client: ChatClient, conversation: string, messages: readonly Message[], connected: boolean): (seq: number) => Message | undefined {
  const [found, setFound] = useState<ReadonlyMap<number, Message>>(new Map())
  const asked = useRef(new Set<number>())
  useEffect(() => {
    if (!connected) return
    const here = new Set(messages.map((m) => m.seq))
    for (const { replyTo } of messages) {
      if (replyTo === 0 || here.has(replyTo) || asked.current.has(replyTo)) continue
      asked.current.add(replyTo)
      client.conversation(conversation).history(replyTo + 1, 1).then((one) => {
        const m = one.find((x) => x.seq === replyTo)
        if (m !== undefined) setFound((all) => new Map(all).set(replyTo, m))
      }, () => asked.current.delete(replyTo))
    }
  }, [client, conversation, messages, connected])
  return useCallback((seq: number) => messages.find((m) => m.seq === seq) ?? found.get(seq), [messages, found])
}

/** In the place of what is not here yet: nothing moves when it comes. */
export function Waiting({ t }: { t: Texts }): ReactElement {
  return <div className="timeline waiting" role="status" aria-label={t.connecting}><i /><i /><i /></div>
}

export function Stopped({ title, why, action, onAction }: { title: string; why: string; action?: string | undefined; onAction?: () => void }): ReactNode {
  return (
    <div className="timeline stopped" role="alert">
      <h3>{title}</h3>
      <p>{why}</p>
      {action !== undefined && <button type="button" className="plain" onClick={onAction}>{action}</button>}
    </div>
  )
}
