import type { Response } from "@skein-im/client"

/*
 * Who may do what in a group, as docs/permissions.md says it: what is not allowed is not shown. The server decides; this
 * only keeps people from asking for what they will not get.
 */

export type Group = Response<"skein.v1.GroupService/GetGroup">["group"]
export type Member = NonNullable<Response<"skein.v1.GroupService/ListMembers">["members"]>[number]
export type Role = Member["role"]

const rank = (role: Role | undefined): number => (role === "ROLE_OWNER" ? 3 : role === "ROLE_ADMIN" ? 2 : role === "ROLE_MEMBER" ? 1 : 0)

export interface Powers {
  /** Name, picture, settings, links, requests, bans, lifetime. */
  manage: boolean
  add: boolean
  /** Makes admins, hands over, dismisses. */
  own: boolean
  leave: boolean
  /** Says what they themselves are called here. */
  nickname: boolean
  /** Invite links do something. */
  links: boolean
}

export function powersIn(g: Group): Powers {
  const manage = rank(g.role) >= 2
  return {
    manage,
    add: manage || g.whoMayAdd === "GROUP_POWER_ALL",
    own: g.role === "ROLE_OWNER",
    leave: g.role === "ROLE_ADMIN" || g.role === "ROLE_MEMBER",
    nickname: manage || (g.role === "ROLE_MEMBER" && g.mutedAll !== true && g.whoMayPost !== "GROUP_POWER_ADMINS"),
    links: manage && (g.join === "JOIN_MODE_OPEN" || g.join === "JOIN_MODE_APPROVAL"),
  }
}

/** Removes, mutes, bans and names somebody: who has the greater role, and is an admin at least. */
export function actsOn(mine: Role | undefined, theirs: Role): boolean {
  return rank(mine) >= 2 && rank(mine) > rank(theirs)
}
