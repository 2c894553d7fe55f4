import { abortable, type CallOptions } from "../call.js"
import type { ChatClient, Method, Request, Response } from "../chat.js"
import { dm, validId } from "../conv.js"
import { SkeinError, invalid } from "../errors.js"
import { Events, type EventMap, type Unsubscribe } from "../events.js"
import { IndexedDBStore } from "../idbstore.js"
import { IdSource, fromUuid, randomKey } from "../ids.js"
import { Later } from "../later.js"
import type { Message } from "../message.js"
import { repeatOf } from "../methods_gen.js"
import type { ClientOptions } from "../options.js"
import type { Store } from "../store.js"
import type { StateSnapshot, Summary, View } from "../view.js"
import { SharedConversation } from "./conversation.js"
import { unpack, version, type Call, type Envelope, type Info, type ToLeader, type ToTab, type ViewKey } from "./frames.js"
import { Hub, beat, tabLock } from "./hub.js"
import { Link } from "./link.js"
import { Mirror } from "./mirror.js"
import { browser, hold, pair, type Channel, type Held, type Platform } from "./platform.js"

/*
 * One connection for all tabs of a browser.
 *
 * Tabs that share a name have one leader: the tab that holds the Web Lock of that name. It runs the client, with the
 * socket and the store. Every tab, the leader's own as well, speaks with it over a channel (BroadcastChannel)
 * and offers an app what a Client offers. The leader may die between any two steps: the lock
 * passes on, and the next leader goes on with the same store. What is promised:
 *
 *  - A message is in the outbox before post() resolves in any tab. Its id is made in the tab, so a question that was
 *    not answered is put to the next leader, and the message is stored by the server once. Calls
 *    carry idempotency keys and are repeated likewise. Order: what a tab posts stays in its order.
 *  - Each tab is told each stored event once, in order, whoever leads. An event leaves the store when all tabs heard it.
 *    A tab that the browser froze for more than half a minute misses what was heard by the others
 *    meanwhile; its views are whole.
 *  - Views are equal in all tabs, a moment apart, and an answer comes after the views it changed. A tab has what it looks
 *    at; what nobody looked at for ten seconds it gives up. Whoever looks at a view first sees it empty.
 *  - The user is present while one tab is not in the background, and sees the presence of those whom any tab watches.
 *  - close() ends this tab. The others go on; if it led, another one does.
 *  - Channels may lose what is said: frames are numbered, whoever misses one begins a new session, and what was not
 *    answered is asked again. A leader that does not answer for ten seconds (frozen, or stopped in a
 *    debugger) is replaced. It may wake at any time: the store refuses its writes (IndexedDBStore), so nothing that
 *    it does is stored or said.
 *  - A tab whose leader runs another `version` of this code is `stopped` with the code `other_version`, until that tab
 *    is closed, or reconnect() finds another leader. What it is asked is refused.
 *  - Without Web Locks or BroadcastChannel (a page that is not served securely) tabs cannot know each other: the one
 *    that came last has the store, the others are `stopped` with the code `store_taken`; reconnect() takes
 *    it back.
 */

export interface SharedOptions extends Omit<ClientOptions, "store" | "autoConnect"> {
  /** One for a user: tabs with the same name share a client, and its store. */
  name: string
  /** The id of the user whose `name` it is, where the app knows it: `user` of the client is that from the start, and not "" until the first connect. */
  user?: string
  /** Makes the store, which takes over from the leader before. Default: an IndexedDBStore of that name. */
  store?: () => Store
  /** For tests. */
  platform?: Platform
}

/** A client that shares the connection and the store with the other tabs of its name. */
export function shared(o: SharedOptions): ChatClient {
  return new SharedClient(o)
}

/** Unanswered beats after which the leader is looked for again, and after which it is replaced. */
const askAfter = 2
const replaceAfter = 5
const hearWithin = 20

const connecting: StateSnapshot = { state: "connecting", error: undefined }

