import type { Core } from "./core.js"
import { before, after, newRecord, shown, Conv } from "./conv.js"
import { SkeinError, invalid } from "./errors.js"
import { toBase64, toUuid } from "./ids.js"
import { markRead } from "./marks.js"
import { abortable } from "./call.js"
import { messageOf, type Message } from "./message.js"
import { onMyState } from "./mine.js"
import { change } from "./amend.js"
import { add } from "./outbox.js"
import { pageLimit, pull } from "./pull.js"
import { sendOf, typeForm, type SendOptions } from "./sendform.js"
import { noteHead } from "./sync.js"
import { summaryOf, timeline, viewOf, type Summary, type View } from "./view.js"
import { Actions, type Effect } from "./actions.js"
import type { ChatConversation, Method, Request, Response, Thread } from "./chat.js"
import { readThread } from "./threads.js"
import type { Client } from "./client.js"
import type { Entry, Range } from "./wire.js"

/** How often typing is told at most. */
const typingEvery = 3000

/** A handle of a conversation; it need not exist yet. */
export class Conversation extends Actions implements ChatConversation {
  /** What is shown: messages and events that are here, and behind them the outbox. */
  readonly messages: View<readonly Message[]>
  readonly summary: View<Summary | undefined>
  private typedAt = 0
  private loading: Promise<number> | undefined

  constructor(private readonly client: Client, private readonly k: Core, id: string) {
    super(id)
    const mine = (changed: string): boolean => changed === id
    const read = (): void => k.post([id], () => k.changedViews.add(id))
    const messages = viewOf(k.events, mine, () => {
      const cv = k.convs.get(id)
      if (cv !== undefined && cv.entries === undefined) read()
      return timeline(k, id)
    }, read)
    this.messages = { getSnapshot: messages.getSnapshot, subscribe: (changed) => looking(k, id, messages.subscribe(changed)) }
    this.summary = viewOf(k.events, mine, () => {
      const cv = k.convs.get(id)
      return cv === undefined ? undefined : summaryOf(k, cv)
    })
  }

  /**
   * Puts a message into the outbox, where it is shown at once, and resolves when the server has stored it. A
   * SkeinError of the action "fix": it was refused, and is kept as failed (Client.retry, discard). Another
   * error says nothing about the message: it is sent when there is a connection.
   */
  async send(text: string, o: SendOptions = {}): Promise<Message> {
    return await abortable((await abortable(this.post(text, o), o.signal)).stored, o.signal)
  }

  /** Resolves once the message is in the store: from then on it is sent, also after a restart. */
  async post(text: string, o: SendOptions = {}): Promise<{ id: string; stored: Promise<Message> }> {
    const s = sendOf(this.id, text, o)
    let settle: (m: Message | undefined, e?: SkeinError) => void = () => undefined
    const stored = new Promise<Message>((resolve, reject) => {
      settle = (m, e) => (m === undefined ? reject(e ?? new SkeinError({ code: "closed" })) : resolve(m))
    })
    stored.catch(() => undefined) // who does not wait for it is told by `failed`
    if (this.k.closeAt > 0) throw new SkeinError({ code: "closed" })
    const id = await this.k.do([], () => add(this.k, s, settle))
    return { id: toUuid(id), stored }
  }

  /** Has the messages that are in the store read into `messages`; subscribing does so, too. */
  load(): Promise<void> {
    return this.k.do([this.id], () => void this.k.changedViews.add(this.id))
  }

  /** Moves the read mark to seq; without it, to the last one that is here. It never goes back. */
  markRead(seq?: number): Promise<void> {
    return this.k.do([this.id], () => {
      const cv = this.known()
      markRead(this.k, cv, seq ?? cv.rec.high)
    })
  }

  private known(): Conv {
    const cv = this.k.convs.get(this.id)
    if (cv === undefined) throw new SkeinError({ code: "not_found", message: `unknown conversation ${this.id}` })
    return cv
  }

