import { SkeinError } from "@skein-im/client"
import { toBase64url } from "../settings/base64url.js"
import { http } from "./http.js"

/*
 * A login by a provider of OpenID Connect. The verifier waits in sessionStorage, of this tab alone, while the browser
 * is elsewhere; the code that comes back is worth nothing without it.
 */

const key = "skein.provider"

/** Whether this page can: it needs a secure context for the hash. */
export const canProvider = (): boolean => globalThis.crypto.subtle !== undefined

/** Sends the browser to the provider. Where the deployment does not send people back here, the server's page shows a code to copy. */
export async function beginProvider(provider: string): Promise<void> {
  const verifier = toBase64url(crypto.getRandomValues(new Uint8Array(32)).buffer)
  const challenge = toBase64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)))
  const r = await http("skein.v1.AccountService/BeginProviderLogin", { provider, challenge, returnTo: `${location.origin}/login` })
    .catch((e: unknown) => {
      if (e instanceof SkeinError && e.code === "invalid_argument") return http("skein.v1.AccountService/BeginProviderLogin", { provider, challenge })
      throw e
    })
  const to = new URL(r.url ?? "")
  if (to.protocol !== "https:" && to.protocol !== "http:") throw new SkeinError({ code: "internal" })
  sessionStorage.setItem(key, verifier)
  location.assign(to.href)
}

/** The verifier of the login that is under way in this tab, "" if there is none. It is good once. */
export function takeVerifier(): string {
  const v = sessionStorage.getItem(key) ?? ""
  sessionStorage.removeItem(key)
  return v
}