export class SharedClient extends Later implements ChatClient {
  readonly state: View<StateSnapshot>
  readonly conversations: View<readonly Summary[]>
  readonly outbox: View<readonly Message[]>
  /** @internal */
  readonly ids: IdSource
  /** @internal */
  readonly link: Link
  private readonly events = new Events()
  private readonly mirrors = new Map<ViewKey, Mirror<unknown>>()
  private readonly handles = new Map<string, SharedConversation>()
  private readonly stateMirror: Mirror<StateSnapshot>
  private readonly tab = randomKey()
  private readonly p: Platform
  private info: Info
  private hub: Hub | undefined
  private common: Channel | undefined
  private channel: Channel | undefined
  private mine: Held | undefined
  private leadership: Held | undefined
  private term = ""
  private seen: number | undefined
  private heardTimer: number | undefined
  private background = false
  private watched: readonly string[] = []
  private timer: number | undefined
  private beatAt = 0
  private silent = 0
  private refused: SkeinError | undefined
  private told: StateSnapshot = connecting
  private over = false
  private ended: Promise<void> | undefined

  constructor(private readonly o: SharedOptions) {
    super()
    const url = new URL(o.url)
    if (url.protocol !== "ws:" && url.protocol !== "wss:") throw invalid(`${o.url}: want ws: or wss:`)
    this.info = { user: o.user ?? "", limits: {}, ahead: 0 }
    this.p = o.platform ?? browser()
    this.ids = new IdSource(o.now ?? Date.now)
    this.link = new Link({ begin: () => this.begin(), frame: (f) => this.take(f), lost: () => this.look() })
    this.stateMirror = this.mirror<StateSnapshot>("state", connecting)
    this.state = this.stateMirror
    this.state.subscribe(() => undefined) // always there
    this.conversations = this.mirror<readonly Summary[]>("conversations", [])
    this.outbox = this.mirror<readonly Message[]>("outbox", [])
    void this.start()
  }

  private async start(): Promise<void> {
    const { p, o } = this
    const tick = (): void => {
      this.beat()
      this.timer = p.setTimeout(tick, beat)
    }
    this.beatAt = p.now()
    this.timer = p.setTimeout(tick, beat)
    if (p.locks === undefined) {
      this.lead()
      return
    }
    this.mine = hold(p.locks, tabLock(o.name, this.tab), {}, () => undefined)
    await this.mine.held
    if (this.over) return
    this.common = p.channel(`skein:${o.name}`)
    this.common.onmessage = (e) => this.hear(e.data as Call)
    this.channel = p.channel(`skein:${o.name}:${this.tab}`)
    this.channel.onmessage = (e) => this.heard(e.data as Envelope<ToTab>, this.channel)
    this.compete(false)
    this.hello()
  }

  /** Waits to be the leader, or takes it from one that does not answer. */
  private compete(steal: boolean): void {
    const { locks } = this.p
    if (locks === undefined || this.over) return
    this.leadership?.release()
    const mine = (this.leadership = hold(locks, `skein-leader:${this.o.name}`, { steal }, () => this.leadership === mine && this.deposed()))
    void mine.held.then(() => {
      if (this.leadership !== mine || this.over) mine.release()
      else this.lead()
    })
  }

  private lead(): void {
    const { o, p } = this
    const store = o.store?.() ?? new IndexedDBStore(o.name, { takeOver: true })
    this.refused = undefined
    const term = newer(this.term, p.now())
    const hub = (this.hub = new Hub(p, o.name, term, this.tab, { ...o, store }, (why) => this.hubEnded(hub, why)))
    const [here, there] = pair()
    hub.join(this.tab, there)
    here.onmessage = (e) => this.heard(e.data as Envelope<ToTab>, here)
    this.attach(here, term)
  }

  /** Another tab took the lead. */
  private deposed(): void {
    const { hub } = this
    this.hub = undefined
    this.detach()
    void hub?.end(true)
    this.compete(false)
    this.hello()
  }

  /** The client of this tab ended by itself: its store failed, or was taken. */
  private hubEnded(hub: Hub, why: SkeinError | undefined): void {
    if (this.hub !== hub || this.over) return
    if (why?.code === "store_taken" && this.p.locks !== undefined) {
      this.leadership?.release()
      this.deposed()
      return
    }
    this.hub = undefined
    void hub.end(true)
    this.detach()
    if (why?.code === "store_taken") this.tellState({ state: "stopped", error: why })
    else void this.finish(why)
  }

  private attach(channel: Channel, term: string): void {
    this.term = term
    this.refused = undefined
    this.silent = 0
    this.link.attach(channel, term)
  }

  private detach(): void {
    this.link.detach()
    this.tellState(connecting)
  }

