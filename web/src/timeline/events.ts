import type { EntryEvent, Message } from "@skein-im/client"

/*
 * What an event of a conversation comes to, before it is said in a language: the words are in EventLine. An event
 * that this version does not know shows nothing (SPEC §4.4).
 */

export type Power = "all" | "admins"

/** One setting of a group that is another now. */
export type Change =
  | { what: "picture" | "description" | "announcement"; set: boolean; text: string }
  | { what: "who_may_add" | "who_may_post" | "who_may_mention_all" | "who_may_pin"; power: Power }
  | { what: "join"; how: "open" | "approval" | "invitation" }
  | { what: "history"; all: boolean }
  | { what: "muted_all"; on: boolean }
  | { what: "slow_mode"; seconds: number }
  | { what: "other" }

export type Line =
  | { t: "created"; by: string; name: string; users: string[] }
  | { t: "renamed"; by: string; name: string }
  | { t: "joined"; who: string }
  | { t: "added"; by: string; users: string[] }
  | { t: "left"; who: string }
  | { t: "removed"; by: string; users: string[] }
  | { t: "banned"; by: string; users: string[]; untilMs: number; reason: string }
  | { t: "unbanned"; by: string; users: string[] }
  | { t: "role"; by: string; users: string[]; role: "member" | "admin" | "owner" }
  | { t: "muted"; by: string; users: string[]; untilMs: number }
  | { t: "unmuted"; by: string; users: string[] }
  | { t: "owner"; by: string; users: string[] }
  | { t: "dismissed"; by: string }
  | { t: "restored" }
  | { t: "changed"; by: string; changes: Change[] }
  | { t: "nickname"; by: string; who: string; name: string }
  | { t: "lifetime"; by: string; seconds: number }

const roles: Record<string, "member" | "admin" | "owner"> = { ROLE_MEMBER: "member", ROLE_ADMIN: "admin", ROLE_OWNER: "owner" }

export function lineOf(m: Pick<Message, "sender" | "event">): Line | undefined {
  const e: EntryEvent = m.event ?? {}
  const by = m.sender
  const users = e.users ?? []
  const who = users[0] ?? by
  switch (String(e.type ?? "").replace("EVENT_TYPE_", "")) {
    case "GROUP_CREATED":
      return { t: "created", by, name: e.text ?? "", users: users.filter((u) => u !== by) }
    case "GROUP_RENAMED":
      return { t: "renamed", by, name: e.text ?? "" }
    case "MEMBER_ADDED":
      return users.length === 1 && users[0] === by ? { t: "joined", who: by } : { t: "added", by, users }
    case "MEMBER_LEFT":
      return { t: "left", who }
    case "MEMBER_REMOVED":
      return e.banned === true ? { t: "banned", by, users, untilMs: Number(e.untilMs ?? 0), reason: e.text ?? "" } : { t: "removed", by, users }
    case "MEMBER_BANNED":
      return { t: "banned", by, users, untilMs: Number(e.untilMs ?? 0), reason: e.text ?? "" }
    case "MEMBER_UNBANNED":
      return { t: "unbanned", by, users }
    case "ROLE_CHANGED":
      return { t: "role", by, users, role: roles[e.role ?? ""] ?? "member" }
    case "MEMBER_MUTED": {
      const untilMs = Number(e.untilMs ?? 0)
      return untilMs > 0 ? { t: "muted", by, users, untilMs } : { t: "unmuted", by, users }
    }
    case "OWNER_CHANGED":
      return { t: "owner", by, users }
    case "GROUP_DISMISSED":
      return { t: "dismissed", by }
    case "GROUP_RESTORED":
      return { t: "restored" }
    case "GROUP_CHANGED":
      return { t: "changed", by, changes: changesOf(e.group ?? {}) }
    case "MEMBER_NICKNAMED":
      return { t: "nickname", by, who, name: e.text ?? "" }
    case "LIFETIME_CHANGED":
      return { t: "lifetime", by, seconds: e.lifetimeS ?? 0 }
    default:
      return undefined
  }
}

/** Whether this version has words for an event. */
export function hasWords(m: Pick<Message, "sender" | "event">): boolean {
  return lineOf(m) !== undefined
}

const powers = { whoMayAdd: "who_may_add", whoMayPost: "who_may_post", whoMayMentionAll: "who_may_mention_all", whoMayPin: "who_may_pin" } as const
const joins: Record<string, "open" | "approval" | "invitation"> = { JOIN_MODE_OPEN: "open", JOIN_MODE_APPROVAL: "approval", JOIN_MODE_INVITATION: "invitation" }

export function changesOf(g: Readonly<Record<string, unknown>>): Change[] {
  const out: Change[] = []
  for (const what of ["picture", "description", "announcement"] as const) {
    const text = g[what]
    if (typeof text === "string") out.push({ what, set: text !== "", text: what === "picture" ? "" : text })
  }
  for (const [field, what] of Object.entries(powers)) {
    if (typeof g[field] === "string") out.push({ what, power: g[field] === "GROUP_POWER_ADMINS" ? "admins" : "all" })
  }
  const how = typeof g["join"] === "string" ? joins[g["join"]] : undefined
  if (how !== undefined) out.push({ what: "join", how })
  if (typeof g["history"] === "string") out.push({ what: "history", all: g["history"] === "GROUP_HISTORY_ALL" })
  if (typeof g["mutedAll"] === "boolean") out.push({ what: "muted_all", on: g["mutedAll"] })
  if (typeof g["slowModeS"] === "number") out.push({ what: "slow_mode", seconds: g["slowModeS"] })
  return out.length > 0 ? out : [{ what: "other" }]
}

/** The users that a line names, so that their profiles are asked for together. */
export function named(m: Pick<Message, "sender" | "event">): string[] {
  return [m.sender, ...(m.event?.users ?? [])].filter((u) => u !== "")
}

export interface Span {
  n: number
  unit: "second" | "minute" | "hour" | "day"
}

/** A time in its largest unit that it fills. */
export function spanOf(seconds: number): Span {
  if (seconds % 86_400 === 0 && seconds > 0) return { n: seconds / 86_400, unit: "day" }
  if (seconds % 3600 === 0 && seconds > 0) return { n: seconds / 3600, unit: "hour" }
  if (seconds % 60 === 0 && seconds > 0) return { n: seconds / 60, unit: "minute" }
  return { n: seconds, unit: "second" }
}
