import { takeEffect } from "../conversation.js"
import { call } from "../call.js"
import { Client } from "../client.js"
import type { Core } from "../core.js"
import { SkeinError } from "../errors.js"
import { heardUpTo } from "../feed.js"
import type { Message } from "../message.js"
import type { ClientOptions } from "../options.js"
import { add, discard, outcome, retry, storedAs } from "../outbox.js"
import type { View } from "../view.js"
import { faultOf, pack, patchOf, version, type Call, type Envelope, type Info, type Question, type ToLeader, type ToTab, type ViewKey } from "./frames.js"
import { hold, type Channel, type Held, type Platform } from "./platform.js"

/*
 * The leader's side: the one client, and a session with each tab. A session's frames are numbered in both directions;
 * whoever misses one has the tab begin another session, and there everything that was not answered is
 * asked again. An answer leaves after the views that the question changed were shown in the tab.
 */

/** How long an event may be unheard by a tab before the tab counts as frozen: then it begins anew when it wakes. */
const frozenAfter = 30_000
/** How long the leader waits for tabs that live and have not come yet, before events count as heard. */
const comeWithin = 30_000
export const beat = 2000
const mostWatched = 1000

interface Look {
  view: View<unknown>
  last: unknown
  began: boolean
  /** Counts changes: of the view, those that were sent, and those that the tab shows. */
  changed: number
  sent: number
  shown: number
  off: () => void
}

interface Told {
  name: string
  data: unknown
  n: number
}

interface Session {
  tab: string
  id: number
  over: boolean
  begun: boolean
  sent: number
  got: number
  looks: Map<ViewKey, Look>
  /** Answers that wait for views. */
  answers: { body: ToTab; after: [Look, number][] }[]
  asks: Map<number, AbortController>
  told: number
  heard: number
  heardAt: number
  background: boolean
  watched: readonly string[]
}

interface Port {
  channel: Channel
  /** Ends the wait for the tab's death. */
  watch: Held | undefined
  session: Session | undefined
}

export class Hub {
  readonly client: Client
  private readonly k: Core
  private readonly ports = new Map<string, Port>()
  private readonly common: Channel | undefined
  /** Events since the term began that not all tabs heard. */
  private events: Told[] = []
  private last = 0
  /** Tabs that live and are in no session, and since when: events are not heard without them. */
  private readonly awaited = new Map<string, number>()
  private over = false
  private timer: number | undefined
  private info: Info = { user: "", limits: {}, ahead: 0 }
  private watchedNow = ""

  constructor(private readonly p: Platform, private readonly name: string, readonly term: string, private readonly own: string, o: ClientOptions, ended: (why: SkeinError | undefined) => void) {
    this.client = new Client(o)
    const k = (this.k = this.client.k)
    k.heardBy = 0
    k.events.tap = (event, data, n) => this.tell(event, data, n)
    void k.ended.then(() => !this.over && ended(k.over))
    this.common = p.locks === undefined ? undefined : p.channel(`skein:${name}`)
    if (this.common !== undefined) {
      this.common.onmessage = (e) => this.hear(e.data as Call)
      void this.callTabs()
    }
    const tick = (): void => {
      this.beat()
      this.timer = p.setTimeout(tick, beat)
    }
    this.timer = p.setTimeout(tick, beat)
  }

  /** Says that it leads. Events do not count as heard before the tabs that live have come. */
  private async callTabs(): Promise<void> {
    const prefix = tabLock(this.name, "")
    const all = await this.p.locks?.query().catch(() => undefined)
    if (this.over) return
    for (const { name = "" } of all?.held ?? []) {
      const tab = name.slice(prefix.length)
      if (!name.startsWith(prefix) || tab === this.own || this.ports.has(tab)) continue
      this.awaited.set(tab, this.p.now())
      this.port(tab)
    }
    this.common?.postMessage({ skein: version, lead: this.term } satisfies Call)
  }

  private hear(c: Call): void {
    if (c.hello === undefined || this.over) return
    if (c.skein !== version) this.common?.postMessage({ skein: version, refuse: c.hello } satisfies Call)
    else this.out(this.port(c.hello).channel, 0, 0, { hi: true })
  }

