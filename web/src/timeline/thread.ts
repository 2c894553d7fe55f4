import type { EventMap, Message, SkeinError, Thread, Unsubscribe } from "@skein-im/client"
import { errorFrom, type ChatClient } from "@skein-im/react"

/** How many replies are asked for at once. */
const page = 50
/** Several changes in a row are one question. */
const togetherMs = 200

export interface ThreadShown {
  /** As the server told it, and what was heard since; undefined: not read yet. */
  thread: Thread | undefined
  /** The last replies, oldest first. */
  replies: readonly Message[]
  /** There are older ones. */
  more: boolean
  loading: "" | "last" | "older"
  error: SkeinError | undefined
}

/**
 * A thread that is shown (SPEC §4.36): its replies are read here, without a connection from what the client keeps, and
 * what the client hears of them is put in its place. What may have been missed is read again: after a reconnect, and
 * where the root tells another number than what was heard comes to.
 */
export class ThreadStore {
  private shown: ThreadShown = { thread: undefined, replies: [], more: false, loading: "", error: undefined }
  private next = 0
  private count = 0
  private readonly listeners = new Set<() => void>()
  private ends: Unsubscribe[] = []
  private timer: ReturnType<typeof setTimeout> | undefined
  private stop = new AbortController()
  private again = false
  private wantsOlder = false

  constructor(private readonly client: ChatClient, private readonly id: string, private readonly root: number) {}

  readonly getSnapshot = (): ThreadShown => this.shown
  readonly subscribe = (f: () => void): Unsubscribe => {
    this.listeners.add(f)
    if (this.listeners.size === 1) this.begin()
    return () => {
      this.listeners.delete(f)
      if (this.listeners.size === 0) this.end()
    }
  }

  private begin(): void {
    this.stop = new AbortController()
    const ofRoot = (e: { conversation: string; seq: number }): boolean => e.conversation === this.id && e.seq === this.root
    this.ends = [
      this.client.on("thread", (e) => { if (e.conversation === this.id && e.root === this.root) this.heard(e) }),
      this.client.on("changed", (m) => { if (ofRoot(m)) this.rootIs(m) }),
      this.client.on("touched", (e) => { if (ofRoot(e)) this.soon() }),
      this.client.on("recalled", (e) => { if (ofRoot(e)) this.soon() }),
      this.client.on("gone", (e) => { if (e.conversation === this.id) this.soon() }),
      this.client.on("myState", (e) => { if (e.conversation === this.id) this.mine(e) }),
      this.client.on("state", (e) => { if (e.state === "connected" && this.shown.thread !== undefined) this.soon() }),
    ]
    void this.read()
  }

  private end(): void {
    for (const f of this.ends) f()
    this.ends = []
    clearTimeout(this.timer)
    this.stop.abort()
  }

  private set(change: Partial<ThreadShown>): void {
    this.shown = { ...this.shown, ...change }
    for (const f of [...this.listeners]) f()
  }

