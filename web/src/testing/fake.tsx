import { i18n } from "@lingui/core"
import { I18nProvider } from "@lingui/react"
import type { ChatClient, EventMap, Message, Summary, View } from "@skein-im/client"
import { SkeinProvider, type User } from "@skein-im/react"
import { act, type ReactNode } from "react"
import { createRoot, type Root } from "react-dom/client"
import { Router } from "wouter"
import { memoryLocation } from "wouter/memory-location"
import type { Contact } from "../people/book.js"

/*
 * For tests: a client without a server, and a place in which components are shown with it. What it is not told it does
 * not know; a call that no test has an answer for waits for ever, as without a connection.
 */

/** A view that a test sets. */
export class Value<T> implements View<T> {
  private readonly listeners = new Set<() => void>()
  constructor(private value: T) {}
  readonly getSnapshot = (): T => this.value
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }
  set(value: T): void {
    this.value = value
    for (const f of [...this.listeners]) f()
  }
}

export interface World {
  me: string
  conversations: readonly Summary[]
  messages?: readonly Message[]
  users?: readonly User[]
  contacts?: readonly Contact[]
}

export function summary(id: string, more: Partial<Summary> = {}): Summary {
  return {
    id, kind: id.startsWith("grp:") ? "group" : "dm", title: "", peer: id.startsWith("dm:") ? id.split(":").find((u) => u !== "dm" && u !== "me") ?? "" : "", last: undefined, lastAtMs: 0, unread: 0, unreadMentions: 0,
    read: 0, peerReceived: 0, peerRead: 0, low: 0, high: 0, head: 0, complete: true, member: true, mine: { revision: 0 }, hidden: false, markedUnread: false, lifetimeS: 0, ...more,
  }
}

/** A client of what is in the world. `tell` has it say an event. */
export function fakeClient(w: World): { client: ChatClient; conversations: Value<readonly Summary[]>; tell: <K extends keyof EventMap>(name: K, e: EventMap[K]) => void } {
  const conversations = new Value(w.conversations)
  const outbox = new Value<readonly Message[]>([])
  const handlers = new Map<string, Set<(e: unknown) => void>>()
  const answers: Record<string, (request: Record<string, unknown>) => unknown> = {
    "skein.v1.UserService/GetUsers": ({ ids, users }) => ({ users: (w.users ?? []).filter((u) => ((ids ?? users) as string[]).includes(u.id)) }),
    "skein.v1.ContactService/ListContacts": () => ({ contacts: w.contacts ?? [], revision: "1" }),
  }
  const client: Partial<ChatClient> = {
    user: w.me, limits: {}, state: new Value({ state: "connected" as const, error: undefined }), conversations, outbox,
    serverTimeMs: () => Date.now(), watchPresence: async () => undefined, setBackground: () => undefined, reconnect: () => undefined,
    on: (name, f) => {
      const all = handlers.get(name) ?? new Set()
      handlers.set(name, all.add(f as (e: unknown) => void))
      return () => void all.delete(f as (e: unknown) => void)
    },
    call: (async (method: string, request: Record<string, unknown>) => answers[method]?.(request) ?? new Promise(() => undefined)) as ChatClient["call"],
    dm: (user) => client.conversation!(`dm:${[w.me, user].sort().join(":")}`),
    conversation: (id) => ({
      id, messages: new Value((w.messages ?? []).filter((m) => m.conversation === id)), load: async () => undefined, loadOlder: async () => 0, markRead: async () => undefined, typing: () => undefined,
      summary: { subscribe: conversations.subscribe, getSnapshot: () => conversations.getSnapshot().find((c) => c.id === id) },
    }) as unknown as ReturnType<ChatClient["conversation"]>,
  }
  const handles = new Map<string, ReturnType<ChatClient["conversation"]>>()
  const make = client.conversation!
  client.conversation = (id) => {
    let c = handles.get(id)
    if (c === undefined) handles.set(id, (c = make(id)))
    return c
  }
  return { client: client as ChatClient, conversations, tell: (name, e) => { for (const f of handlers.get(name) ?? []) f(e) } }
}

const roots: Root[] = []

/** Takes away what a test showed. */
export async function cleanup(): Promise<void> {
  await act(async () => { for (const r of roots.splice(0)) r.unmount() })
  document.body.textContent = ""
}

/** Waits, at most 10 s, until something is so: what is loaded lazily comes when it comes. */
export async function shown(so: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !so() && Date.now() < end; ) await act(async () => new Promise((done) => setTimeout(done, 10)))
}

/** Shows something with a client, at an address; resolves with where it stands. */
export async function show(node: ReactNode, client: ChatClient, path = "/"): Promise<HTMLElement> {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true
  i18n.loadAndActivate({ locale: "en", messages: {} })
  const at = document.body.appendChild(document.createElement("div"))
  const { hook } = memoryLocation({ path })
  const root = createRoot(at)
  roots.push(root)
  await act(async () => root.render(<I18nProvider i18n={i18n}><SkeinProvider client={client}><Router hook={hook}>{node}</Router></SkeinProvider></I18nProvider>))
  for (let n = 0; n < 20; n++) await act(async () => new Promise((done) => setTimeout(done, 0)))
  return at
}
