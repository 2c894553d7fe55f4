import { useClient, type ChatClient } from "@skein-im/react"
import { useEffect, useState } from "react"

const known = new WeakMap<ChatClient, Promise<boolean>>()

function ask(client: ChatClient): Promise<boolean> {
  let a = known.get(client)
  if (a === undefined) {
    a = client.call("skein.v1.AccountService/GetMe", {}).then((me) => me.role === "SERVER_ROLE_OWNER" || me.role === "SERVER_ROLE_ADMIN")
    a.catch(() => known.delete(client)) // it could not be asked: the next who looks asks again
    known.set(client, a)
  }
  return a
}

/** Whether the user is an administrator of this server; undefined: not known yet. */
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
