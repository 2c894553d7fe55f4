import { SkeinError } from "../errors.js"
import { errorOfFault, unpack, type Envelope, type Fault, type Question, type ToLeader, type ToTab } from "./frames.js"
import type { Channel } from "./platform.js"

/** A question that has no last answer yet: the next leader, or the next session, is asked again. */
interface Asked {
  question: Question
  /** A leader may have it. */
  before: boolean
  resolve: (v: unknown) => void
  reject: (e: unknown) => void
  /** After the answer to post and retry: the outcome is awaited. */
  second: ((v: unknown, e?: SkeinError) => void) | undefined
  answered: boolean
}

/** The tab's side of a session. It knows nothing of who leads: the tab gives it a channel and a term. */
export class Link {
  private channel: Channel | undefined
  private term = ""
  private session = 0
  private sent = 0
  private got = 0
  private lastAsk = 0
  private readonly asked = new Map<number, Asked>()
  constructor(private readonly on: { begin: () => ToLeader[]; frame: (f: ToTab) => void; lost: () => void }) {}

  /** Begins a session: what was asked and not answered is asked again, in its order. */
  attach(channel: Channel, term: string): void {
    this.channel = channel
    this.term = term
    this.session++
    this.sent = this.got = 0
    for (const f of this.on.begin()) this.post(f)
    for (const [id, a] of this.asked) this.question(id, a)
  }

  /** There is a session, or one is asked for. */
  get attached(): boolean {
    return this.channel !== undefined
  }

  detach(): void {
    this.channel = undefined
  }

  /** Says something that may get lost, or that begin() says again. */
  post(body: ToLeader): void {
    this.channel?.postMessage({ term: this.term, session: this.session, n: ++this.sent, body } satisfies Envelope<ToLeader>)
  }

  take(e: Envelope<ToTab>): void {
    if (this.channel === undefined || e.term !== this.term || e.session !== this.session) return
    if (e.n !== this.got + 1) {
      if (e.n > this.got) this.on.lost()
      return
    }
    this.got = e.n
    const f = e.body
    if ("answer" in f) this.answer(f.answer, unpacked(f.value), f.error)
    else if ("settled" in f) this.settled(f.settled, f.value, f.error)
    else this.on.frame(f)
  }

  private question(id: number, a: Asked): void {
    if (this.channel === undefined) return
    this.post({ ask: id, question: a.question, again: a.before })
    a.before = true
  }

  /** Asks, and goes on asking until it is answered. second is told of the outcome, after the answer to a post or a retry. */
  ask(question: Question, signal?: AbortSignal, second?: Asked["second"]): Promise<unknown> {
    const id = ++this.lastAsk
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error)
      const stop = (): void => {
        this.asked.delete(id)
        this.post({ cancel: id })
        reject(signal?.reason as Error)
      }
      const end = <A extends unknown[]>(f: (...a: A) => void) => (...a: A): void => {
        signal?.removeEventListener("abort", stop)
        f(...a)
      }
      signal?.addEventListener("abort", stop, { once: true })
      const a: Asked = { question, before: false, resolve: end(resolve), reject: end(reject), second, answered: false }
      this.asked.set(id, a)
      this.question(id, a)
    })
  }

  private answer(id: number, value: unknown, error: Fault | undefined): void {
    const a = this.asked.get(id)
    if (a === undefined) return
    const e = error === undefined ? undefined : errorOfFault(error)
    if (a.answered || a.second === undefined || e !== undefined) {
      this.asked.delete(id)
      if (a.answered) a.second?.(value, e)
      else if (e === undefined) a.resolve(value)
      else a.reject(e)
      return
    }
    a.answered = true
    if ("post" in a.question) a.question = { outcome: a.question.post.id, conversation: a.question.post.conversation }
    else if ("retry" in a.question) a.question = { outcome: a.question.retry, conversation: a.question.conversation }
    a.resolve(value)
  }

  private settled(id: number, value: unknown, error: Fault | undefined): void {
    const a = this.asked.get(id)
    if (a === undefined) return
    this.asked.delete(id)
    a.resolve(undefined)
    a.second?.(value, error === undefined ? undefined : errorOfFault(error))
  }

  /** Nobody will answer. */
  fail(e: SkeinError): void {
    for (const [id, a] of [...this.asked]) {
      this.asked.delete(id)
      if (a.answered) a.second?.(undefined, e)
      else a.reject(e)
    }
  }
}

function unpacked(v: unknown): unknown {
  return Array.isArray(v) ? v.map(unpack) : v
}
