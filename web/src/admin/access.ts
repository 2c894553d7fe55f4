import type { Response } from "@skein-im/client"

/** What somebody may do to this server: SPEC §3.18, and the table of docs/administration.md. The server decides; the console shows only what it would let happen. */

export type Role = NonNullable<Response<"skein.v1.AccountService/GetMe">["role"]>

/** look: lists of users, groups, links. audit: the log. moderate: sessions, bans, reports, groups. manage: accounts and the place. roles: who has one. */
export type Act = "look" | "audit" | "moderate" | "manage" | "roles"

const allowed: Readonly<Record<Act, readonly Role[]>> = {
  look: ["SERVER_ROLE_AUDITOR", "SERVER_ROLE_MODERATOR", "SERVER_ROLE_ADMIN", "SERVER_ROLE_OWNER"],
  audit: ["SERVER_ROLE_AUDITOR", "SERVER_ROLE_ADMIN", "SERVER_ROLE_OWNER"],
  moderate: ["SERVER_ROLE_MODERATOR", "SERVER_ROLE_ADMIN", "SERVER_ROLE_OWNER"],
  manage: ["SERVER_ROLE_ADMIN", "SERVER_ROLE_OWNER"],
  roles: ["SERVER_ROLE_OWNER"],
}

export function may(role: Role | undefined, act: Act): boolean {
  return role !== undefined && allowed[act].includes(role)
}

const order: readonly Role[] = ["SERVER_ROLE_UNSPECIFIED", "SERVER_ROLE_AUDITOR", "SERVER_ROLE_MODERATOR", "SERVER_ROLE_ADMIN", "SERVER_ROLE_OWNER"]

/** The roles that can be given, from none to all. */
export const roles = order

/** Nobody acts on the account of somebody whose role is no lesser one; owners act on all. */
export function mayActOn(mine: Role | undefined, theirs: Role | undefined): boolean {
  if (mine === undefined) return false
  return mine === "SERVER_ROLE_OWNER" || order.indexOf(theirs ?? "SERVER_ROLE_UNSPECIFIED") < order.indexOf(mine)
}

/** The pages of the console, and what one has to be allowed to do to see them. */
export const pages = {
  overview: "look", health: "look", users: "look", groups: "look", reports: "moderate", audit: "audit", links: "look", filters: "look", announcements: "manage", place: "manage", retention: "look", stickers: "manage",
} as const satisfies Readonly<Record<string, Act>>

export type PageName = keyof typeof pages

export const isPage = (name: string): name is PageName => Object.hasOwn(pages, name)