  /** The channel of a tab. The tab holds a lock for as long as it lives: who gets it knows that it does not. */
  private port(tab: string): Port {
    const old = this.ports.get(tab)
    if (old !== undefined) return old
    const port = this.join(tab, this.p.channel(`skein:${this.name}:${tab}`))
    if (this.p.locks !== undefined) {
      port.watch = hold(this.p.locks, tabLock(this.name, tab), {}, () => undefined)
      void port.watch.held.then(() => this.gone(tab))
    }
    return port
  }

  /** Takes a tab over this channel. */
  join(tab: string, channel: Channel): Port {
    const port: Port = { channel, watch: undefined, session: undefined }
    this.ports.set(tab, port)
    channel.onmessage = (e) => this.take(tab, port, e.data as Envelope<ToLeader>)
    return port
  }

  private gone(tab: string): void {
    const port = this.ports.get(tab)
    if (port === undefined) return
    this.endSession(port)
    port.channel.close()
    port.watch?.release()
    this.ports.delete(tab)
    this.awaited.delete(tab)
    this.presence()
    this.noteHeard()
  }

  private endSession(port: Port): void {
    const s = port.session
    port.session = undefined
    if (s === undefined) return
    s.over = true
    for (const l of s.looks.values()) l.off()
    for (const a of s.asks.values()) a.abort()
  }

  /** Other tabs that are there. */
  get others(): number {
    return [...this.ports].filter(([tab, port]) => tab !== this.own && port.session !== undefined).length
  }

  private out(channel: Channel, session: number, n: number, body: ToTab): void {
    channel.postMessage({ term: this.term, session, n, body } satisfies Envelope<ToTab>)
  }

  private send(s: Session, body: ToTab): void {
    const port = this.ports.get(s.tab)
    if (!s.over && !this.over && port !== undefined) this.out(port.channel, s.id, ++s.sent, body)
  }

  private take(tab: string, port: Port, e: Envelope<ToLeader>): void {
    if (this.over || e.term !== this.term) return
    if ("attach" in e.body && e.n === 1 && e.session > (port.session?.id ?? 0)) {
      this.attach(tab, port, e.session, e.body.attach)
      return
    }
    const s = port.session
    if (s === undefined || e.session > s.id || (e.session === s.id && e.n > s.got + 1)) {
      this.endSession(port)
      this.awaited.set(tab, this.p.now())
      this.out(port.channel, 0, 0, { again: true })
    } else if (e.session === s.id && e.n === s.got + 1) {
      s.got = e.n
      this.handle(s, e.body)
    }
  }

  private attach(tab: string, port: Port, id: number, a: { seen: number | undefined; background: boolean; watched: readonly string[] }): void {
    this.endSession(port)
    const s: Session = {
      tab, id, over: false, begun: false, sent: 0, got: 1, looks: new Map(), answers: [], asks: new Map(), told: 0, heard: 0, heardAt: this.p.now(),
      background: a.background, watched: a.watched,
    }
    port.session = s
    this.presence()
    // What is in the store has to be known: whether the tab's events are of it, and which ones it heard of them.
    this.k.do([], () => undefined).then(
      () => {
        if (s.over) return
        const first = tab === this.own ? 0 : this.last // who is new hears what is new; the first tab also what nobody heard
        s.told = s.heard = a.seen === undefined ? first : a.seen > this.k.meta.lastFeed ? 0 : a.seen
        s.heardAt = this.p.now()
        s.begun = true
        this.send(s, { welcome: this.infoNow(), last: s.told })
        for (const e of this.events) this.tellTo(s, e)
        for (const l of s.looks) this.show(s, ...l)
        this.release(s)
        this.awaited.delete(tab)
        this.noteHeard()
      },
      () => undefined,
    )
  }

  private tell(name: string, data: unknown, n: number): void {
    if (this.over) return
    const e: Told = { name, data: pack(data), n }
    if (n > 0) {
      this.last = n
      this.events.push(e)
    }
    for (const { session } of this.ports.values()) if (session?.begun === true) this.tellTo(session, e)
    if (name === "state") this.tellInfo()
  }

  private tellTo(s: Session, e: Told): void {
    if (e.n > 0 && e.n <= s.told) return
    if (s.told === s.heard) s.heardAt = this.p.now()
    if (e.n > 0) s.told = e.n
    this.send(s, { event: e.name, data: e.data, n: e.n })
  }

