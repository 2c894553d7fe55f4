import { useMemo } from "react"
import { t } from "@lingui/core/macro"
import { useUser, useUsers, type User } from "@skein-im/react"
import { useContact, useRemarks } from "../people/book.js"
import type { GroupState } from "./group.js"

/** A name in a line may be written from right to left: it is kept to itself. SPEC §2. */
const isolate = (s: string): string => `\u2068${s}\u2069`

/** `called`: what comes before the name that they gave themselves, a remark or a nickname. */
export function nameOf(u: User | undefined, called?: string): string {
  if (u?.deleted === true) return called || t`Deleted account`
  return called || u?.displayName || u?.username || "…"
}

/** What the user calls somebody: by the remark, else as they call themselves. */
export function useName(id: string | undefined): string {
  const user = useUser(id)
  return nameOf(user, useContact(id)?.remark)
}

export interface Names {
  name: (id: string) => string
  /** For the middle of a sentence. */
  inLine: (id: string) => string
  user: (id: string) => User | undefined
  /** Everything that a text may call them by. */
  all: (id: string) => string[]
}

/** What users are called in a conversation: by the reader's remark, the nickname there, their own name. Those that are not known yet are asked for. */
export function useNames(ids: readonly string[], group: GroupState): Names {
  const users = useUsers(ids)
  const remarks = useRemarks()
  return useMemo(() => {
    const nickname = (id: string): string => group.members.get(id)?.nickname ?? ""
    const name = (id: string): string => nameOf(users.get(id), remarks.get(id) || nickname(id))
    const all = (id: string): string[] => [nickname(id), users.get(id)?.displayName ?? "", users.get(id)?.username ?? ""].filter((n) => n !== "")
    return { name, inLine: (id) => isolate(name(id)), user: (id) => users.get(id), all }
  }, [users, remarks, group.members])
}
