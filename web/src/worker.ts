/** The page's side of the service worker. */

interface Policy {
  createScriptURL(url: string): string
}
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): Policy
}

/** Scripts that the page may start, by their paths: no text becomes one. */
const scripts = new Set(["/sw.js"])

let policy: Policy | undefined

/** The address of one of the app's own scripts, in the form that the page's policy asks for. */
export function scriptURL(path: string): string {
  if (!scripts.has(path)) throw new TypeError(`${path} is no script of this app`)
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes
  policy ??= types?.createPolicy("skein", {
    createScriptURL: (url) => {
      if (!scripts.has(url)) throw new TypeError(`${url} is no script of this app`)
      return url
    },
  })
  return policy?.createScriptURL(path) ?? path
}

/** Starts the service worker once the page is at rest. Calls f when another version took over while the page was open. */
export function startWorker(f: () => void): void {
  if (!("serviceWorker" in navigator) || !import.meta.env.PROD) return
  const had = navigator.serviceWorker.controller !== null
  navigator.serviceWorker.addEventListener("controllerchange", () => { if (had) f() })
  const begin = (): void => {
    navigator.serviceWorker.register(scriptURL("/sw.js")).catch((e: unknown) => console.warn("no service worker", e))
  }
  if (document.readyState === "complete") begin()
  else addEventListener("load", begin, { once: true })
}
