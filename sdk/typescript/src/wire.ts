/*
 * The frames of the protocol in their JSON form (SPEC §1.3), after decoding: what is 64 bits wide
 * is a number here, which is exact up to 2^53 - 1. Numbers beyond that are refused by the codec.
 * `pos` stays text, because it is compared only: see comparePos.
 */

export interface WireError {
  code?: string
  codeNumber?: number
  message?: string
  retryAfterMs?: number
  field?: string
  frame?: string
  conversation?: string
  ticket?: string
}

export type DeviceClass = "DEVICE_CLASS_PHONE" | "DEVICE_CLASS_TABLET" | "DEVICE_CLASS_DESKTOP" | "DEVICE_CLASS_WEB" | "DEVICE_CLASS_OTHER"

export interface Device {
  id?: string
  class?: DeviceClass
  name?: string
}

export interface Content {
  type?: string
  text?: string
  /** base64 */
  data?: string
  fallback?: string
}

export interface Reaction {
  reaction: string
  count?: number
  users?: string[]
  mine?: boolean
}

export interface PollOption {
  id: string
  votes?: number
  mine?: boolean
}

export interface Poll {
  options?: PollOption[]
  multiple?: boolean
  anonymous?: boolean
  untilMs?: number
  voters?: number
  endedAtMs?: number
}

export interface Media {
  id: string
  mime?: string
  bytes?: number
  name?: string
  width?: number
  height?: number
  blurhash?: string
  durationMs?: number
  /** base64 */
  waveform?: string
  thumbnail?: boolean
}

export interface Preview {
  url?: string
  title?: string
  description?: string
  site?: string
  image?: Media
}

export interface Forward {
  sender?: string
  storedAtMs?: number
  merged?: number
}

export interface Pinned {
  user?: string
  atMs?: number
}

export type GroupMention = "GROUP_MENTION_ALL" | "GROUP_MENTION_HERE"

export const groupEvents = [
  "GROUP_CREATED", "GROUP_RENAMED", "MEMBER_ADDED", "MEMBER_LEFT", "MEMBER_REMOVED", "ROLE_CHANGED", "MEMBER_MUTED", "OWNER_CHANGED",
  "GROUP_DISMISSED", "GROUP_RESTORED", "GROUP_CHANGED", "MEMBER_BANNED", "MEMBER_UNBANNED", "MEMBER_NICKNAMED", "LIFETIME_CHANGED",
] as const

export const feedEvents = [
  "CONTACT_REQUESTED", "CONTACT_ACCEPTED", "CONTACT_REFUSED", "CONTACT_REMOVED", "CONTACT_BLOCKED", "CONTACT_UNBLOCKED",
  "CONTACT_REMARKED", "PROFILE_CHANGED", "GROUP_INVITED", "GROUP_INVITATION_REFUSED", "GROUP_JOIN_REQUESTED", "GROUP_JOIN_REFUSED",
  "GROUP_JOIN_WITHDRAWN", "CONTACT_TAGGED", "CONTACT_EXPIRED", "SCHEDULED_CHANGED", "CONTACT_PROFILE_CHANGED", "SECURITY_CHANGED",
] as const

export type GroupEventType = (typeof groupEvents)[number]
export type FeedEventType = (typeof feedEvents)[number]

export interface EntryEvent {
  /** EVENT_TYPE_…; a number or another name if this version does not know it. */
  type?: string | number
  users?: string[]
  role?: string
  untilMs?: number
  text?: string
  group?: Record<string, unknown>
  conversation?: string
  banned?: boolean
  lifetimeS?: number
}

