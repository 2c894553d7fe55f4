import { codes, ranges, type Action, type Code } from "./codes_gen.js"
import type { WireError } from "./wire.js"

/** What a client does about a number: by its range, so also about codes of later servers. SPEC §10. */
export function actionOf(number: number): Action {
  for (const [from, to, action] of ranges) if (number >= from && number <= to) return action
  return "reconnect"
}

/**
 * What went wrong. `code` is a name of proto/CODES.md where the server said so, or one of the
 * client's own: `offline` (there is no connection), `connection_lost` (it ended before the answer;
 * nobody knows whether it was done), `closed` (the client was closed), `store` (the store failed),
 * `other_user` (the store belongs to somebody else), `store_taken` (another client has the store),
 * `discarded` and `may_be_sent` (of a message that was to be forgotten), `other_version` (another tab runs another version of this code).
 */
export class SkeinError extends Error {
  override readonly name = "SkeinError"
  readonly code: Code | LocalCode | (string & {})
  /** 0 for the client's own codes. */
  readonly number: number
  /** Wait at least this long before trying again. */
  readonly retryAfterMs: number
  /** The path of the wrong field, if the server named one. */
  readonly field: string
  /** Of `totp_required` only: what LoginWithCode goes on with. */
  readonly ticket: string

  constructor(e: { code: string; number?: number; message?: string; retryAfterMs?: number; field?: string; ticket?: string; cause?: unknown }) {
    super(e.message || e.code, e.cause === undefined ? undefined : { cause: e.cause })
    this.code = e.code
    this.number = e.number ?? (codes as Record<string, number>)[e.code] ?? 0
    this.retryAfterMs = e.retryAfterMs ?? 0
    this.field = e.field ?? ""
    this.ticket = e.ticket ?? ""
  }

  /** What follows from it; `undefined` for the client's own codes. */
  get action(): Action | undefined {
    return this.number === 0 ? undefined : actionOf(this.number)
  }
}

/** The client's own codes. */
export type LocalCode = "offline" | "connection_lost" | "closed" | "store" | "other_user" | "outbox_full" | "store_taken" | "other_version" | "discarded" | "may_be_sent"

export function errorOf(e: WireError | undefined): SkeinError {
  if (e === undefined) return new SkeinError({ code: "internal" })
  return new SkeinError({
    code: e.code ?? "internal",
    // A server that sends no number says a code that is known here.
    number: e.codeNumber || (codes as Record<string, number>)[e.code ?? ""] || codes.internal,
    message: e.message ?? "",
    retryAfterMs: e.retryAfterMs ?? 0,
    field: e.field ?? "",
    ticket: e.ticket ?? "",
  })
}

/** The error that a WebSocket close code is, `undefined` for one that is none of the catalogue's ranges. */
export function errorOfClose(number: number, reason: string): SkeinError | undefined {
  if (number < 4000 || number > 4999) return undefined
  const name = Object.entries(codes).find(([, n]) => n === number)?.[0] ?? `code_${number}`
  return new SkeinError({ code: name, number, message: reason })
}

export function invalid(message: string): SkeinError {
  return new SkeinError({ code: "invalid_argument", message })
}
