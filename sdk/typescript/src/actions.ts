import type { EditOptions, Method, MyStateChange, Request, Response, Thread } from "./chat.js"
import { fromUuid, toUuid } from "./ids.js"
import { saidOf, timeOf } from "./later.js"
import { messageOf } from "./message.js"
import { sendOf, type SendOptions } from "./sendform.js"
import { threadFrom } from "./threads.js"
import type { MyState } from "./wire.js"

/** What the answer of a call means for what is kept here; its push may get lost, or not tell it. */
export type Effect =
  /** An entry of the user's is stored at seq. */
  | { head: number }
  /** Of an anonymous poll the entry that is pushed does not tell that it is the user's. */
  | { voted: number; options: readonly string[] }
  | { mine: MyState | undefined }

type WireThread = NonNullable<Response<"skein.v1.MessageService/ListThreads">["threads"]>[number]

/** What a user does to messages and conversations: calls, each carried out once. */
export abstract class Actions {
  protected constructor(readonly id: string) {}

  protected abstract ask<M extends Method>(method: M, request: Request<M>, signal?: AbortSignal): Promise<Response<M>>
  protected abstract me(): string
  /** An id of an entry, as the wire has it. */
  protected abstract newId(): string
  protected abstract effect(e: Effect): Promise<void>

  private async stored(seq: string | undefined): Promise<void> {
    const n = Number(seq ?? 0)
    if (n > 0) await this.effect({ head: n })
  }

  private ofThread(t: WireThread): Thread {
    const of = threadFrom(t)
    return { ...of, root: messageOf(of.root, this.me()), kept: false }
  }

  /** The conversation's threads, that with the newest reply first. */
  async threads(cursor = "", limit = 50, signal?: AbortSignal): Promise<{ threads: Thread[]; next: string }> {
    const r = await this.ask("skein.v1.MessageService/ListThreads", { conversation: this.id, limit, cursor }, signal)
    return { threads: (r.threads ?? []).map((t) => this.ofThread(t)), next: r.next ?? "" }
  }

  /**
   * Has the server send a message at a time (Unix ms), also when no device of the user's is there then: at most 100 of
   * a user, up to 366 days ahead; a time that is over means at once. Resolves with the id that the message has; every
   * try has the same one, so one whose answer was lost makes no second message.
   */
  async sendLater(atMs: number, text: string, o: SendOptions = {}): Promise<string> {
    const s = sendOf(this.id, text, o)
    const id = s.id ?? this.newId()
    await this.ask("skein.v1.MessageService/ScheduleMessage", { message: saidOf({ ...s, id }), atMs: timeOf(atMs) }, o.signal)
    return toUuid(id)
  }

  /** Gives a scheduled message of this conversation other words, all of them, and another time where one is given. From its time on it is `too_late`. */
  async changeLater(id: string, text: string, o: Omit<SendOptions, "id"> = {}, atMs?: number): Promise<void> {
    const message = saidOf(sendOf(this.id, text, o))
    await this.ask("skein.v1.MessageService/ChangeScheduled", { id: fromUuid(id), message, ...(atMs === undefined ? {} : { atMs: timeOf(atMs) }) }, o.signal)
  }

  /** Takes back a message: its author within the deployment's window, or a group's admin. */
  async recall(seq: number): Promise<void> {
    await this.stored((await this.ask("skein.v1.MessageService/RecallMessage", { conversation: this.id, seq: String(seq) })).seq)
  }

  /** Replaces what the user's own message says; what is not given is absent then. */
  async edit(seq: number, text: string, o: EditOptions = {}): Promise<void> {
    const { content, mentions, groupMention, extra } = sendOf(this.id, text, o)
    const request = { conversation: this.id, seq: String(seq), id: this.newId(), content, mentions, groupMention, extra } as Request<"skein.v1.MessageService/EditMessage">
    await this.stored((await this.ask("skein.v1.MessageService/EditMessage", request)).seq)
  }

  /** Adds a reaction of the user's, or takes it away. */
  async react(seq: number, reaction: string, remove = false): Promise<void> {
    const request = { conversation: this.id, seq: String(seq), id: this.newId(), reaction, remove }
    await this.stored((await this.ask("skein.v1.MessageService/ReactToMessage", request)).seq)
  }

  /** Pins a message for everybody, or ends that. */
  async pin(seq: number, remove = false): Promise<void> {
    const request = { conversation: this.id, seq: String(seq), id: this.newId(), remove }
    await this.stored((await this.ask("skein.v1.MessageService/PinMessage", request)).seq)
  }

  /** Sets all that the user chooses in a poll; none takes it back. */
  async vote(seq: number, options: string[]): Promise<void> {
    const request = { conversation: this.id, seq: String(seq), id: this.newId(), options }
    await this.stored((await this.ask("skein.v1.MessageService/VoteInPoll", request)).seq)
    await this.effect({ voted: seq, options })
  }

  /** Ends a poll before its time. */
  async endPoll(seq: number): Promise<void> {
    await this.stored((await this.ask("skein.v1.MessageService/EndPoll", { conversation: this.id, seq: String(seq), id: this.newId() })).seq)
  }

  /** Changes what the user set for themselves here: pinned, draft, folder, hidden … What is not named stays. SPEC §4.8. */
  async setMyState(change: MyStateChange): Promise<void> {
    const r = await this.ask("skein.v1.MessageService/SetMyState", { ...change, conversation: this.id })
    await this.effect({ mine: mineOf(r) })
  }

  /** Deletes messages for the user alone, on all their devices and for ever. */
  async deleteForMe(...seqs: number[]): Promise<void> {
    for (let i = 0; i < seqs.length; i += 100) await this.setMyState({ delete: seqs.slice(i, i + 100).map(String) })
  }

  /**
   * Has what is said from now on disappear after seconds, of a minute to 365 days; 0: it stays. In a dm both
   * may, in a group its admins. What is gone is taken away here by itself, and told by `gone`. SPEC §4.27.
   */
  async setLifetime(seconds: number): Promise<void> {
    await this.ask("skein.v1.MessageService/SetLifetime", { conversation: this.id, lifetimeS: seconds })
  }
}

/** MyState of an answer, whose numbers are text. */
function mineOf(r: Response<"skein.v1.MessageService/SetMyState">): MyState | undefined {
  const s = r.state
  if (s === undefined) return undefined
  const { conversation, pinned, hidden, draft, unread, folder, pushLevel } = s
  const numbers = { mutedUntilMs: s.mutedUntilMs, clearedBelow: s.clearedBelow, hiddenCount: s.hiddenCount, unreadAt: s.unreadAt }
  const m: MyState = { revision: Number(s.revision ?? 0), deleted: (s.deleted ?? []).map((d) => ({ first: Number(d.first), last: Number(d.last) })) }
  if (s.threads !== undefined) m.threads = s.threads.map((t) => ({ root: Number(t.root), read: Number(t.read ?? 0), ...(t.follow === undefined ? {} : { follow: t.follow }) }))
  for (const [name, v] of Object.entries(numbers)) if (v !== undefined) Object.assign(m, { [name]: Number(v) })
  for (const [name, v] of Object.entries({ conversation, pinned, hidden, draft, unread, folder, pushLevel })) if (v !== undefined) Object.assign(m, { [name]: v })
  return m
}