  /** Looks for the leader. */
  private look(): void {
    if (this.hub !== undefined) return
    this.link.detach()
    this.hello()
  }

  private hello(): void {
    this.common?.postMessage({ skein: version, hello: this.tab } satisfies Call)
  }

  private hear(c: Call): void {
    if (this.over || this.hub !== undefined || (c.lead === undefined && c.refuse !== this.tab)) return
    if (c.skein !== version) this.refuse()
    else if (c.lead !== undefined && c.lead > this.term) this.hello()
  }

  private refuse(): void {
    this.refused = new SkeinError({ code: "other_version", message: "another tab runs another version of this program: close it, or load it again" })
    this.link.detach()
    this.link.fail(this.refused)
    this.tellState({ state: "stopped", error: this.refused })
  }

  private heard(e: Envelope<ToTab>, from: Channel | undefined): void {
    if (this.over || from === undefined || (this.hub !== undefined && from === this.channel)) return
    this.silent = 0
    if ("again" in e.body || "hi" in e.body) {
      if (e.term >= this.term && !("again" in e.body && e.term !== this.term)) this.attach(from, e.term)
    } else this.link.take(e)
  }

  /** What a session begins with. */
  private begin(): ToLeader[] {
    const looks = [...this.mirrors.values()].filter((m) => m.looking).map((m): ToLeader => ({ look: m.key }))
    return [{ attach: { seen: this.seen, background: this.background, watched: this.watched } }, ...looks]
  }

  private take(f: ToTab): void {
    if ("welcome" in f) {
      this.setInfo(f.welcome)
      this.seen = f.last
    } else if ("info" in f) this.setInfo(f.info)
    else if ("view" in f) {
      const m = this.mirrors.get(f.view)
      if (m === (this.stateMirror as Mirror<unknown>)) this.tellState((f.patch as { value: StateSnapshot }).value, true)
      else if (m?.looking === true) m.take(f.patch)
      this.link.post({ shown: f.view })
    } else if ("event" in f) this.event(f.event as keyof EventMap, unpack(f.data), f.n)
  }

  private event(name: keyof EventMap, data: unknown, n: number): void {
    if (n > 0) {
      if (n <= (this.seen ?? 0)) return
      this.seen = n
      this.heardTimer ??= this.p.setTimeout(() => {
        this.heardTimer = undefined
        this.link.post({ heard: this.seen ?? 0 })
      }, hearWithin)
    }
    if (name === "state") {
      const { state, error } = data as StateSnapshot
      if (state === "closed") return // the leader's end is none of this tab's
      this.told = { state, error }
    }
    this.events.emit(name, data as never)
  }

  /** The state, as this tab has it. by the leader: its events tell it, too. */
  private tellState(s: StateSnapshot, byLeader = false): void {
    const now = byLeader ? (unpack(s) as StateSnapshot) : s
    if (byLeader && now.state === "closed") return
    this.stateMirror.set(now)
    if (now.state === this.told.state && now.error?.code === this.told.error?.code) return
    this.told = now
    this.events.emit("state", { state: now.state, error: now.error })
  }

  private setInfo(i: Info): void {
    this.info = i.user === "" ? { ...i, user: this.o.user ?? "" } : i // a store that is empty yet does not know it
    this.ids.setServerTime((this.o.now ?? Date.now)() + i.ahead)
  }

  private beat(): void {
    const now = this.p.now()
    const late = now - this.beatAt > 2 * beat // this tab was frozen, or its timers are slowed down: who was silent is not known
    this.beatAt = now
    for (const m of this.mirrors.values()) if (m !== (this.stateMirror as Mirror<unknown>) && m.idle()) this.link.post({ unlook: m.key })
    if (this.hub !== undefined || this.common === undefined || this.refused !== undefined) return
    this.silent = late ? 0 : this.silent + 1
    if (this.silent > replaceAfter) {
      this.silent = 0
      this.compete(true)
    } else if (this.silent > askAfter || !this.link.attached) this.hello()
    else this.link.post({ ping: true })
  }

