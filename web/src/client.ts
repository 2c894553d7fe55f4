import type { ChatClient } from "@skein-im/client"
import { shared } from "@skein-im/client/tabs"
import { IndexedDBProfiles } from "@skein-im/react"
import { accessToken, device, forget, session, type Session } from "./auth/session.js"
import { http } from "./auth/http.js"

/** The one place where the app's client is made, and where everything of a user is taken away again. */

const socket = (): string => new URL("/ws", location.href.replace(/^http/, "ws")).href

/** The name of what a user's messages are kept in. */
const database = (user: string): string => `skein-${user}`

let current: { user: string; client: ChatClient } | undefined
const profiles = new Map<string, IndexedDBProfiles>()

/** The profiles that a user was shown, kept over a reload. */
export function profilesOf(user: string): IndexedDBProfiles {
  let p = profiles.get(user)
  if (p === undefined) profiles.set(user, (p = new IndexedDBProfiles(`skein-people-${user}`)))
  return p
}

/** The client of a session. All tabs of the browser share one connection and one store. */
export async function clientOf(s: Session): Promise<ChatClient> {
  if (current?.user === s.user) return current.client
  await current?.client.close()
  const client = shared({ name: database(s.user), user: s.user, url: socket(), getToken: accessToken, device: device(), client: "skein-web" })
  current = { user: s.user, client }
  return client
}

// Another tab logged out: nothing of the user stays in this one either.
session.subscribe(() => {
  if (current === undefined || session.getSnapshot()?.user === current.user) return
  void current.client.close().catch(() => undefined)
  current = undefined
  location.replace("/login")
})

/** Ends the session and takes away everything that this browser keeps of it. Offline the server is not told; its session lapses. */
export async function logOut(): Promise<void> {
  const s = session.getSnapshot()
  const client = current?.client
  current = undefined
  if (s !== undefined) await http("skein.v1.AccountService/Logout", {}, s.accessToken).catch(() => undefined)
  forget()
  await import("./push.js").then((m) => m.leavePush()).catch(() => undefined)
  await client?.close().catch(() => undefined)
  for (const p of profiles.values()) await p.delete().catch(() => undefined)
  await wipe()
  location.replace("/login")
}

/** Everything but the looks, and the name of this browser. */
export async function wipe(): Promise<void> {
  const databases = (await indexedDB.databases?.()) ?? []
  for (const d of databases) if (d.name?.startsWith("skein")) indexedDB.deleteDatabase(d.name)
  for (const k of Object.keys(localStorage)) if (k.startsWith("skein.") && !k.startsWith("skein.pref.") && k !== "skein.device") localStorage.removeItem(k)
  sessionStorage.clear()
  if ("caches" in globalThis) for (const name of await caches.keys()) if (!name.startsWith("skein-shell")) await caches.delete(name)
}
