import type { paths } from "./api_gen.js"
import type { CallOptions } from "./call.js"
import type { EventMap, Unsubscribe } from "./events.js"
import type { Scheduled } from "./later.js"
import type { Message } from "./message.js"
import type { SendOptions } from "./sendform.js"
import type { StateSnapshot, Summary, View } from "./view.js"
import type { Limits } from "./wire.js"

/*
 * What an app sees: a chat client, its conversations, and stretches of their history. Apps and hooks are written
 * against these types, and take a Client, which has a connection of its own, and a client that shares
 * one with other tabs alike.
 */

type PathOf<M extends string> = `/api/${M}`

/** The methods of the API: skein.v1.<Service>/<Method>. */
export type Method = { [P in keyof paths]: P extends PathOf<infer M> ? M : never }[keyof paths]

type Post<M extends Method> = paths[PathOf<M> & keyof paths] extends { post: infer P } ? P : never
type JsonOf<C> = C extends { content: { "application/json": infer J } } ? J : never

/** What a method is asked, and what it answers, in JSON: numbers of 64 bits are text. */
export type Request<M extends Method> = Post<M> extends { requestBody: infer B } ? JsonOf<B> : never
export type Response<M extends Method> = Post<M> extends { responses: { 200: infer R } } ? JsonOf<R> : never

/** What a user set for themselves in a conversation. SPEC §4.8. */
export type MyStateChange = Omit<Request<"skein.v1.MessageService/SetMyState">, "conversation">

/** A thread, as the user has it. SPEC §4.36. */
export interface Thread {
  root: Message
  /** Seq of the last reply; 0: none. */
  last: number
  follows: boolean
  /** Replies of others behind `read`: up to there the user has read it, or wrote. */
  unread: number
  read: number
  /** This is what is kept of it here, without a connection: something may be missing. */
  kept: boolean
}

/** What an edit may say; what is not given is absent then. */
export type EditOptions = Omit<SendOptions, "replyTo" | "thread" | "alsoInMain" | "media" | "poll" | "id" | "signal">

export interface ChatClient {
  /** The connection's state. */
  readonly state: View<StateSnapshot>
  /** The conversation list, newest activity first, without the user's own feed. */
  readonly conversations: View<readonly Summary[]>
  /** All messages that are not stored by the server: pending and failed. */
  readonly outbox: View<readonly Message[]>
  /** The user's id, "" before the first connect; of a shared client that was told it, from the start. */
  readonly user: string
  /** What the server allows, as of the last Welcome. */
  readonly limits: Readonly<Limits>
  /** The server's clock, Unix ms. */
  serverTimeMs(): number
  /** Calls f for each event of that name. */
  on<K extends keyof EventMap>(name: K, f: (e: EventMap[K]) => void): Unsubscribe
  /** A handle; the conversation need not exist yet. */
  conversation(id: string): ChatConversation
  /** The direct chat with a user. Before the first connect the own id is not known. */
  dm(user: string): ChatConversation
  /** Resolves once what is in the store can be looked at and the first connection is made; rejects with why that will not be. */
  connected(signal?: AbortSignal): Promise<void>
  /** The network is back, or somebody dealt with what stopped the client: connect at once. */
  reconnect(): void
  /** Any method of the API, over the connection; it waits for one. */
  call<M extends Method>(method: M, request: Request<M>, o?: CallOptions): Promise<Response<M>>
  /** Sends a failed message again, behind those that wait; resolves when it is stored. */
  retry(id: string, signal?: AbortSignal): Promise<Message>
  /** Forgets a failed message, or a pending one that certainly did not leave: `may_be_sent` if that is not certain. */
  discard(id: string): Promise<void>
  /** The user's messages that are to be sent later, by their time, and those that failed then. The event `account` of the type SCHEDULED_CHANGED tells that they are others. */
  scheduled(signal?: AbortSignal): Promise<Scheduled[]>
  /** Gives a scheduled message another time, Unix ms. From its time on that is `too_late`. */
  moveScheduled(id: string, atMs: number): Promise<void>
  /** Removes a scheduled message. From its time on that is `too_late`, and `not_found` once it was sent. */
  cancelScheduled(id: string): Promise<void>
  /** Asks for `presence` of these users instead of those before. */
  watchPresence(users: readonly string[]): Promise<void>
  /** The program is in the background, or back: it gets everything but presence, and does not make its user present. */
  setBackground(on: boolean): void
  /** Says goodbye and ends. What waits in the outbox is sent by the next client. */
  close(): Promise<void>
}

