import type { Codec } from "./codec.js"
import type { Store } from "./store.js"
import type { Device } from "./wire.js"

/** A WebSocket as browsers, workers, Node 22 and the package `ws` have it. */
export interface WebSocketLike {
  readonly readyState: number
  binaryType?: string
  onopen: ((e: never) => void) | null
  onmessage: ((e: never) => void) | null
  onclose: ((e: never) => void) | null
  onerror: ((e: never) => void) | null
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

/**
 * Gives the access token for a connection. `rejected` is the one that the server refused last ("" if
 * it did not): then it gives another one. A SkeinError of the login, stop or fix range ends the
 * attempts; any other error is passing.
 */
export type TokenSource = (rejected: string) => Promise<string> | string

export interface ClientOptions {
  /** ws://host/ws or wss://host/ws */
  url: string
  getToken: TokenSource
  /** Default: new MemoryStore(). */
  store?: Store
  /** `id` is made and kept in the store where it is not given. */
  device?: Device
  /** Program and version for the list of sessions. */
  client?: string
  /** For Node 20, which has no WebSocket of its own: that of the package `ws`. */
  WebSocket?: WebSocketConstructor
  /** How frames are written; default JSON. The other one: `protobuf` of @skein-im/client/protobuf. */
  codec?: Codec
  /** Connect at once; default true. Otherwise with connect(). */
  autoConnect?: boolean
  /** Messages of a conversation that may be unacknowledged at once; default 1, which keeps their order under all conditions. */
  pipeline?: number
  /** Messages that may wait to be sent; default 10,000. */
  outboxLimit?: number
  /** Missed entries of a conversation that are fetched before it starts anew at the newest ones with a `gap`; default 500, 0: no limit. */
  maxGap?: number
  /** Conversations of a page of the list; default 100. */
  pageSize?: number
  /** Silence after which the client pings, in ms; the server bounds it. */
  idleMs?: number
  /** For tests: numbers from 0 to 1, and the clock. */
  random?: () => number
  now?: () => number
}

export type Settings = Required<Omit<ClientOptions, "WebSocket">> & { WebSocket: WebSocketConstructor | undefined }
