import { useCallback, useEffect } from "react"
import type { View } from "@skein-im/client"
import { useSession } from "./context.js"
import { Changes, sameMap, useSelect, useStable } from "./view.js"
import type { ChatClient, Presence } from "./types.js"

/** How many users a connection may watch. SPEC §6.10. */
const most = 1000
/** A short cut of the connection takes nobody's light away. */
const forgetAfterMs = 10_000

/** Watches those together whom any component shows: a client has one list. */
export class PresenceWatch {
  private readonly changes = new Changes()
  private readonly told = new Map<string, Presence>()
  /** By how many components; who was looked at last stands last. */
  private readonly watched = new Map<string, number>()
  private due = false
  private forget: ReturnType<typeof setTimeout> | undefined

  readonly view: View<object> = this.changes

  constructor(private readonly client: ChatClient) {
    client.on("presence", ({ user, online, lastSeenAtMs }) => {
      this.told.set(user, { online, lastSeenAtMs })
      this.changes.changed()
    })
    client.on("state", ({ state }) => {
      if (state === "connected") {
        clearTimeout(this.forget)
        this.forget = undefined
      } else {
        this.forget ??= setTimeout(() => {
          this.told.clear()
          this.changes.changed()
        }, forgetAfterMs)
      }
    })
  }

  get(user: string): Presence | undefined {
    return this.told.get(user)
  }

  watch(users: readonly string[]): () => void {
    for (const u of users) {
      const n = this.watched.get(u) ?? 0
      this.watched.delete(u)
      this.watched.set(u, n + 1)
    }
    this.tell()
    return () => {
      for (const u of users) {
        const n = (this.watched.get(u) ?? 0) - 1
        if (n > 0) this.watched.set(u, n)
        else this.watched.delete(u)
      }
      this.tell()
    }
  }

  /** One list for all that mount and unmount together. */
  private tell(): void {
    if (this.due) return
    this.due = true
    queueMicrotask(() => {
      this.due = false
      const users = [...this.watched.keys()].slice(-most)
      for (const u of this.told.keys()) if (!this.watched.has(u)) this.told.delete(u)
      this.client.watchPresence(users).catch(() => undefined) // a client that has ended watches nobody
    })
  }
}

/** Who of these users is there, by id; of whom nothing is known yet is not in it. The last 1,000 asked for are watched. */
export function usePresences(users: readonly string[]): ReadonlyMap<string, Presence> {
  const { presence } = useSession()
  const stable = useStable(users)
  useEffect(() => presence.watch(stable.filter((u) => u !== "")), [presence, stable])
  const select = useCallback(() => {
    const all = new Map<string, Presence>()
    for (const u of stable) {
      const p = presence.get(u)
      if (p !== undefined) all.set(u, p)
    }
    return all
  }, [presence, stable])
  return useSelect(presence.view, select, sameMap)
}

/** Whether a user is there; undefined: not known. */
export function usePresence(user: string | undefined): Presence | undefined {
  return usePresences(user === undefined ? [] : [user]).get(user ?? "")
}
