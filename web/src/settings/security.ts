import type { Response } from "@skein-im/client"
import { useClient, useEvent } from "@skein-im/react"
import { useLoad, type Loaded } from "./useLoad.js"

export type Security = Response<"skein.v1.AccountService/GetSecurity">

/** How the account is secured; read anew when any device changed that. */
export function useSecurity(): Loaded<Security> {
  const client = useClient()
  const security = useLoad((signal) => client.call("skein.v1.AccountService/GetSecurity", {}, { signal }))
  useEvent("account", ({ type }) => {
    if (type === "SECURITY_CHANGED") security.reload()
  })
  return security
}
