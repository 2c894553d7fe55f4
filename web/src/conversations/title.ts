import { useLingui } from "@lingui/react/macro"
import { useClient, useConversation, usePresence, useUser } from "@skein-im/react"
import { useContact } from "../people/book.js"
import { isUpload } from "@skein-im/client/content"
import { usePicture } from "../timeline/media.js"
import { nameOf } from "../timeline/names.js"

export interface Title {
  /** Gives the colour of who has no picture. */
  id: string
  name: string
  picture: string | undefined
  kind: "dm" | "group" | "saved"
  /** The other of a dm. */
  peer: string
  online: boolean | undefined
  /** When the other of a dm was last here; 0: not known, or not told. */
  lastSeenAtMs: number
}

/** What a conversation is called, and how it looks, also before anything was said in it. */
export function useTitle(conversation: string): Title {
  const { t } = useLingui()
  const me = useClient().user
  const summary = useConversation(conversation)
  const peer = summary?.peer ?? peerIn(conversation, me)
  const group = conversation.startsWith("grp:")
  const user = useUser(group || peer === "" ? undefined : peer)
  const remark = useContact(group || peer === "" ? undefined : peer)?.remark
  const presence = usePresence(group || peer === "" ? undefined : peer)
  const image = user?.picture ?? ""
  const { url } = usePicture(isUpload(image) ? { id: image, conversation: "", seq: 0 } : undefined, true)
  if (group) return { id: conversation, name: summary?.title || t`Group`, picture: undefined, kind: "group", peer: "", online: undefined, lastSeenAtMs: 0 }
  if (peer === "") return { id: conversation, name: t`Saved messages`, picture: undefined, kind: "saved", peer: "", online: undefined, lastSeenAtMs: 0 }
  return { id: peer, name: nameOf(user, remark), picture: url, kind: "dm", peer, online: presence?.online, lastSeenAtMs: presence?.lastSeenAtMs ?? 0 }
}

/** The other of a dm, by its id alone; "" of a group and of one's own notes. */
export function peerIn(conversation: string, me: string): string {
  const [kind, a = "", b = ""] = conversation.split(":")
  if (kind !== "dm" || a === b) return ""
  return a === me ? b : a
}
