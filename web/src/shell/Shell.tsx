import { useEffect, useState } from "react"
import { useLocation } from "wouter"
import type { ChatClient } from "@skein-im/client"
import { SkeinProvider } from "@skein-im/react"
import { clientOf, profilesOf } from "../client.js"
import { useSession } from "../auth/useSession.js"
import { later, Loading } from "../ui/index.js"
import { Panes } from "./Panes.js"

const Accepted = later(() => import("../people/Accepted.js").then((m) => m.Accepted))
const Woken = later(() => import("./Woken.js").then((m) => m.Woken))

/** The app of who is logged in: its client, and the panes. */
export function Shell() {
  const session = useSession()
  const [client, setClient] = useState<ChatClient | undefined>(undefined)
  const [path, go] = useLocation()
  const user = session?.user
  useEffect(() => {
    let gone = false
    if (session !== undefined) void clientOf(session).then((c) => { if (!gone) setClient(c) })
    return () => { gone = true }
    // The client asks for the tokens itself: another one is made for another user only.
  }, [user])
  const entering = path === "/login" || path === "/register"
  useEffect(() => {
    if (entering) go(nextOf(location.search), { replace: true })
  }, [entering, go])
  if (client === undefined || entering) return <Loading />
  return <SkeinProvider client={client} profiles={profilesOf(user ?? "")}><Woken /><Accepted /><Panes /></SkeinProvider>
}

/** Where somebody wanted to go before they had to log in: a path of this app, and nothing else. */
export function nextOf(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/"
  return /^\/(?![/\\])/.test(next) ? next : "/"
}