export interface Entry {
  conversation: string
  seq: number
  /** base64 of 16 bytes */
  id?: string
  sender?: string
  storedAtMs: number
  /** ENTRY_KIND_…; a number or another name if this version does not know it. */
  kind?: string | number
  content?: Content
  replyTo?: number
  mentions?: string[]
  count: number
  recalled?: boolean
  target: number
  event?: EntryEvent
  pos?: string
  amended: number
  extra?: Record<string, string>
  editedAtMs?: number
  edits?: number
  react?: { reaction?: string; remove?: boolean }
  reactions?: Reaction[]
  poll?: Poll
  vote?: { options?: string[] }
  groupMention?: GroupMention
  pinned?: Pinned
  silent?: boolean
  forward?: Forward
  deleted?: boolean
  streaming?: boolean
  replaced?: number
  cutOff?: boolean
  media?: Media[]
  noPreview?: boolean
  preview?: Preview
  /** The root of the thread that a reply, or what amends one, is in. SPEC §4.36. */
  thread?: number
  /** What is in the thread is a message of the conversation's line as well, or amends one. */
  alsoInMain?: boolean
  /** The thread that begins with this message; of a reply and its recall what it comes to by then. */
  replies?: Replies
}

/** A thread, as its root tells it. SPEC §4.36. */
export interface Replies {
  count?: number
  lastAtMs?: number
}

export interface Newest {
  conversation: string
  seq: number
  id?: string
  storedAtMs: number
  pos?: string
}

export interface SeqRange {
  first: number
  last: number
}

export interface MyState {
  conversation?: string
  revision: number
  pinned?: boolean
  mutedUntilMs?: number
  hidden?: boolean
  draft?: string
  clearedBelow?: number
  unread?: boolean
  deleted?: SeqRange[]
  folder?: string
  hiddenCount?: number
  unreadAt?: number
  /** For which of its messages the user's devices are woken: `PUSH_LEVEL_ALL`, `PUSH_LEVEL_MENTIONS`, `PUSH_LEVEL_NONE`; missing: as the settings say. */
  pushLevel?: string
  /** What the user set for threads, by their roots. SPEC §4.36. */
  threads?: { root: number; read: number; follow?: string }[]
}

export interface ConversationState {
  conversation?: string
  seq: number
  count: number
  lastAtMs: number
  firstSeq: number
  untilSeq: number
  readSeq: number
  unread: number
  peerReceived: number
  peerRead: number
  title?: string
  entries?: Entry[]
  earlier?: { firstSeq: number; untilSeq: number; hidden: number }[]
  recalled: number
  recalledSeqs?: number[]
  fromSeq: number
  touched?: Entry[]
  last?: Newest
  mine?: MyState
  unreadMentions: number
  mentionSeqs?: number[]
  lifetimes?: { after: number; until: number; lifetimeS?: number }[]
  floor: number
}

/** So many at once, and then so many a second. */
export interface Rate {
  burst?: number
  perSecond?: number
}

export interface Limits {
  sends?: Rate
  marks?: Rate
  reads?: Rate
  signals?: Rate
  calls?: Rate
  frameBytes?: number
  contentBytes?: number
  pullEntries?: number
  inFlight?: number
  pulls?: number
  pullsEntries?: number
  idempotencyKeys?: number
  editWindowMs?: number
  recallWindowMs?: number
  retentionMs?: number
  mediaBytes?: number
  media?: number
}

export interface Welcome {
  version?: number
  user?: string
  session?: string
  timeline?: string
  heartbeat?: { idleMs?: number; silenceMs?: number; deadMs?: number }
  limits?: Limits
  serverTimeMs: number
  connection?: string
  tokenExpiresAtMs: number
  stickers?: number
  announcements?: number
}

export interface SyncDelta {
  number?: number
  timeline?: string
  position?: string
  conversations?: ConversationState[]
  next?: string
  reset?: boolean
  error?: WireError
}

export interface Range {
  number?: number
  conversation?: string
  entries?: Entry[]
  head: number
  error?: WireError
  firstSeq: number
  lastSeq: number
  touched?: Entry[]
  last?: Newest
}

export interface Receipt {
  conversation?: string
  user?: string
  received: number
  read: number
  /** 0: not told. */
  readCount: number
}