  /** Tells the others that the user is typing; call it as often as you like. Without a connection it does nothing. */
  typing(): void {
    const now = this.k.o.now()
    if (this.k.state !== "connected" || (this.typedAt > 0 && now - this.typedAt < typingEvery)) return
    this.typedAt = now // before it is sent: many calls at once are one frame, too
    this.k.post([], () => {
      if (this.k.state !== "connected") return
      this.k.send({ typing: { conversation: this.id } })
    })
  }

  /** Tells the others that are connected something that is not kept, and may be lost. At most 1 KiB. */
  signal(type: string, data: Uint8Array = new Uint8Array()): void {
    if (!typeForm.test(type)) throw invalid("a signal's type matches [a-z0-9._-]{1,64}")
    if (data.length > 1024) throw new SkeinError({ code: "too_large", message: "the data of a signal is longer than 1 KiB" })
    const text = toBase64(data)
    this.k.post([], () => {
      if (this.k.state === "connected") this.k.send({ signal: { conversation: this.id, type, data: text } })
    })
  }

  /** Reads older messages into `messages`, at most limit entries; resolves with how many came: 0 is the beginning. */
  loadOlder(limit = 50, signal?: AbortSignal): Promise<number> {
    this.loading ??= this.older(limit).finally(() => (this.loading = undefined))
    return abortable(this.loading, signal)
  }

  private async older(limit: number): Promise<number> {
    for (;;) {
      const at = await this.k.do([this.id], () => {
        const r = this.known().rec
        const from = before(r, r.low)
        return { low: r.low, from: from < (r.mine?.clearedBelow ?? 0) ? 0 : from }
      })
      if (at.from === 0) return 0
      const f = await this.page(at.from, limit)
      const n = f.entries?.length ?? 0
      const moved = await this.k.do([this.id], () => (this.k.convs.get(this.id)?.rec.low ?? at.low) !== at.low)
      if (n > 0 || !moved) return n // a page of amendments only: on
    }
  }

  /**
   * Up to limit entries before seq (0: the newest), ascending, from the store and, as far as that does not reach,
   * the server. What touches the window in the store is kept.
   */
  history(beforeSeq = 0, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return abortable(this.pages(beforeSeq, limit), signal)
  }

  private async pages(beforeSeq: number, limit: number): Promise<Message[]> {
    for (;;) {
      const w = await this.k.do([this.id], () => {
        const cv = this.k.convs.get(this.id)
        return cv === undefined ? undefined : { rec: { ...cv.rec }, entries: shown(cv.rec, cv.kept()) }
      })
      const r = w?.rec ?? newRecord(this.id, 0)
      const to = beforeSeq > 0 ? Math.min(r.high, before(r, beforeSeq)) : r.high
      const out = (es: readonly Entry[]): Message[] => shown(r, es).map((e) => messageOf(e, this.k.meta.user, r))
      if (w === undefined || after(r, to) < r.low) { // not next to the window: past the store
        if (beforeSeq === 1 || (w !== undefined && beforeSeq > 0 && before(r, beforeSeq) === 0)) return []
        return out(await this.past(Math.max(beforeSeq, 1) - 1, limit, r.mine?.clearedBelow ?? 0))
      }
      const local = w.entries.filter((e) => e.seq <= to).slice(-limit)
      const older = before(r, r.low)
      if (local.length >= limit || older === 0 || older < (r.mine?.clearedBelow ?? 0)) return out(local)
      try {
        await this.page(older, limit - local.length)
      } catch (e) {
        if (local.length > 0) return out(local)
        throw e
      }
      const now = await this.k.do([], () => this.k.convs.get(this.id)?.rec)
      if (now !== undefined && (now.low !== r.low || before(now, now.low) !== older)) continue // the store has more now
      return out([...(await this.past(older, limit - local.length, r.mine?.clearedBelow ?? 0)), ...local])
    }
  }

  /** Up to limit entries after seq, ascending, from the server and, as far as it reaches back, the store. None: seq is the last one here. */
  later(afterSeq: number, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return abortable(this.following(afterSeq, limit), signal)
  }