  /** Events that all tabs heard leave the store. */
  private noteHeard(): void {
    const all = [...this.ports.values()].flatMap((port) => (port.session === undefined ? [] : [port.session]))
    if (this.over || this.awaited.size > 0 || all.length === 0 || all.some((s) => !s.begun)) return
    const heard = Math.min(...all.map((s) => s.heard))
    this.events = this.events.filter((e) => e.n > heard)
    heardUpTo(this.k, heard)
  }

  private infoNow(): Info {
    const { k } = this
    return (this.info = { user: k.meta.user, limits: k.limits, ahead: k.ahead })
  }

  private tellInfo(): void {
    const { info, k } = this
    if (info.user === k.meta.user && info.limits === k.limits && Math.abs(info.ahead - k.ahead) < 1000) return
    const now = this.infoNow()
    for (const { session } of this.ports.values()) if (session?.begun === true) this.send(session, { info: now })
  }

  /** The user is present if one tab is; whom one tab watches is watched. */
  private presence(): void {
    const all = [...this.ports.values()].flatMap((port) => (port.session === undefined ? [] : [port.session]))
    if (this.over || all.length === 0) return
    this.client.setBackground(all.every((s) => s.background))
    const watched = [...new Set(all.flatMap((s) => s.watched))].slice(0, mostWatched)
    const key = watched.join()
    if (key === this.watchedNow) return
    this.watchedNow = key
    void this.client.watchPresence(watched).catch(() => undefined) // it ends, and tells so
  }

  private beat(): void {
    const now = this.p.now()
    for (const [tab, since] of this.awaited) {
      const port = this.ports.get(tab)
      if (port === undefined || now - since > comeWithin) this.awaited.delete(tab)
      else if (port.session === undefined) this.out(port.channel, 0, 0, { hi: true })
    }
    for (const [tab, port] of this.ports) {
      const s = port.session
      if (s === undefined || !s.begun || s.heard >= s.told || now - s.heardAt < frozenAfter || tab === this.own) continue
      this.endSession(port)
      this.presence()
    }
    this.noteHeard()
    this.tellInfo()
  }

  private handle(s: Session, f: ToLeader): void {
    if ("ask" in f) this.ask(s, f.ask, f.question, f.again)
    else if ("look" in f) this.look(s, f.look)
    else if ("shown" in f) this.shown(s, f.shown)
    else if ("unlook" in f) {
      s.looks.get(f.unlook)?.off()
      s.looks.delete(f.unlook)
      this.release(s)
    } else if ("heard" in f) {
      s.heard = Math.max(s.heard, f.heard)
      s.heardAt = this.p.now()
      this.noteHeard()
    } else if ("cancel" in f) s.asks.get(f.cancel)?.abort()
    else if ("ping" in f) this.send(s, { pong: true })
    else if ("bye" in f) this.gone(s.tab)
    else if ("background" in f) {
      s.background = f.background
      this.presence()
    } else if ("watched" in f) {
      s.watched = f.watched
      s.watched.length > 0 && (this.watchedNow = "") // who asks is told how they all are
      this.presence()
    } else if ("typing" in f) this.client.conversation(f.typing).typing()
    else if ("signal" in f) this.client.conversation(f.signal).signal(f.type, f.data)
    else if ("reconnect" in f) this.client.reconnect()
  }

  private look(s: Session, key: ViewKey): void {
    if (s.looks.has(key)) return
    const view = this.viewOf(key)
    const l: Look = { view, last: undefined, began: false, changed: 1, sent: 0, shown: 0, off: () => undefined }
    s.looks.set(key, l)
    l.off = view.subscribe(() => {
      l.changed++
      this.show(s, key, l)
    })
    this.show(s, key, l)
  }

  private viewOf(key: ViewKey): View<unknown> {
    const { client } = this
    const at = key.indexOf(":")
    if (at > 0) {
      const c = client.conversation(key.slice(at + 1))
      return key.startsWith("messages:") ? c.messages : c.summary
    }
    return key === "conversations" ? client.conversations : key === "outbox" ? client.outbox : client.state
  }

  /** Sends how it changed, once the tab shows what was sent before. */
  private show(s: Session, key: ViewKey, l: Look): void {
    if (!s.begun || l.sent > l.shown || l.sent === l.changed) return
    const now = l.view.getSnapshot()
    l.sent = l.changed
    if (l.began && now === l.last) {
      l.shown = l.sent
      return
    }
    this.send(s, { view: key, patch: patchOf(l.last, now) })
    l.last = now
    l.began = true
  }

