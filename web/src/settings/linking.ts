import { SkeinError } from "@skein-im/client"
import type { ChatClient } from "@skein-im/react"
import { toBase64url } from "./base64url.js"

/*
 * Linking a login by a provider to the account (SPEC §3.13). The verifier waits in sessionStorage, of this tab alone; the
 * code that the browser comes back with, or that somebody copies from the server's page, is worth nothing without it.
 */

const key = "skein.linking"
const page = "/settings/account"

/** Begins it. True: this page is being left, and comes back with a code. False: another page shows the code, to be copied. */
export async function beginLinking(client: ChatClient, provider: string): Promise<boolean> {
  const verifier = toBase64url(crypto.getRandomValues(new Uint8Array(32)).buffer)
  const challenge = toBase64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)))
  let comesBack = true
  const begin = (returnTo?: string) => client.call("skein.v1.AccountService/BeginProviderLogin", { provider, challenge, ...(returnTo === undefined ? {} : { returnTo }) })
  const r = await begin(location.origin + page).catch((e: unknown) => {
    if (!(e instanceof SkeinError) || e.code !== "invalid_argument") throw e
    comesBack = false // the deployment does not send people here
    return begin()
  })
  const to = new URL(r.url ?? "")
  if (to.protocol !== "https:" && to.protocol !== "http:") throw new SkeinError({ code: "internal" })
  sessionStorage.setItem(key, verifier)
  if (comesBack) location.assign(to.href)
  else window.open(to.href, "_blank", "noopener")
  return comesBack
}

/** The verifier of the linking that is under way in this tab, "" if there is none. */
export const verifierHere = (): string => sessionStorage.getItem(key) ?? ""

/** It is over, well or not: a code is good once. */
export const endLinking = (): void => sessionStorage.removeItem(key)
