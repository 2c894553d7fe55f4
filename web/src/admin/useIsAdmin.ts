import { SkeinError } from "@skein-im/client"
import { useClient, type ChatClient } from "@skein-im/react"
import { useEffect, useState } from "react"

const known = new WeakMap<ChatClient, Promise<boolean>>()

function ask(client: ChatClient): Promise<boolean> {
  let a = known.get(client)
  if (a === undefined) {
    a = client.call("skein.v1.AdminService/ListUsers", { limit: 1 }).then(() => true, (e: unknown) => {
      if (e instanceof SkeinError && e.code === "permission_denied") return false
      known.delete(client) // it could not be asked: the next who looks asks again
      throw e
    })
    a.catch(() => undefined)
    known.set(client, a)
  }
  return a
}

/** Whether the user is an administrator of this server; undefined: not known yet. No account says so of itself, so it is tried. */
export function useIsAdmin(): boolean | undefined {
  const client = useClient()
  const [is, setIs] = useState<boolean | undefined>(undefined)
  useEffect(() => {
    let gone = false
    ask(client).then((a) => { if (!gone) setIs(a) }, () => undefined)
    return () => { gone = true }
  }, [client])
  return is
}