  private async following(afterSeq: number, limit: number): Promise<Message[]> {
    const all: Message[] = []
    for (let at = afterSeq; ; ) {
      const { r, entries } = await this.k.do([this.id], () => {
        const cv = this.known()
        return { r: { ...cv.rec }, entries: shown(cv.rec, cv.kept()) }
      })
      const take = (es: readonly Entry[]): unknown => all.push(...es.slice(0, limit - all.length).map((e) => messageOf(e, this.k.meta.user, r)))
      const from = after(r, at)
      if (from >= r.low) {
        take(entries.filter((e) => e.seq > at))
        return all
      }
      const f = await this.page(from, limit - all.length, false)
      take(shown(r, f.entries ?? []).filter((e) => e.seq < r.low))
      if (all.length >= limit || f.lastSeq <= at) return all
      at = Math.min(f.lastSeq, r.low - 1)
    }
  }

  /** The message seq with up to limit entries before, and as many after it: two requests, wherever it lies. */
  around(seq: number, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return abortable(this.beside(seq, limit), signal)
  }

  private async beside(seq: number, limit: number): Promise<Message[]> {
    const [upTo, after] = await Promise.all([this.history(seq + 1, limit + 1), this.later(seq, limit)])
    return [...upTo, ...after]
  }

  private async past(from: number, limit: number, clearedBelow: number): Promise<Entry[]> {
    let out: Entry[] = []
    for (let at = from; ; ) {
      const f = await this.page(at, limit - out.length)
      out = [...(f.entries ?? []), ...out]
      if (out.length >= limit || f.firstSeq <= Math.max(clearedBelow, 1) || (at !== 0 && f.firstSeq > at)) return out.slice(-limit)
      at = f.firstSeq - 1
    }
  }

  /** Asks the server for a page from seq down (0: the newest), or up. */
  private page(from: number, limit: number, backward = true): Promise<Range> {
    const k = this.k
    return new Promise((resolve, reject) => {
      k.post([this.id], () => {
        if (k.state !== "connected") throw new SkeinError({ code: "offline", message: "there is no connection" })
        const cv = k.convs.get(this.id) ?? new Conv(newRecord(this.id, 0), [])
        const done = (f: Range | undefined, e?: SkeinError): void => (f === undefined || e !== undefined ? reject(e ?? new SkeinError({ code: "offline" })) : resolve(f))
        pull(k, { kind: "history", cv, at: 0, from, done }, backward, Math.max(1, Math.min(limit, pageLimit(k))))
      }, reject)
    })
  }

  thread(seq: number, before = 0, limit = 50, signal?: AbortSignal): Promise<{ thread: Thread; replies: Message[]; next: number }> {
    return abortable(readThread(this.k, this.id, seq, before, limit, signal), signal)
  }

  protected ask<M extends Method>(method: M, request: Request<M>, signal?: AbortSignal): Promise<Response<M>> {
    return this.client.call(method, request, signal === undefined ? {} : { signal })
  }

  protected me(): string {
    return this.k.meta.user
  }

  protected newId(): string {
    return this.k.ids.next()
  }

  protected effect(e: Effect): Promise<void> {
    return takeEffect(this.k, this.id, e)
  }
}

/** Counts who looks at a conversation. */
function looking(k: Core, id: string, off: () => void): () => void {
  k.looked.set(id, (k.looked.get(id) ?? 0) + 1)
  let over = false
  return () => {
    off()
    if (over) return
    over = true
    const n = (k.looked.get(id) ?? 0) - 1
    if (n > 0) k.looked.set(id, n)
    else k.looked.delete(id)
  }
}

/** What the answer of a call means for what is kept. */
export function takeEffect(k: Core, id: string, e: Effect): Promise<void> {
  return k.do([id], () => {
    if ("mine" in e) onMyState(k, e.mine)
    else if ("head" in e) noteIfConnected(k, id, e.head)
    else voted(k, id, e.voted, e.options)
  })
}

function noteIfConnected(k: Core, id: string, seq: number): void {
  if (k.state === "connected") noteHead(k, id, seq)
}

function voted(k: Core, id: string, seq: number, options: readonly string[]): void {
  const cv = k.convs.get(id)
  const e = cv?.entry(seq)
  if (cv === undefined || e?.poll?.anonymous !== true) return
  change(k, cv, { ...e, poll: { ...e.poll, options: (e.poll.options ?? []).map((o) => ({ ...o, mine: options.includes(o.id) })) } })
}
