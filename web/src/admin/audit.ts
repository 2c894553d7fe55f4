import type { ChatClient, Request, Response } from "@skein-im/client"

export type Line = NonNullable<Response<"skein.v1.AdminService/ListAuditLog">["entries"]>[number]
type Asked = Request<"skein.v1.AdminService/ListAuditLog">

export const kinds = ["", "admin", "sign-in"] as const
export type Kind = (typeof kinds)[number]
export const spans = ["day", "week", "month", "all"] as const
export type Span = (typeof spans)[number]

/** What of the log is looked at, as the address says it. `by` and `target` are ids. */
export interface Filters {
  kind: Kind
  span: Span
  by: string
  target: string
  action: string
  failed: boolean
}

/** What the log takes for an id or the name of a method. */
const opaque = /^[A-Za-z0-9_:./-]{0,200}$/

export function readFilters(get: (name: string) => string): Filters {
  const id = (name: string): string => (opaque.test(get(name)) ? get(name) : "")
  return {
    kind: kinds.find((k) => k === get("kind")) ?? "", span: spans.find((x) => x === get("span")) ?? "all",
    by: id("by"), target: id("target"), action: id("action"), failed: get("failed") === "1",
  }
}

const day = 86_400_000
const lengths: Readonly<Record<Span, number>> = { day, week: 7 * day, month: 30 * day, all: 0 }

/** What is asked of the server. */
export function askedOf(f: Filters, nowMs: number): Asked {
  const from = lengths[f.span]
  return {
    ...(f.kind === "" ? {} : { kind: f.kind === "admin" ? "AUDIT_KIND_ADMIN" as const : "AUDIT_KIND_SIGN_IN" as const }),
    ...(from === 0 ? {} : { fromMs: String(nowMs - from) }),
    ...(f.by === "" ? {} : { by: f.by }), ...(f.target === "" ? {} : { target: f.target }), ...(f.action === "" ? {} : { action: f.action }), ...(f.failed ? { failed: true } : {}),
  }
}

export type Place = { t: "user"; id: string } | { t: "group"; id: string } | { t: "report"; id: string } | { t: "other"; id: string }

/** Acts whose target is the id of a user. */
const onUsers = /^AdminService\/(MintToken|CreateUser|KickUser|EraseUser|ExportUser|CreateResetLink|SetUsername|BanUser|UnbanUser|SetDisabled|SetServerRole|SetGroupOwner)$/

/** What a line was done to, as far as this app has a page for it. */
export function targetOf(l: Line): Place | undefined {
  const id = l.target ?? ""
  if (id === "") return undefined
  if (id.startsWith("grp:")) return { t: "group", id }
  if (/^AdminService\/(GetReport|DecideReport)$/.test(l.action ?? "")) return { t: "report", id }
  if (l.kind === "AUDIT_KIND_SIGN_IN" || onUsers.test(l.action ?? "")) return { t: "user", id }
  return { t: "other", id }
}

/** The detail of a line, one field a line; what is no JSON is as it is. */
export function detailOf(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/** So many lines a call. */
const perCall = 1000
/** So many at most: they are held in memory until the file is whole. */
export const mostLines = 500_000

/**
 * Everything that fits the filters, the oldest first, as JSON Lines: what `skein audit` writes. `onProgress` hears of
 * each page. Where there are more than `mostLines` it says so.
 */
export async function exportLines(call: ChatClient["call"], asked: Asked, signal: AbortSignal, onProgress: (lines: number) => void, most = mostLines): Promise<{ parts: string[]; lines: number; more: boolean }> {
  const parts: string[] = []
  let lines = 0
  let cursor = ""
  do {
    const page = await call("skein.v1.AdminService/ListAuditLog", { ...asked, limit: Math.min(perCall, most - lines), oldestFirst: true, cursor }, { signal })
    const entries = page.entries ?? []
    if (entries.length > 0) parts.push(entries.map((e) => JSON.stringify(e)).join("\n") + "\n")
    lines += entries.length
    cursor = page.next ?? ""
    onProgress(lines)
  } while (cursor !== "" && lines < most)
  return { parts, lines, more: cursor !== "" }
}
