import { t } from "@lingui/core/macro"
import type { Summary } from "@skein-im/client"
import { useClient, useConversations, useUsers } from "@skein-im/react"
import { useMemo } from "react"
import { useRemarks } from "../people/book.js"
import { nameOf } from "../timeline/names.js"
import { peerOf } from "./peers.js"

export interface Places {
  list: readonly Summary[]
  /** What a conversation is called. */
  name: (conversation: string) => string
}

/** All conversations with their names. */
export function usePlaces(): Places {
  const client = useClient()
  const list = useConversations()
  const peers = useMemo(() => list.filter((c) => c.kind === "dm").map((c) => peerOf(c.id, client.user)), [list, client])
  const users = useUsers(peers)
  const remarks = useRemarks()
  return useMemo(() => {
    const titles = new Map(list.map((c) => [c.id, c.title]))
    const name = (id: string): string => {
      const peer = peerOf(id, client.user)
      if (peer === "") return titles.get(id) || t`Group`
      return peer === client.user ? t`Saved messages` : nameOf(users.get(peer), remarks.get(peer))
    }
    return { list, name }
  }, [list, users, remarks, client])
}
