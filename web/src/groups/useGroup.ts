import { useEffect, useState } from "react"
import { useAction, useClient, useEvent, type Action } from "@skein-im/react"
import type { Group } from "./powers.js"

/** A group as it is, read anew whenever something of it changes. */
export function useGroup(conversation: string): { group: Group | undefined; load: Action<[], void>; put: (g: Group | undefined) => void } {
  const client = useClient()
  const [group, setGroup] = useState<Group | undefined>(undefined)
  const load = useAction(async () => setGroup((await client.call("skein.v1.GroupService/GetGroup", { conversation })).group))
  const { run } = load
  useEffect(() => void run(), [run, conversation])
  useEvent("group", (e) => {
    if (e.conversation === conversation) void run()
  })
  const put = (g: Group | undefined): void => {
    if (g !== undefined) setGroup(g)
  }
  return { group: group?.conversation === conversation ? group : undefined, load, put }
}
