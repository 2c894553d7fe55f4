import { encodeServer } from "../src/codec.js"
import type { WebSocketConstructor, WebSocketLike } from "../src/index.js"
import type { ClientFrame, ConversationState, Entry, Limits, ServerFrame } from "../src/wire.js"

/** A server in memory: it stores once what is sent, acknowledges it, tells all who are connected, and answers Sync and Pull. */
export class FakeServer {
  readonly journal = new Map<string, Entry[]>()
  readonly sockets = new Set<FakeSocket>()
  /** By how much its clock is ahead of Date.now(). */
  ahead = 0
  limits: Limits = {}
  /** More of what is told of a conversation. */
  more: (conversation: string) => Partial<ConversationState> = () => ({})
  /** After a message was stored, and told. */
  onStored: (e: Entry) => void = () => undefined
  /** Answers a Call: with this, or with nothing. */
  onCall: (s: FakeSocket, method: string, request: object) => object | undefined = () => undefined
  private pos = 0

  now(): number {
    return Date.now() + this.ahead
  }

  /** A WebSocket of that user's, which is connected to it. */
  webSocket(user: string): WebSocketConstructor {
    const open = (): FakeSocket => new FakeSocket(this, user)
    return function () {
      return open()
    } as unknown as WebSocketConstructor
  }

  store(e: Partial<Entry> & { conversation: string }): Entry {
    const all = this.journal.get(e.conversation) ?? []
    this.journal.set(e.conversation, all)
    const kind = e.kind ?? "ENTRY_KIND_MESSAGE"
    const count = (all[all.length - 1]?.count ?? 0) + (kind === "ENTRY_KIND_MESSAGE" ? 1 : 0)
    const full: Entry = { storedAtMs: this.now(), target: 0, amended: 0, ...e, kind, seq: all.length + 1, count, pos: String(++this.pos) }
    all.push(full)
    return full
  }

  push(e: Entry): void {
    for (const s of this.sockets) s.tell({ push: { entries: [e], position: e.pos ?? "" } })
  }

  private state(conversation: string, after: number, cold: boolean): ConversationState {
    const all = this.journal.get(conversation)!
    const last = all[all.length - 1]!
    const entries = cold ? [last] : all.filter((e) => Number(e.pos) > after)
    return {
      conversation, seq: last.seq, count: last.count, lastAtMs: last.storedAtMs, firstSeq: 1, untilSeq: 0, readSeq: 0, unread: last.count, peerReceived: 0, peerRead: 0,
      recalled: 0, unreadMentions: 0, floor: 0, fromSeq: entries[0]!.seq, entries, last: { conversation, seq: last.seq, storedAtMs: last.storedAtMs, pos: last.pos! },
      ...this.more(conversation),
    }
  }

  sync(number: number, position: string): ServerFrame {
    const after = Number(position)
    const news = [...this.journal.keys()].filter((id) => this.journal.get(id)!.some((e) => Number(e.pos) > after))
    return { syncDelta: { number, timeline: "t", position: String(this.pos), conversations: news.map((id) => this.state(id, after, position === "")) } }
  }

  take(s: FakeSocket, f: ClientFrame): void {
    if (f.hello !== undefined) {
      this.sockets.add(s)
      s.tell({ welcome: { version: 1, user: s.user, timeline: "t", limits: this.limits, serverTimeMs: this.now(), tokenExpiresAtMs: 0 } })
      s.tell(this.sync(f.hello.sync!.number, f.hello.sync!.position ?? ""))
    } else if (f.send !== undefined) {
      const { id, conversation, content } = f.send
      const old = this.journal.get(conversation)?.find((e) => e.id === id)
      const e = old ?? this.store({ conversation, id, sender: s.user, content })
      s.tell({ sendAck: { id, conversation, seq: e.seq, storedAtMs: e.storedAtMs, count: e.count, pos: e.pos! } })
      if (old !== undefined) return
      this.push(e)
      this.onStored(e)
    } else if (f.sync !== undefined) {
      s.tell(this.sync(f.sync.number, f.sync.position ?? ""))
    } else if (f.call !== undefined) {
      const json = this.onCall(s, f.call.method, f.call.json as object)
      if (json !== undefined) s.tell({ result: { number: f.call.number, json } })
    } else if (f.ping !== undefined) {
      s.tell({ pong: { serverTimeMs: this.now() } })
    } else if (f.bye !== undefined) {
      s.end(1000)
    }
    for (const p of f.pulls?.pulls ?? (f.pull === undefined ? [] : [f.pull])) {
      const all = this.journal.get(p.conversation) ?? []
      const from = Number(p.from ?? 0)
      const some = p.backward === true ? all.filter((e) => from === 0 || e.seq <= from).slice(-(p.limit ?? 50)) : all.filter((e) => e.seq >= from).slice(0, p.limit ?? 50)
      s.tell({ range: { number: p.number, conversation: p.conversation, entries: some, head: all.length, firstSeq: some[0]?.seq ?? 0, lastSeq: some[some.length - 1]?.seq ?? 0 } })
    }
  }
}

export class FakeSocket implements WebSocketLike {
  readyState = 0
  onopen: WebSocketLike["onopen"] = null
  onmessage: WebSocketLike["onmessage"] = null
  onclose: WebSocketLike["onclose"] = null
  onerror: WebSocketLike["onerror"] = null

  constructor(private readonly server: FakeServer, readonly user: string) {
    queueMicrotask(() => {
      if (this.readyState !== 0) return
      this.readyState = 1
      this.onopen?.({} as never)
    })
  }

  send(text: string): void {
    if (this.readyState === 1) this.server.take(this, JSON.parse(text) as ClientFrame)
  }

  tell(f: ServerFrame): void {
    const data = encodeServer(f)
    queueMicrotask(() => this.readyState === 1 && this.onmessage?.({ data } as never))
  }

  close(): void {
    this.end(1000)
  }

  end(code: number): void {
    if (this.readyState === 3) return
    this.readyState = 3
    this.server.sockets.delete(this)
    queueMicrotask(() => this.onclose?.({ code } as never))
  }
}
