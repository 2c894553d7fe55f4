import type { Message, SkeinError, Unsubscribe } from "@skein-im/client"
import { errorFrom, type ChatClient } from "@skein-im/react"
import { around, atTop, cut, down, first, most, step, tail, up, type Span } from "./window.js"

/** How many entries are asked for at once. */
const page = 60
/** So long what the device keeps is waited for. */
const arrivesMs = 3000

/*
 * The messages of a conversation that a timeline shows: those that the client has, or, after a jump far back, others
 * that were read for it. As soon as the two touch they are one.
 */

export interface Shown {
  messages: readonly Message[]
  /** The newest message is among them: it follows what comes. */
  follows: boolean
  /** There is nothing older. */
  complete: boolean
  loading: "" | "up" | "down" | "jump"
  error: SkeinError | undefined
}

type Conversation = ReturnType<ChatClient["conversation"]>

export class Stretch {
  private readonly conversation: Conversation
  private span: Span = { from: 0, to: Infinity }
  private begun = false
  /** Read for a jump; whether what the client has follows on it. */
  private far: readonly Message[] | undefined
  private joined = false
  private farComplete = false
  private loading: Shown["loading"] = ""
  private error: SkeinError | undefined
  private running: Promise<void> | undefined
  /** What is shown is what was gone to; not while that is read, or could not be. */
  settled = true
  private again: () => void = () => undefined
  private shown: Shown
  private readonly quoted = new Map<number, Message | undefined>()
  private readonly asked = new Set<number>()
  private readonly listeners = new Set<() => void>()
  private ends: Unsubscribe[] = []
  private users = 0

  constructor(private readonly client: ChatClient, private readonly id: string) {
    this.conversation = client.conversation(id)
    this.shown = this.compute()
  }

  readonly getSnapshot = (): Shown => this.shown
  readonly subscribe = (f: () => void): Unsubscribe => {
    this.listeners.add(f)
    if (this.users++ === 0) this.begin()
    return () => {
      this.listeners.delete(f)
      if (--this.users === 0) this.end()
    }
  }

  private begin(): void {
    const ours = (c: string): boolean => c === this.id
    this.ends = [
      this.conversation.messages.subscribe(() => this.changed()),
      this.conversation.summary.subscribe(() => this.changed()),
      this.client.on("state", (e) => { if (e.state === "connected" && this.error?.code === "offline") this.retry() }), // what was asked for before there was a connection
      this.client.on("touched", (e) => void (ours(e.conversation) && this.reread(e.seq))),
      this.client.on("myState", (e) => {
        if (!ours(e.conversation) || this.far === undefined) return
        const gone = e.deleted ?? []
        this.far = this.far.filter((m) => m.seq >= (e.clearedBelow ?? 0) && !gone.some((g) => g.first <= m.seq && m.seq <= g.last))
        this.changed()
      }),
      this.client.on("gone", (e) => {
        if (!ours(e.conversation)) return
        const stays = (seq: number): boolean => seq < e.from || seq > e.to
        this.far = this.far?.filter((m) => stays(m.seq))
        for (const seq of this.quoted.keys()) if (!stays(seq)) this.quoted.set(seq, undefined)
        this.changed()
      }),
    ]
    this.changed()
  }

  private end(): void {
    for (const f of this.ends) f()
    this.ends = []
  }

  /** All that is here, oldest first. */
  all(): readonly Message[] {
    const live = this.conversation.messages.getSnapshot()
    if (this.far === undefined) return live
    const low = this.conversation.summary.getSnapshot()?.low ?? 0
    const own = this.far.filter((m) => m.seq < low)
    return this.joined ? [...own, ...live] : own
  }

  private compute(): Shown {
    const all = this.all()
    if (!this.begun && all.length > 0) {
      this.begun = true
      if (this.far === undefined) this.span = tail(all)
    }
    const s = this.conversation.summary.getSnapshot()
    const live = this.far === undefined
    return {
      messages: cut(all, this.span), follows: this.span.to === Infinity && (live || this.joined),
      complete: atTop(all, this.span) && (live ? s === undefined || s.complete : this.farComplete), loading: this.loading, error: this.error,
    }
  }

  private changed(): void {
    const next = this.compute()
    const was = this.shown
    const same = next.messages.length === was.messages.length && next.messages.every((m, i) => m === was.messages[i])
    this.shown = same ? { ...next, messages: was.messages } : next
    for (const f of [...this.listeners]) f()
  }

  /** One at a time; a jump waits for what is under way. */
  private async load(what: Shown["loading"], f: () => Promise<void>): Promise<void> {
    if (this.loading !== "" && what !== "jump") return
    const before = this.running
    this.running = (async () => {
      await before
      await this.run(what, f)
    })()
    await this.running
  }

  private async run(what: Shown["loading"], f: () => Promise<void>): Promise<void> {
    this.loading = what
    this.error = undefined
    this.changed()
    try {
      await f()
    } catch (e) {
      this.error = errorFrom(e)
      this.again = () => void this.load(what, f)
    }
    this.loading = ""
    this.changed()
  }

