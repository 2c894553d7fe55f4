import { Actions, type Effect } from "../actions.js"
import { abortable } from "../call.js"
import type { ChatConversation, Method, Request, Response, Thread } from "../chat.js"
import { SkeinError, invalid } from "../errors.js"
import { toUuid } from "../ids.js"
import type { Message } from "../message.js"
import { sendOf, typeForm, type SendOptions } from "../sendform.js"
import type { Summary, View } from "../view.js"
import type { Question } from "./frames.js"
import type { SharedClient } from "./tab.js"

const typingEvery = 3000

/** A conversation of a client that is shared: what it does, the leader does. */
export class SharedConversation extends Actions implements ChatConversation {
  readonly messages: View<readonly Message[]>
  readonly summary: View<Summary | undefined>
  private typedAt = 0

  constructor(private readonly tab: SharedClient, id: string) {
    super(id)
    this.messages = tab.mirror<readonly Message[]>(`messages:${id}`, [])
    this.summary = tab.mirror<Summary | undefined>(`summary:${id}`, undefined)
  }

  protected ask<M extends Method>(method: M, request: Request<M>, signal?: AbortSignal): Promise<Response<M>> {
    return this.tab.call(method, request, signal === undefined ? {} : { signal })
  }

  protected me(): string {
    return this.tab.user
  }

  protected newId(): string {
    return this.tab.ids.next()
  }

  protected async effect(effect: Effect): Promise<void> {
    await this.question({ effect, conversation: this.id })
  }

  private async question(q: Question, signal?: AbortSignal): Promise<unknown> {
    this.tab.check()
    return await this.tab.link.ask(q, signal)
  }

  async send(text: string, o: SendOptions = {}): Promise<Message> {
    return await abortable((await abortable(this.post(text, o), o.signal)).stored, o.signal)
  }

  async post(text: string, o: SendOptions = {}): Promise<{ id: string; stored: Promise<Message> }> {
    this.tab.check()
    const s = sendOf(this.id, text, o)
    const id = s.id ?? this.newId()
    const [asked, stored] = this.tab.twice({ post: { ...s, id } })
    await asked
    return { id: toUuid(id), stored }
  }

  async load(): Promise<void> {
    this.messages.getSnapshot() // from now on it is looked at
    await this.question({ load: this.id })
  }

  async markRead(seq?: number): Promise<void> {
    await this.question({ read: this.id, seq })
  }

  typing(): void {
    const now = Date.now()
    if (!this.tab.isConnected() || (this.typedAt > 0 && now - this.typedAt < typingEvery)) return
    this.typedAt = now
    this.tab.link.post({ typing: this.id })
  }

  signal(type: string, data: Uint8Array = new Uint8Array()): void {
    if (!typeForm.test(type)) throw invalid("a signal's type matches [a-z0-9._-]{1,64}")
    if (data.length > 1024) throw new SkeinError({ code: "too_large", message: "the data of a signal is longer than 1 KiB" })
    this.tab.link.post({ signal: this.id, type, data })
  }

  async loadOlder(limit = 50, signal?: AbortSignal): Promise<number> {
    return (await this.question({ pages: "older", conversation: this.id, seq: 0, limit }, signal)) as number
  }

  private async list(pages: "history" | "later" | "around", seq: number, limit: number, signal: AbortSignal | undefined): Promise<Message[]> {
    return (await this.question({ pages, conversation: this.id, seq, limit }, signal)) as Message[]
  }

  async thread(seq: number, before = 0, limit = 50, signal?: AbortSignal): Promise<{ thread: Thread; replies: Message[]; next: number }> {
    return (await this.question({ thread: seq, conversation: this.id, before, limit }, signal)) as { thread: Thread; replies: Message[]; next: number }
  }

  history(beforeSeq = 0, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return this.list("history", beforeSeq, limit, signal)
  }

  later(afterSeq: number, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return this.list("later", afterSeq, limit, signal)
  }

  around(seq: number, limit = 50, signal?: AbortSignal): Promise<Message[]> {
    return this.list("around", seq, limit, signal)
  }
}
