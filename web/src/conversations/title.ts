import { useLingui } from "@lingui/react/macro"
import { useClient, useView } from "../hooks.js"

export interface Title {
  id: string
  name: string
  about: string
  picture: string | undefined
  group: boolean
  online: boolean | undefined
}

/** What a conversation is called, and how it looks. */
export function useTitle(conversation: string): Title {
  const { t } = useLingui()
  const summary = useView(useClient().conversation(conversation).summary)
  if (summary === undefined) return { id: conversation, name: "", about: "", picture: undefined, group: false, online: undefined }
  if (summary.kind === "group") return { id: conversation, name: summary.title === "" ? t`Group` : summary.title, about: "", picture: undefined, group: true, online: undefined }
  return { id: summary.peer, name: summary.peer === "" ? t`Saved messages` : summary.peer, about: "", picture: undefined, group: false, online: undefined }
}
