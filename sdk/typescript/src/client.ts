import { abortable, call, whenConnected, type CallOptions } from "./call.js"
import { json } from "./codec.js"
import type { ChatClient, Method, Request, Response } from "./chat.js"
import { beginClose, reconnectNow, startDial } from "./connect.js"
import { dm, validId } from "./conv.js"
import { Conversation } from "./conversation.js"
import { Core } from "./core.js"
import { SkeinError, invalid } from "./errors.js"
import { Events, type EventMap, type Unsubscribe } from "./events.js"
import { fromUuid } from "./ids.js"
import { Later } from "./later.js"
import type { Message } from "./message.js"
import type { ClientOptions } from "./options.js"
import { discard, outboxMessages, retry } from "./outbox.js"
import { MemoryStore } from "./store.js"
import { summaries, viewOf, type StateSnapshot, type Summary, type View } from "./view.js"

/** A user's device: one connection, one store. */
export class Client extends Later implements ChatClient {
  /** @internal */
  readonly k: Core
  private readonly events = new Events()
  private readonly handles = new Map<string, Conversation>()

  /** The connection's state. */
  readonly state: View<StateSnapshot>
  /** The conversation list, newest activity first, without the user's own feed. */
  readonly conversations: View<readonly Summary[]>
  /** All messages that are not stored by the server: pending and failed. */
  readonly outbox: View<readonly Message[]>

  constructor(o: ClientOptions) {
    super()
    const url = new URL(o.url)
    if (url.protocol !== "ws:" && url.protocol !== "wss:") throw invalid(`${o.url}: want ws: or wss:`)
    this.k = new Core(
      {
        url: o.url, getToken: o.getToken, store: o.store ?? new MemoryStore(), device: { class: "DEVICE_CLASS_WEB", ...o.device },
        client: o.client ?? "skein-ts/0.1", WebSocket: o.WebSocket, codec: o.codec ?? json, autoConnect: o.autoConnect ?? true, pipeline: Math.max(1, o.pipeline ?? 1),
        outboxLimit: o.outboxLimit ?? 10_000, maxGap: o.maxGap ?? 500, pageSize: o.pageSize ?? 100, idleMs: o.idleMs ?? 0,
        random: o.random ?? Math.random, now: o.now ?? Date.now,
      },
      this.events,
    )
    const k = this.k
    let was: StateSnapshot = { state: k.state, error: k.stateError }
    this.state = viewOf(this.events, (id) => id === "", () => {
      if (was.state !== k.state || was.error !== k.stateError) was = { state: k.state, error: k.stateError }
      return was
    })
    this.conversations = viewOf(this.events, (id) => id !== "", () => summaries(k))
    this.outbox = viewOf(this.events, (id) => id !== "", () => outboxMessages(k))
    void k.start()
  }

  /** The user's id, "" before the first connect. */
  get user(): string {
    return this.k.meta.user
  }

  /** What the server allows, as of the last Welcome. */
  get limits(): Readonly<Core["limits"]> {
    return this.k.limits
  }

  /** The server's clock, Unix ms. */
  serverTimeMs(): number {
    return this.k.o.now() + this.k.ahead
  }

  /** Calls f for each event of that name. */
  on<K extends keyof EventMap>(name: K, f: (e: EventMap[K]) => void): Unsubscribe {
    return this.events.on(name, f)
  }

  conversation(id: string): Conversation {
    let v = this.handles.get(id)
    if (v === undefined) this.handles.set(id, (v = new Conversation(this, this.k, id)))
    return v
  }

  /** The direct chat with a user. Before the first connect the own id is not known. */
  dm(user: string): Conversation {
    if (this.user === "") throw new SkeinError({ code: "offline", message: "the own id is not known before the first connect" })
    return this.conversation(dm(this.user, user))
  }

  /** Resolves once what is in the store can be looked at and the first connection is made; rejects with why that will not be. */
  async connected(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await abortable(this.k.do([], () => undefined), signal)
    await abortable(whenConnected(this.k), signal)
  }

  /** Connects, where autoConnect is false. */
  connect(): Promise<void> {
    return this.k.do([], () => startDial(this.k))
  }

  /** The network is back, or somebody dealt with what stopped the client: connect at once. Without effect while connected. */
  reconnect(): void {
    this.k.post([], () => reconnectNow(this.k))
  }

  /** Sends what waits, for at most two seconds, says goodbye and ends. */
  async close(): Promise<void> {
    if (this.k.over === undefined) this.k.post([], () => beginClose(this.k))
    await this.k.ended
  }

  /** Sends a failed message again, behind those that wait; resolves when it is stored. */
  async retry(id: string, signal?: AbortSignal): Promise<Message> {
    let settle: (m: Message | undefined, e?: SkeinError) => void = () => undefined
    const stored = new Promise<Message>((resolve, reject) => {
      settle = (m, e) => (m === undefined ? reject(e ?? new SkeinError({ code: "closed" })) : resolve(m))
    })
    stored.catch(() => undefined)
    await this.k.do([], () => retry(this.k, fromUuid(id), settle))
    return await abortable(stored, signal)
  }

  /**
   * Forgets a failed message, which no server has, or a pending one: then nobody ever sees it. Of a pending one that
   * was sent and not answered, or waits since an earlier run of the program, nobody knows whether the
   * server has it: it is refused with `may_be_sent`, and the message is sent.
   */
  discard(id: string): Promise<void> {
    return this.k.do([], () => discard(this.k, fromUuid(id)))
  }

  /**
   * Any method of the API, over the connection; it waits for one. A SkeinError is the server's answer.
   * `connection_lost`: it may or may not have been carried out.
   */
  async call<M extends Method>(method: M, request: Request<M>, o: CallOptions = {}): Promise<Response<M>> {
    return (await call(this.k, method, request as object, o)) as Response<M>
  }

  /** Asks for `presence` of these users instead of those before; repeated after every reconnect. */
  watchPresence(users: readonly string[]): Promise<void> {
    return this.k.do([], () => {
      if (users.some((u) => !validId(u))) throw invalid("that is not a user id")
      this.k.watched = [...users]
      if (this.k.state === "connected") this.k.send({ watchPresence: { users: [...users] } })
    })
  }

  /** The program is in the background, or back: it gets everything but presence, and does not make its user present. */
  setBackground(on: boolean): void {
    this.k.post([], () => {
      if (this.k.background === on) return
      this.k.background = on
      this.k.send({ background: { on } })
    })
  }
}
