import type { ClientFrame, Entry, ServerFrame } from "./wire.js"

/*
 * The JSON codec (SPEC §1.3). On the wire numbers of 64 bits are strings of digits; after decoding
 * they are numbers. One that a number cannot hold (beyond 2^53 - 1) is refused: a seq or a time of
 * that size does not happen, and to round it would be worse than to end. What is compared only and
 * may be that large (`pos`, the digest) stays text. A Call's request and answer are not touched.
 */

/** A field is U (64 bits, 0 if absent), u (the same, may stay absent), or a message of its own. */
type Field = "U" | "u" | Shape
interface Shape { [field: string]: Field }

const newest: Shape = { seq: "U", storedAtMs: "U" }
const media: Shape = { bytes: "u" }
const entry: Shape = {
  seq: "U", storedAtMs: "U", count: "U", target: "U", amended: "U", replyTo: "u", editedAtMs: "u",
  thread: "u", replies: { lastAtMs: "u" },
  event: { untilMs: "u" },
  poll: { untilMs: "u", endedAtMs: "u" },
  pinned: { atMs: "u" },
  forward: { storedAtMs: "u" },
  media, preview: { image: media },
}
const mine: Shape = {
  revision: "U", mutedUntilMs: "u", clearedBelow: "u", hiddenCount: "u", unreadAt: "u", deleted: { first: "U", last: "U" },
  threads: { root: "U", read: "U" },
}
const state: Shape = {
  seq: "U", count: "U", lastAtMs: "U", firstSeq: "U", untilSeq: "U", readSeq: "U", unread: "U", peerReceived: "U", peerRead: "U",
  entries: entry, touched: entry, last: newest, earlier: { firstSeq: "U", untilSeq: "U", hidden: "U" },
  recalled: "U", recalledSeqs: "u", fromSeq: "U", mine, unreadMentions: "U", mentionSeqs: "u",
  lifetimes: { after: "U", until: "U" }, floor: "U",
}
const server: Shape = {
  welcome: {
    serverTimeMs: "U", tokenExpiresAtMs: "U", stickers: "u", announcements: "u", heartbeat: {},
    limits: { editWindowMs: "u", recallWindowMs: "u", retentionMs: "u", mediaBytes: "u" },
  },
  sendAck: { seq: "U", storedAtMs: "U", count: "U" },
  sendError: { error: {} },
  push: { entries: entry },
  receipt: { received: "U", read: "U", readCount: "U" },
  syncDelta: { conversations: state, error: {} },
  range: { entries: entry, touched: entry, last: newest, head: "U", firstSeq: "U", lastSeq: "U", error: {} },
  typing: {}, presence: { lastSeenAtMs: "u" }, result: { error: {} },
  pong: { serverTimeMs: "U", stickers: "u" }, ping: {},
  heads: { heads: { seq: "U" } },
  floor: { seq: "U", count: "U" }, resync: {}, kick: { atMs: "u", error: {} }, goAway: {}, error: {}, myState: mine, signal: {},
  renewed: { tokenExpiresAtMs: "U" },
  part: { seq: "U", offset: "u" },
  announcements: { revision: "U", announcements: { createdAtMs: "U", untilMs: "u" } },
}
const sync: Shape = { newest }
const pull: Shape = { from: "u", atMs: "u" }
const client: Shape = {
  hello: { sync }, send: { replyTo: "u", thread: "u", poll: { untilMs: "u", endedAtMs: "u" } },
  received: { seq: "u" }, read: { seq: "u" }, sync, pull, pulls: { pulls: pull }, amend: { target: "u" },
}

/** A frame in the canonical JSON mapping, as an object. */
export type Plain = Record<string, unknown>

/** How frames are written on a connection; the server takes the sub-protocol for it (SPEC §1.2). */
export interface Codec {
  readonly protocol: string
  encode(frame: ClientFrame): string | Uint8Array<ArrayBuffer>
  /** Reads what the WebSocket gave: text, or an ArrayBuffer. It throws where that is no frame. */
  decode(data: unknown): ServerFrame
}

function isPlain(v: unknown): v is Plain {
  return typeof v === "object" && v !== null && !Array.isArray(v)
}

function toNumber(v: unknown, name: string): number {
  const n = typeof v === "string" && /^-?\d{1,20}$/.test(v) ? Number(v) : v
  if (typeof n !== "number" || !Number.isSafeInteger(n)) throw new RangeError(`${name} is ${JSON.stringify(v)}: no whole number below 2^53`)
  return n
}

function convert(v: Plain, shape: Shape, one: (v: unknown, name: string) => unknown, fill: boolean): void {
  for (const name in shape) {
    const field = shape[name]
    let x = v[name]
    if (x === null) {
      delete v[name]
      x = undefined
    }
    if (field === "U" || field === "u") {
      if (x === undefined) {
        if (fill && field === "U") v[name] = 0
      } else {
        const y = Array.isArray(x) ? x.map((n) => one(n, name)) : one(x, name)
        if (y === undefined) delete v[name]
        else v[name] = y
      }
    } else if (field !== undefined && x !== undefined) {
      for (const m of Array.isArray(x) ? x : [x]) if (isPlain(m)) convert(m, field, one, fill)
    }
  }
}

/** Reads a frame. It throws where the text is no JSON object, or has a number that is none. */
export function decode(text: string): ServerFrame {
  return frameOf(JSON.parse(text))
}

/** A frame of its canonical JSON, which becomes it. */
export function frameOf(f: unknown): ServerFrame {
  if (!isPlain(f)) throw new TypeError("a frame is no object")
  convert(f, server, toNumber, true)
  return f as ServerFrame
}

const toText = (v: unknown): unknown => (typeof v === "number" ? (v === 0 ? undefined : String(v)) : v)

/** An entry as the answer of a call has it. */
export function entryFrom(e: object): Entry {
  const copy = copyShape(e as Plain, entry)
  convert(copy, entry, toNumber, true)
  return copy as unknown as Entry
}

/** Writes a frame. */
export function encode(frame: ClientFrame): string {
  return JSON.stringify(plainOf(frame))
}

/** A frame in its canonical JSON. */
export function plainOf(frame: ClientFrame): Plain {
  return plain(frame, client)
}

/** Writes what a server says: for tests, and for who plays a server. */
export function encodeServer(frame: ServerFrame): string {
  return JSON.stringify(plain(frame, server))
}

function plain(frame: object, shape: Shape): Plain {
  const copy = copyShape(frame as Plain, shape)
  convert(copy, shape, toText, false)
  return copy
}

/** A copy, as deep as something is converted. */
function copyShape(v: Plain, shape: Shape): Plain {
  const out: Plain = { ...v }
  for (const name in shape) {
    const field = shape[name]
    const x = out[name]
    if (typeof field !== "object" || x === undefined) continue
    out[name] = Array.isArray(x) ? x.map((m: unknown) => (isPlain(m) ? copyShape(m, field) : m)) : isPlain(x) ? copyShape(x, field) : x
  }
  return out
}

/** The codec of a client that was given no other. */
export const json: Codec = { protocol: "skein.v1.json", encode, decode: (data) => decode(String(data)) }