  private shown(s: Session, key: ViewKey): void {
    const l = s.looks.get(key)
    if (l === undefined) return
    l.shown = l.sent
    this.show(s, key, l)
    this.release(s)
  }

  private answer(s: Session, body: ToTab): void {
    s.answers.push({ body, after: [...s.looks.values()].map((l) => [l, l.changed]) })
    this.release(s)
  }

  private release(s: Session): void {
    const looked = new Set(s.looks.values())
    const waits = ([l, n]: [Look, number]): boolean => looked.has(l) && l.shown < n
    while (s.begun && s.answers.length > 0 && !s.answers[0]!.after.some(waits)) this.send(s, s.answers.shift()!.body)
  }

  private ask(s: Session, id: number, q: Question, again: boolean): void {
    const stop = new AbortController()
    s.asks.set(id, stop)
    const settle = (m: Message | undefined, e?: SkeinError): void => {
      if (m === undefined) this.answer(s, { settled: id, error: faultOf(e ?? new SkeinError({ code: "closed" })) })
      else this.answer(s, { settled: id, value: m })
    }
    this.run(q, again, settle, stop.signal).then(
      (value) => this.answer(s, { answer: id, value: Array.isArray(value) ? value.map(pack) : value }),
      (e: unknown) => !this.ending(e) && this.answer(s, { answer: id, error: faultOf(e) }),
    ).finally(() => s.asks.delete(id))
  }

  /** It ends, and another leader answers. */
  private ending(e: unknown): boolean {
    return this.over || (this.k.over !== undefined && e === this.k.over)
  }

  private async run(q: Question, again: boolean, settle: (m: Message | undefined, e?: SkeinError) => void, signal: AbortSignal): Promise<unknown> {
    const { k, client } = this
    const later = (m: Message | undefined, e?: SkeinError): void => {
      if (m !== undefined || !this.ending(e)) queueMicrotask(() => settle(m, e)) // behind the first answer
    }
    if ("post" in q) {
      const { post } = q
      await k.do([post.conversation], () => {
        if (again && (k.items.has(post.id) || storedAs(k, post.conversation, post.id) !== undefined)) outcome(k, post.conversation, post.id, later)
        else add(k, post, later)
      })
    } else if ("outcome" in q) {
      return await new Promise<Message>((resolve, reject) => {
        k.do([q.conversation], () => outcome(k, q.conversation, q.outcome, (m, e) => (m === undefined ? reject(e ?? new SkeinError({ code: "closed" })) : resolve(m)))).catch(reject)
      })
    } else if ("retry" in q) {
      await k.do([q.conversation], () => {
        if (again && k.items.get(q.retry)?.rec.state !== "failed") outcome(k, q.conversation, q.retry, later)
        else retry(k, q.retry, later)
      })
    } else if ("discard" in q) {
      await k.do([], () => (again && !k.items.has(q.discard) ? undefined : discard(k, q.discard)))
    } else if ("call" in q) {
      return await call(k, q.call, q.request, q.key === "" ? { signal } : { key: q.key, signal }, again)
    } else if ("effect" in q) {
      await takeEffect(k, q.conversation, q.effect)
    } else if ("load" in q) {
      await client.conversation(q.load).load()
    } else if ("read" in q) {
      await client.conversation(q.read).markRead(q.seq)
    } else if ("pages" in q) {
      const c = client.conversation(q.conversation)
      return await (q.pages === "older" ? c.loadOlder(q.limit, signal) : c[q.pages](q.seq, q.limit, signal))
    } else if ("thread" in q) {
      return await client.conversation(q.conversation).thread(q.thread, q.before, q.limit, signal)
    } else {
      await client.connected(signal)
    }
    return undefined
  }

  /** Ends; hand over: at once, another tab goes on with what waits. */
  async end(handOver: boolean): Promise<void> {
    const ended = handOver ? this.k.ended : this.client.close()
    this.over = true
    this.p.clearTimeout(this.timer)
    for (const port of this.ports.values()) {
      this.endSession(port)
      port.watch?.release()
      port.channel.close()
    }
    this.common?.close()
    if (handOver) this.k.post([], () => this.k.die(new SkeinError({ code: "closed" })))
    await ended
  }
}

/** A tab holds it for as long as it lives. */
export function tabLock(name: string, tab: string): string {
  return `skein-tab:${name}:${tab}`
}