  private async finish(why: SkeinError | undefined, handOver = true): Promise<void> {
    this.over = true
    const { p, hub } = this
    this.link.post({ bye: true })
    this.link.detach()
    p.clearTimeout(this.timer)
    p.clearTimeout(this.heardTimer)
    this.hub = undefined
    await hub?.end(handOver)
    const closed = why ?? new SkeinError({ code: "closed" })
    this.link.fail(closed)
    this.common?.close()
    this.channel?.close()
    this.leadership?.release()
    this.mine?.release()
    this.tellState({ state: "closed", error: why })
  }

  /** @internal */
  mirror<T>(key: ViewKey, empty: T): Mirror<T> {
    const m = new Mirror<T>(key, empty, (v) => this.link.post({ look: v.key }), () => this.p.now())
    this.mirrors.set(key, m as Mirror<unknown>)
    return m
  }

  /** @internal */
  check(): void {
    if (this.over) throw this.stateMirror.getSnapshot().error ?? new SkeinError({ code: "closed" })
    if (this.refused !== undefined) throw this.refused
  }

  /** @internal */
  isConnected(): boolean {
    return this.stateMirror.getSnapshot().state === "connected"
  }

  get user(): string {
    return this.info.user
  }

  get limits(): Readonly<Info["limits"]> {
    return this.info.limits
  }

  serverTimeMs(): number {
    return (this.o.now ?? Date.now)() + this.info.ahead
  }

  on<K extends keyof EventMap>(name: K, f: (e: EventMap[K]) => void): Unsubscribe {
    return this.events.on(name, f)
  }

  conversation(id: string): SharedConversation {
    let v = this.handles.get(id)
    if (v === undefined) this.handles.set(id, (v = new SharedConversation(this, id)))
    return v
  }

  dm(user: string): SharedConversation {
    if (this.user === "") throw new SkeinError({ code: "offline", message: "the own id is not known before the first connect" })
    return this.conversation(dm(this.user, user))
  }

  async connected(signal?: AbortSignal): Promise<void> {
    this.check()
    await this.link.ask({ connected: true }, signal)
  }

  reconnect(): void {
    if (this.over) return
    if (this.refused !== undefined) { // whoever leads now may be of this version
      this.refused = undefined
      this.silent = 0
      this.detach()
      this.hello()
    } else if (this.p.locks === undefined && this.hub === undefined) this.lead() // takes the store back
    else this.link.post({ reconnect: true })
  }

  async call<M extends Method>(method: M, request: Request<M>, o: CallOptions = {}): Promise<Response<M>> {
    this.check()
    const key = o.key ?? (repeatOf(method) === "key" ? randomKey() : "")
    return (await this.link.ask({ call: method, request: request as object, key }, o.signal)) as Response<M>
  }

  async retry(id: string, signal?: AbortSignal): Promise<Message> {
    this.check()
    const conversation = this.outbox.getSnapshot().find((m) => m.id === id)?.conversation ?? ""
    const [asked, stored] = this.twice({ retry: fromUuid(id), conversation })
    await asked
    return await abortable(stored, signal)
  }

  async discard(id: string): Promise<void> {
    this.check()
    await this.link.ask({ discard: fromUuid(id) })
  }

  /** @internal A question with an answer, and an outcome. */
  twice(q: Parameters<Link["ask"]>[0]): [Promise<unknown>, Promise<Message>] {
    let settle: (v: unknown, e?: SkeinError) => void = () => undefined
    const stored = new Promise<Message>((resolve, reject) => (settle = (v, e) => (e === undefined ? resolve(v as Message) : reject(e))))
    stored.catch(() => undefined) // who does not wait for it is told by `failed`
    return [this.link.ask(q, undefined, settle), stored]
  }

  watchPresence(users: readonly string[]): Promise<void> {
    if (users.some((u) => !validId(u))) return Promise.reject(invalid("that is not a user id"))
    this.watched = [...users]
    this.link.post({ watched: this.watched })
    return Promise.resolve()
  }

  setBackground(on: boolean): void {
    this.background = on
    this.link.post({ background: on })
  }

  close(): Promise<void> {
    return (this.ended ??= this.over ? Promise.resolve() : this.finish(undefined, (this.hub?.others ?? 0) > 0))
  }
}

/** A term after the one before, whatever the clock says. Terms are compared as text. */
function newer(before: string, now: number): string {
  const at = Math.max(now, Number(before.split("-")[0] ?? 0) + 1)
  return `${String(at).padStart(15, "0")}-${randomKey()}`
}
