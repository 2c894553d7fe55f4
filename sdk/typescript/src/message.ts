import { SkeinError } from "./errors.js"
import { fromBase64, toUuid } from "./ids.js"
import type { ConversationRecord, OutboxRecord } from "./store.js"
import { KIND, type Entry, type EntryEvent, type Forward, type GroupMention, type Media, type Pinned, type Poll, type Preview, type Reaction, type Replies, type Send } from "./wire.js"

/** Where a message of the user's stands; "" for those of others. delivered and read are told of dms. */
export type Status = "" | "pending" | "sent" | "delivered" | "read" | "failed"

/** An entry of a conversation, or a message that is still in the outbox (seq 0). */
export interface Message {
  conversation: string
  seq: number
  /** UUID; with it retry and discard name a message of the outbox. */
  id: string
  /** "" is the server. */
  sender: string
  /** The user wrote it, on this device or another. */
  own: boolean
  status: Status
  /** Of a failed one. */
  error: SkeinError | undefined
  /** When the server stored it; while it is in the outbox, when it was written. Unix ms. */
  atMs: number
  kind: "message" | "event" | "unknown"
  /** The content's type; "" when it was recalled. */
  type: string
  text: string
  data: Uint8Array | undefined
  fallback: string
  extra: Readonly<Record<string, string>>
  replyTo: number
  /** The root of the thread that it is said in; 0: none, it is a message of the conversation itself. */
  thread: number
  /** It stands in the conversation as well. */
  alsoInMain: boolean
  /** The thread that begins with it: how many replies, and when the last one was said. */
  replies: Replies | undefined
  mentions: readonly string[]
  groupMention: GroupMention | undefined
  recalled: boolean
  editedAtMs: number
  edits: number
  reactions: readonly Reaction[]
  poll: Poll | undefined
  pinned: Pinned | undefined
  silent: boolean
  forward: Forward | undefined
  media: readonly Media[]
  preview: Preview | undefined
  streaming: boolean
  /** How often all of a streamed message was replaced: a `part` with the same number goes on with its text. */
  replaced: number
  cutOff: boolean
  /** Of the kind event. */
  event: EntryEvent | undefined
}

export function messageOf(e: Entry, user: string, marks?: ConversationRecord): Message {
  const own = !!e.sender && e.sender === user
  return {
    conversation: e.conversation, seq: e.seq, id: e.id ? toUuid(e.id) : "", sender: e.sender ?? "", own,
    status: statusOf(e, user, marks), error: undefined, atMs: e.storedAtMs,
    kind: e.kind === KIND.message || e.kind === KIND.threadReply ? "message" : e.kind === KIND.event ? "event" : "unknown",
    type: e.content?.type ?? "", text: e.content?.text ?? "", data: e.content?.data === undefined ? undefined : fromBase64(e.content.data),
    fallback: e.content?.fallback ?? "", extra: e.extra ?? {}, replyTo: e.replyTo ?? 0, thread: threadOf(e), alsoInMain: e.alsoInMain === true && e.kind === KIND.message, replies: threadOf(e) > 0 ? undefined : e.replies, mentions: e.mentions ?? [], groupMention: e.groupMention,
    recalled: e.recalled ?? false, editedAtMs: e.editedAtMs ?? 0, edits: e.edits ?? 0, reactions: e.reactions ?? [], poll: e.poll,
    pinned: e.pinned, silent: e.silent ?? false, forward: e.forward, media: e.media ?? [], preview: e.preview,
    streaming: e.streaming ?? false, replaced: e.replaced ?? 0, cutOff: e.cutOff ?? false, event: e.event,
  }
}

/** The root of the thread that a message is said in; 0: none. */
function threadOf(e: Entry): number {
  if (e.kind === KIND.threadReply) return e.thread ?? e.target
  return e.kind === KIND.message ? e.thread ?? 0 : 0
}

export function statusOf(e: Entry, user: string, marks: ConversationRecord | undefined): Status {
  if (!e.sender || e.sender !== user) return ""
  if (e.kind === KIND.threadReply) return "sent" // marks tell nothing of what is said in threads
  return e.kind === KIND.message ? tick(e.seq, marks) : ""
}

function tick(seq: number, r: ConversationRecord | undefined): Status {
  if (r !== undefined && seq <= r.peerRead) return "read"
  return r !== undefined && seq <= r.peerReceived ? "delivered" : "sent"
}

/** The entry that a Send becomes, but for what the ack tells. */
export function entryOf(s: Send, user: string): Entry {
  const { id, conversation, content, replyTo, mentions, groupMention, extra, poll, silent, streaming, noPreview } = s
  const e: Entry = { conversation, seq: 0, id, sender: user, storedAtMs: 0, kind: KIND.message, content, count: 0, target: 0, amended: 0 }
  const rest = { replyTo, mentions, groupMention, extra, poll, silent, streaming, noPreview, media: s.media?.map((m) => ({ id: m })) }
  for (const [name, v] of Object.entries(rest)) if (v !== undefined) Object.assign(e, { [name]: v })
  if (s.thread !== undefined) Object.assign(e, s.alsoInMain === true ? { thread: s.thread, alsoInMain: true } : { kind: KIND.threadReply, target: s.thread, thread: s.thread })
  return e
}

export function messageOfOutbox(r: OutboxRecord, user: string): Message {
  const m = messageOf(entryOf(r.send, user), user)
  m.own = true
  m.seq = r.seq
  m.atMs = r.madeAtMs
  m.status = r.state === "stored" ? "sent" : r.state
  if (r.state === "failed") m.error = new SkeinError({ code: r.code, number: r.number, message: r.reason })
  return m
}