  retry(): void {
    this.again()
  }

  /** More older ones; what is here comes at once. */
  up(): void {
    const all = this.all()
    if (!atTop(all, this.span)) {
      this.span = up(all, this.span)
      this.changed()
      return
    }
    if (this.error !== undefined || this.shown.complete || all.length === 0) return
    void this.load("up", async () => {
      const oldest = this.all().find((m) => m.seq > 0)?.seq ?? 0
      if (this.far === undefined) {
        await this.conversation.loadOlder(page)
      } else {
        const older = await this.conversation.history(oldest, page)
        if (this.far === undefined) return
        if (older.length === 0) this.farComplete = true
        else this.far = [...older, ...this.far]
      }
      this.span = up(this.all(), this.span)
    })
  }

  /** More newer ones, up to the last. */
  down(): void {
    if (this.shown.follows || this.error !== undefined) return
    const all = this.all()
    if (this.span.to !== Infinity && this.span.to < (all.findLast((m) => m.seq > 0)?.seq ?? 0)) {
      this.span = down(all, this.span)
      this.changed()
      return
    }
    if (this.far === undefined || this.joined) {
      this.span = { ...this.span, to: Infinity }
      this.changed()
      return
    }
    void this.load("down", async () => {
      const far = this.far
      const newest = far?.at(-1)?.seq ?? 0
      const newer = await this.conversation.later(newest, page)
      if (far === undefined || this.far === undefined) return
      const low = this.conversation.summary.getSnapshot()?.low ?? 0
      this.far = [...this.far, ...newer.filter((m) => m.seq < low)]
      this.joined = newer.length === 0 || (newer.at(-1)?.seq ?? 0) >= low
      this.span = down(this.all(), this.span)
    })
  }

  /** Shows a message and what is around it, wherever it lies; resolves once it is shown. */
  async goTo(seq: number): Promise<void> {
    const low = this.conversation.summary.getSnapshot()?.low ?? Infinity
    if (this.all().some((m) => m.seq === seq) || seq >= low) {
      if (seq >= low && this.far !== undefined && !this.joined) this.far = undefined
      this.settled = false
      await this.arrived(seq)
      this.settled = true
      this.span = around(this.all(), seq) ?? this.span
      this.begun = true
      this.changed()
      return
    }
    this.settled = false
    await this.load("jump", async () => {
      const far = await this.conversation.around(seq, first / 2)
      this.far = far
      this.settled = true
      this.begun = true
      const now = this.conversation.summary.getSnapshot()?.low ?? 0
      this.joined = (far.at(-1)?.seq ?? 0) >= now
      this.farComplete = false
      this.span = { from: far[0]?.seq ?? 0, to: this.joined ? Infinity : (far.at(-1)?.seq ?? Infinity) }
    })
  }

  /** What the device keeps is read from it, which takes a moment: until then the newest alone may stand there. */
  private arrived(seq: number): Promise<void> {
    const here = (): boolean => this.all().some((m) => m.seq > 0 && m.seq <= seq)
    if (here()) return Promise.resolve()
    return new Promise((done) => {
      const end = (): void => {
        clearTimeout(late)
        stop()
        done()
      }
      const late = setTimeout(end, arrivesMs)
      const stop = this.conversation.messages.subscribe(() => void (here() && end()))
    })
  }

  /** The last ones, and what comes. */
  toEnd(): void {
    this.far = undefined
    this.settled = true
    this.error = undefined
    this.span = tail(this.all())
    this.changed()
  }

  /** What is far from the reader goes, so that the document does not grow for ever. */
  trim(atEnd: boolean): void {
    const n = this.shown.messages.length
    if (atEnd && this.shown.follows && n > most) this.span = tail(this.all(), first + step)
    else if (!atEnd && n > most + 2 * step) this.span = { ...this.span, to: this.shown.messages[most]?.seq || Infinity }
    else return
    this.changed()
  }

  /** A message that is here, or was looked up. */
  find(seq: number): Message | undefined {
    return this.all().find((m) => m.seq === seq) ?? this.quoted.get(seq)
  }

  /** Has a message looked up that another one answers. */
  want(seq: number): void {
    if (seq <= 0 || this.find(seq) !== undefined || this.asked.has(seq)) return
    this.asked.add(seq)
    void this.one(seq).then((m) => {
      this.quoted.set(seq, m)
      this.changed()
    }, () => this.asked.delete(seq))
  }

  private async one(seq: number): Promise<Message | undefined> {
    return (await this.conversation.history(seq + 1, 1)).find((m) => m.seq === seq)
  }

  private async reread(seq: number): Promise<void> {
    const shows = this.far?.some((m) => m.seq === seq) === true
    if (!shows && !this.quoted.has(seq)) return
    const now = await this.one(seq).catch(() => undefined)
    if (this.quoted.has(seq)) this.quoted.set(seq, now)
    this.far = this.far?.flatMap((m) => (m.seq !== seq ? [m] : now === undefined ? [] : [now]))
    this.changed()
  }
}
