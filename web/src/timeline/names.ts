import { useMemo } from "react"
import { t } from "@lingui/core/macro"
import { useUsers, type User } from "@skein-im/react"
import type { GroupState } from "./group.js"

/** A name in a line may be written from right to left: it is kept to itself. SPEC §2. */
const isolate = (s: string): string => `\u2068${s}\u2069`

export function nameOf(u: User | undefined, nickname?: string): string {
  if (u?.deleted === true) return t`Deleted user`
  return nickname || u?.displayName || u?.username || "…"
}

export interface Names {
  name: (id: string) => string
  /** For the middle of a sentence. */
  inLine: (id: string) => string
  user: (id: string) => User | undefined
}

/** What users are called in a conversation. Those that are not known yet are asked for. */
export function useNames(ids: readonly string[], group: GroupState): Names {
  const users = useUsers(ids)
  return useMemo(() => {
    const name = (id: string): string => nameOf(users.get(id), group.members.get(id)?.nickname)
    return { name, inLine: (id) => isolate(name(id)), user: (id) => users.get(id) }
  }, [users, group.members])
}