  private soon(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.read(), togetherMs)
  }

  /** Reads the last page; also after an error. One at a time. */
  async read(): Promise<void> {
    if (this.shown.loading !== "") {
      this.again = true
      return
    }
    await this.load("last", async (signal) => {
      const r = await this.client.conversation(this.id).thread(this.root, 0, page, signal)
      const first = r.replies[0]?.seq ?? 0
      const older = this.shown.replies.filter((m) => m.seq < first)
      const joined = older.length > 0 && this.shown.replies.length > older.length // the page goes on where they end
      if (!joined) this.next = r.next
      this.count = r.thread.root.replies?.count ?? 0
      this.set({ thread: r.thread, replies: joined ? [...older, ...r.replies] : r.replies, more: this.next > 0 })
      if (r.thread.kept && this.client.state.getSnapshot().state === "connected") this.soon() // the connection came back before this answer
    })
  }

  /** Reads the page before what is here. */
  async older(): Promise<void> {
    if (this.next === 0) return
    this.wantsOlder = this.shown.loading === "last" // then it follows on that
    if (this.shown.loading !== "") return
    await this.load("older", async (signal) => {
      const r = await this.client.conversation(this.id).thread(this.root, this.next, page, signal)
      const first = this.shown.replies[0]?.seq ?? Infinity
      this.next = r.next
      this.set({ replies: [...r.replies.filter((m) => m.seq < first), ...this.shown.replies], more: r.next > 0 })
    })
  }

  private async load(loading: "last" | "older", f: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.stop
    this.set({ loading, error: undefined })
    try {
      await f(signal)
      if (!signal.aborted) this.set({ loading: "" })
    } catch (e) {
      this.set(signal.aborted ? { loading: "" } : { loading: "", error: errorFrom(e) })
    }
    if (signal.aborted) return
    if (this.again) {
      this.again = false
      await this.read()
    } else if (this.wantsOlder && this.shown.error === undefined) {
      this.wantsOlder = false
      await this.older()
    }
  }

  private heard(e: EventMap["thread"]): void {
    if (this.shown.loading !== "") this.again = true // the answer may be older than this
    if (e.message === undefined) return void this.reread(e.seq)
    const { thread, replies } = this.shown
    if (thread === undefined || replies.some((m) => m.seq === e.seq)) return
    this.count++
    const own = e.message.own
    const unread = own ? 0 : thread.unread + 1
    const next = { ...thread, last: Math.max(thread.last, e.seq), unread, follows: thread.follows || own, read: own ? e.seq : thread.read }
    this.set({ thread: next, replies: [...replies, e.message].sort((a, b) => a.seq - b.seq) })
  }

  /** A reply was changed, or is not there any more. */
  private async reread(seq: number): Promise<void> {
    const here = (): boolean => this.shown.replies.some((m) => m.seq === seq)
    if (!here()) return
    const { signal } = this.stop
    const now = await this.client.conversation(this.id).thread(this.root, seq + 1, 1, signal).then((r) => r.replies.find((m) => m.seq === seq), () => null)
    if (signal.aborted || !here()) return
    if (now === null) return this.soon()
    if (now === undefined) this.count--
    this.set({ replies: this.shown.replies.flatMap((m) => (m.seq !== seq ? [m] : now === undefined ? [] : [now])) })
  }

  private rootIs(m: Message): void {
    const { thread } = this.shown
    if (thread === undefined) return
    this.set({ thread: { ...thread, root: m } })
    clearTimeout(this.timer)
    this.timer = setTimeout(() => { // what is heard of the replies comes at the same time
      if ((this.shown.thread?.root.replies?.count ?? 0) !== this.count) void this.read()
    }, togetherMs)
  }

  private mine(e: EventMap["myState"]): void {
    const { thread, replies } = this.shown
    if (thread === undefined) return
    const gone = (seq: number): boolean => (e.deleted ?? []).some((g) => g.first <= seq && seq <= g.last)
    if (replies.some((m) => gone(m.seq))) this.set({ replies: replies.filter((m) => !gone(m.seq)) })
    const mark = e.threads?.find((x) => x.root === this.root)
    if (mark === undefined) return
    const follows = mark.follow === "THREAD_FOLLOW_YES" ? true : mark.follow === "THREAD_FOLLOW_NO" ? false : thread.follows
    if (mark.read > thread.read || follows !== thread.follows) {
      const read = Math.max(thread.read, mark.read)
      this.set({ thread: { ...thread, follows, read, unread: this.shown.replies.filter((m) => m.seq > read && !m.own).length } })
    }
  }

  /** The user has seen all that is here. */
  seen(): void {
    const { thread } = this.shown
    if (thread === undefined || thread.unread === 0 || thread.last <= thread.read) return
    const before = thread
    this.set({ thread: { ...thread, read: thread.last, unread: 0 } })
    this.client.conversation(this.id).setMyState({ thread: { root: String(this.root), read: String(thread.last) } })
      .catch(() => { if (this.shown.thread !== undefined) this.set({ thread: { ...this.shown.thread, read: before.read, unread: before.unread } }) }) // told again with the next look
  }

  async follow(on: boolean): Promise<void> {
    await this.client.conversation(this.id).setMyState({ thread: { root: String(this.root), follow: on } })
    if (this.shown.thread !== undefined) this.set({ thread: { ...this.shown.thread, follows: on } })
  }
}