/** What a server says. At most one field is there; none is a frame of a later version. */
export interface ServerFrame {
  welcome?: Welcome
  sendAck?: { id?: string; conversation?: string; seq: number; storedAtMs: number; count: number; pos?: string }
  sendError?: { id?: string; error?: WireError; first?: string }
  push?: { entries?: Entry[]; position?: string }
  receipt?: Receipt
  syncDelta?: SyncDelta
  range?: Range
  typing?: { conversation?: string; user?: string }
  presence?: { user?: string; online?: boolean; lastSeenAtMs?: number }
  result?: { number?: number; json?: unknown; error?: WireError }
  pong?: { serverTimeMs: number; resync?: boolean; position?: string; stickers?: number }
  ping?: object
  heads?: { heads?: { conversation?: string; seq: number }[] }
  resync?: object
  floor?: { conversation?: string; seq: number; count: number }
  kick?: { error?: WireError; by?: Device; atMs?: number }
  goAway?: { retryAfterMs?: number }
  error?: WireError
  myState?: MyState
  signal?: { conversation?: string; user?: string; type?: string; data?: string }
  renewed?: { tokenExpiresAtMs: number }
  part?: { conversation?: string; user?: string; seq: number; replaced?: number; offset?: number; text?: string }
  announcements?: { revision: number; announcements?: Announcement[] }
}

/** What the deployment announces to everybody (SPEC §3.25). */
export interface Announcement {
  id: string
  level: "ANNOUNCEMENT_LEVEL_INFO" | "ANNOUNCEMENT_LEVEL_WARNING"
  text: string
  texts?: { language: string; text: string }[]
  createdAtMs: number
  untilMs?: number
  dismissible?: boolean
}

export interface Send {
  conversation: string
  id: string
  content: Content
  replyTo?: number
  mentions?: string[]
  insteadOf?: string
  extra?: Record<string, string>
  poll?: Poll
  groupMention?: GroupMention
  silent?: boolean
  streaming?: boolean
  media?: string[]
  noPreview?: boolean
  thread?: number
  alsoInMain?: boolean
}

export interface Sync {
  number: number
  position?: string
  timeline?: string
  limit?: number
  cursor?: string
  newest?: Newest
}

export interface Pull {
  number: number
  conversation: string
  from?: number
  backward?: boolean
  limit?: number
}

/** What a client says: exactly one field. */
export interface ClientFrame {
  hello?: {
    versionMin: number
    versionMax: number
    token: string
    device?: Device
    client?: string
    sync?: Sync
    idleMs?: number
    background?: boolean
  }
  send?: Send
  received?: { conversation: string; seq: number }
  read?: { conversation: string; seq: number }
  sync?: Sync
  pull?: Pull
  pulls?: { pulls: Pull[] }
  typing?: { conversation: string }
  watchPresence?: { users: string[] }
  call?: { number: number; method: string; json: object; idempotencyKey?: string }
  ping?: { position?: string; digest?: string }
  pong?: object
  bye?: object
  signal?: { conversation: string; type: string; data?: string }
  renew?: { token: string }
  background?: { on?: boolean }
}

/** Compares two places among all entries (Entry.pos), as numbers of 64 bits. */
export function comparePos(a: string | undefined, b: string | undefined): number {
  const x = BigInt(a || 0)
  const y = BigInt(b || 0)
  return x < y ? -1 : x > y ? 1 : 0
}

export const KIND = {
  message: "ENTRY_KIND_MESSAGE",
  recall: "ENTRY_KIND_RECALL",
  event: "ENTRY_KIND_EVENT",
  edit: "ENTRY_KIND_EDIT",
  reaction: "ENTRY_KIND_REACTION",
  pin: "ENTRY_KIND_PIN",
  vote: "ENTRY_KIND_VOTE",
  pollEnd: "ENTRY_KIND_POLL_END",
  stream: "ENTRY_KIND_STREAM",
  preview: "ENTRY_KIND_PREVIEW",
  threadReply: "ENTRY_KIND_THREAD_REPLY",
} as const
