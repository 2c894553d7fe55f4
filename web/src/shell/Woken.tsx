import { useEffect, useRef } from "react"
import { useLocation } from "wouter"
import { useClient, useConnection, useConversations } from "@skein-im/react"
import { closeRead, hearWorker, settle } from "../push.js"

/** Keeps this browser subscribed, opens what a notification leads to, and takes away those of what was read. Shows nothing. */
export function Woken() {
  const client = useClient()
  const [, go] = useLocation()
  const connected = useConnection().state === "connected"
  const all = useConversations()
  const latest = useRef(all)
  latest.current = all
  useEffect(() => {
    const anew = (): void => void settle(client).catch((e: unknown) => console.warn("push", e))
    if (connected) void navigator.serviceWorker?.ready.then(anew)
    return hearWorker(go, anew)
  }, [client, connected, go])
  const read = all.reduce((sum, c) => sum + c.read, 0)
  useEffect(() => {
    const close = (): void => void closeRead((id) => latest.current.find((c) => c.id === id)?.read ?? 0).catch(() => undefined)
    const soon = setTimeout(close, 500) // many marks move at once when a device catches up
    return () => clearTimeout(soon)
  }, [read])
  return null
}