export interface ChatConversation {
  readonly id: string
  /** What is shown: messages and events that are here, and behind them the outbox. */
  readonly messages: View<readonly Message[]>
  readonly summary: View<Summary | undefined>
  /** Into the outbox, shown at once; resolves when the server has stored it. */
  send(text: string, o?: SendOptions): Promise<Message>
  /** Resolves once the message is in the store: from then on it is sent, also after a restart. */
  post(text: string, o?: SendOptions): Promise<{ id: string; stored: Promise<Message> }>
  /** Has the server send it at a time (Unix ms), whether or not a device is there then; resolves with the id that the message has. */
  sendLater(atMs: number, text: string, o?: SendOptions): Promise<string>
  /** Gives a scheduled message other words, all of them, and another time where one is given. From its time on it is `too_late`. */
  changeLater(id: string, text: string, o?: Omit<SendOptions, "id">, atMs?: number): Promise<void>
  /** Has the messages that are in the store read into `messages`; subscribing does so, too. */
  load(): Promise<void>
  /** Moves the read mark to seq; without it, to the last one that is here. It never goes back. */
  markRead(seq?: number): Promise<void>
  /** Tells the others that the user is typing; call it as often as you like. */
  typing(): void
  /** Tells the others that are connected something that is not kept, and may be lost. At most 1 KiB. */
  signal(type: string, data?: Uint8Array): void
  /** Reads older messages into `messages`; resolves with how many came: 0 is the beginning. */
  loadOlder(limit?: number, signal?: AbortSignal): Promise<number>
  /** Up to limit entries before seq (0: the newest), ascending. */
  history(beforeSeq?: number, limit?: number, signal?: AbortSignal): Promise<Message[]>
  /** Up to limit entries after seq, ascending; none: seq is the last one here. `touched` tells when one that is not in `messages` changes. */
  later(afterSeq: number, limit?: number, signal?: AbortSignal): Promise<Message[]>
  /** The message seq with up to limit entries before, and as many after it: two requests, wherever it lies. */
  around(seq: number, limit?: number, signal?: AbortSignal): Promise<Message[]>
  /**
   * The thread of the message seq, with at most limit replies before one (0: the last ones), ascending. `next`: where
   * those before them are asked for; 0: there are none. What was read is kept, up to a bound, and brought up to date:
   * without a connection that is the answer (`kept`); what is not kept waits for one.
   */
  thread(seq: number, before?: number, limit?: number, signal?: AbortSignal): Promise<{ thread: Thread; replies: Message[]; next: number }>
  /** The conversation's threads, that with the newest reply first, in pages; `next` is "" after the last one. */
  threads(cursor?: string, limit?: number, signal?: AbortSignal): Promise<{ threads: Thread[]; next: string }>
  recall(seq: number): Promise<void>
  edit(seq: number, text: string, o?: EditOptions): Promise<void>
  react(seq: number, reaction: string, remove?: boolean): Promise<void>
  pin(seq: number, remove?: boolean): Promise<void>
  vote(seq: number, options: string[]): Promise<void>
  endPoll(seq: number): Promise<void>
  setMyState(change: MyStateChange): Promise<void>
  deleteForMe(...seqs: number[]): Promise<void>
  setLifetime(seconds: number): Promise<void>
}
