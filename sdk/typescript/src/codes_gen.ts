// Code generated from proto/codes.json by proto/codesgen. DO NOT EDIT.

/** What a client does about a code. */
export type Action =
  /** Passing. The connection is fine: repeat the same request later (retry_after_ms if given). */
  | "retry"
  /** The connection ended; reconnect with back-off and resume. */
  | "reconnect"
  /** The token is no longer good: refresh it or log in again, then reconnect. */
  | "login"
  /** Do not reconnect by yourself: somebody has to act first. */
  | "stop"
  /** The request is wrong or not allowed: repeating it unchanged gives the same answer. The connection is fine. */
  | "fix"

/** The ranges of numbers: they tell what to do also about a code that is not known here. */
export const ranges: readonly (readonly [from: number, to: number, action: Action])[] = [
  [4000, 4199, "retry"],
  [4200, 4399, "reconnect"],
  [4400, 4599, "login"],
  [4600, 4799, "stop"],
  [4800, 4999, "fix"],
]

/** The codes and their numbers, which are also WebSocket close codes. */
export const codes = {
  /** The server has more to do than it can; nothing was stored. */
  overloaded: 4000,
  /** Too many requests of this kind; wait retry_after_ms. */
  rate_limited: 4001,
  /** A part of the server is not there just now. */
  unavailable: 4002,
  /** The server's disk is full; nothing was stored. Reading still works. */
  storage_full: 4003,
  /** It may or may not have been stored: repeat it with the same id to know. */
  unknown: 4004,
  /** Somebody changed the same thing at the same time; read it again and repeat. */
  conflict: 4005,
  /** An earlier message of this connection to the conversation was refused for now and has to come first (SendError.first); nothing was stored. */
  out_of_order: 4006,
  /** The group lets its members write a message once in a while only; wait retry_after_ms. Nothing was stored. */
  slow_mode: 4007,
  /** The server stops or restarts. */
  going_away: 4200,
  /** No Hello within the deadline. */
  hello_timeout: 4201,
  /** Silence: not a byte within the agreed time. */
  heartbeat_timeout: 4202,
  /** The client did not read what it was sent. */
  slow_consumer: 4203,
  /** The server failed; the log has the detail under the given reference. */
  internal: 4204,
  /** The server, the account or the address has as many connections as it may. */
  too_many_connections: 4205,
  /** The client went on asking in spite of rate_limited or out_of_order. */
  flood: 4206,
  /** The server could not take the Hello just now; the message tells why. */
  not_ready: 4207,
  /** Not a token of this server, or no longer. */
  token_invalid: 4400,
  /** The access token's time is over: refresh it. */
  token_expired: 4401,
  /** The session was ended: logout, remote logout, password change. */
  session_revoked: 4402,
  /** A refresh token was used twice; the session was ended because one of the users is not you. */
  token_reused: 4403,
  /** Another device of the same class took this one's place. */
  replaced: 4600,
  /** The account is banned or disabled; the message tells until when, and why. */
  banned: 4601,
  /** Client and server share no protocol version; update. */
  version_unsupported: 4602,
  /** The bytes are not frames of this protocol, or come in an order that makes no sense. */
  protocol_error: 4603,
  /** A frame exceeds Limits.frame_bytes. */
  frame_too_long: 4604,
  /** The token belongs to another device. */
  device_mismatch: 4605,
  /** The server does not know the codec that was asked for. */
  codec_unsupported: 4606,
  /** Pages of this site may not connect; the server has a list of those that may. */
  origin_refused: 4607,
  /** The account was deleted, by its user or by an administrator. */
  account_deleted: 4608,
  /** A field is missing or not as documented; the message names it. */
  invalid_argument: 4800,
  /** The caller may not do this. */
  permission_denied: 4801,
  /** It does not exist, or the caller may not know that it does. */
  not_found: 4802,
  /** The name is taken. */
  already_exists: 4803,
  /** This server does not know this frame or method. */
  unimplemented: 4804,
  /** The id was used for another message, or the idempotency key with another request. */
  id_conflict: 4805,
  /** Longer or more than allowed; the message tells the limit. */
  too_large: 4806,
  /** The member may not write in this group for now: until the time in the message, or until admins let all write again. */
  muted: 4807,
  /** This user takes messages from contacts only. */
  not_contact: 4808,
  /** User name or password is wrong. */
  bad_credentials: 4809,
  /** The time to do this is over (e.g. recall window). */
  too_late: 4810,
  /** This needs a token and none was sent. */
  unauthenticated: 4811,
  /** The id's time lies too far in the future: make a new id by the server's time (Welcome.server_time_ms). Nothing was stored. */
  clock_skew: 4812,
  /** The server fails at this very request, and would again; its log has the detail under the given reference. Nothing was stored. */
  unprocessable: 4813,
  /** The server does not have what the streamed message says before this part: say all of it (content). */
  part_missing: 4814,
  /** The password is right, and the account needs a code of an authenticator app as well: LoginWithCode with Error.ticket, within 5 minutes. */
  totp_required: 4815,
  /** The server's scanner found something harmful in the upload; it was thrown away. */
  infected: 4816,
  /** The deployment does not allow what this says; it does not tell what of it. Nothing was stored. */
  filtered: 4817,
} as const

/** A code of the catalogue. */
export type Code = keyof typeof codes
