import { useCallback, useEffect, useMemo, useState } from "react"
import type { Message, Reaction, SendOptions, SkeinError } from "@skein-im/client"
import { errorFrom, useAction } from "./action.js"
import { useClient, useSession } from "./context.js"
import { sameItems, useSelect, useView } from "./view.js"

export interface Messages {
  /** What is here, oldest first, and behind it what waits to be sent. */
  messages: readonly Message[]
  /** There is nothing older. */
  complete: boolean
  /** Reads older ones; resolves with how many came. It does not reject: `error` tells why it failed. */
  loadOlder: (limit?: number) => Promise<number>
  loading: boolean
  error: SkeinError | undefined
}

/** A conversation's timeline. */
export function useMessages(id: string): Messages {
  const conversation = useClient().conversation(id)
  const messages = useView(conversation.messages)
  const complete = useSelect(conversation.summary, (s) => s?.complete ?? false)
  const { run, pending: loading, error, clear } = useAction((limit?: number) => conversation.loadOlder(limit))
  useEffect(() => clear, [id, clear]) // what failed in another conversation is not said in this one
  const loadOlder = useCallback(async (limit?: number) => (await run(limit)) ?? 0, [run])
  return useMemo(() => ({ messages, complete, loadOlder, loading, error }), [messages, complete, loadOlder, loading, error])
}

export interface Sending {
  /** Shown at once. Resolves when the server stored it; rejects as Conversation.send does. */
  send: (text: string, options?: SendOptions) => Promise<Message>
  /** What waits, in its order; and what was refused for good. */
  pending: readonly Message[]
  failed: readonly Message[]
  /** Of a failed one: sends it again, or forgets it. */
  retry: (id: string) => Promise<Message>
  discard: (id: string) => Promise<void>
}

/** Writes into a conversation. */
export function useSend(id: string): Sending {
  const client = useClient()
  const waiting = useSelect(client.outbox, (all) => all.filter((m) => m.conversation === id), sameItems)
  const send = useCallback((text: string, options?: SendOptions) => client.conversation(id).send(text, options), [client, id])
  const retry = useCallback((message: string) => client.retry(message), [client])
  const discard = useCallback((message: string) => client.discard(message), [client])
  return useMemo(() => {
    const failed = waiting.filter((m) => m.status === "failed")
    return { send, retry, discard, failed, pending: waiting.filter((m) => m.status !== "failed") }
  }, [send, retry, discard, waiting])
}

export interface Reactions {
  /** As they are, with what the user just did and the server has not said yet. */
  reactions: readonly Reaction[]
  /** Adds the user's reaction, or takes it away. It does not reject: `error` tells why it failed. */
  toggle: (reaction: string) => Promise<void>
  error: SkeinError | undefined
}

/** The reactions to a message. What the user does is shown at once, and taken back if it fails. */
export function useReactions(message: Message): Reactions {
  const { client } = useSession()
  const { conversation, seq } = message
  const [mine, setMine] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [error, setError] = useState<SkeinError>()
  const reactions = useMemo(() => withMine(message.reactions, mine, client.user), [message.reactions, mine, client])
  const toggle = useCallback(
    async (reaction: string) => {
      const add = reactions.find((r) => r.reaction === reaction)?.mine !== true
      setError(undefined)
      setMine((m) => new Map(m).set(reaction, add))
      try {
        await client.conversation(conversation).react(seq, reaction, !add)
      } catch (e) {
        setError(errorFrom(e))
        setMine((m) => without(m, reaction))
      }
    },
    [client, conversation, seq, reactions],
  )
  useEffect(() => {
    setMine((m) => {
      const done = [...m].filter(([r, add]) => (message.reactions.find((x) => x.reaction === r)?.mine === true) === add)
      return done.length === 0 ? m : done.reduce((rest, [r]) => without(rest, r), m)
    })
  }, [message.reactions])
  return useMemo(() => ({ reactions, toggle, error }), [reactions, toggle, error])
}

function without(m: ReadonlyMap<string, boolean>, reaction: string): ReadonlyMap<string, boolean> {
  const rest = new Map(m)
  rest.delete(reaction)
  return rest
}

/** The reactions, where `mine` tells other than they what the user's are. */
export function withMine(reactions: readonly Reaction[], mine: ReadonlyMap<string, boolean>, user: string): readonly Reaction[] {
  if (mine.size === 0) return reactions
  const known = new Set(reactions.map((r) => r.reaction))
  const all: Reaction[] = reactions.map((r) => {
    const add = mine.get(r.reaction)
    if (add === undefined || add === (r.mine === true)) return r
    const others = (r.users ?? []).filter((u) => u !== user)
    return { ...r, count: (r.count ?? 0) + (add ? 1 : -1), users: add ? [...others, user] : others, mine: add }
  })
  for (const [reaction, add] of mine) if (add && !known.has(reaction)) all.push({ reaction, count: 1, users: [user], mine: true })
  return all.filter((r) => (r.count ?? 0) > 0)
}
