import { useCallback, useEffect } from "react"
import { SkeinError, type View } from "@skein-im/client"
import { useSession } from "./context.js"
import { Changes, sameMap, useSelect, useStable } from "./view.js"
import type { ChatClient, User } from "./types.js"

/** How many GetUsers takes. */
const batch = 200
/** Of whom no change is told (who is no contact), the profile is asked anew after so long, when it is shown again. */
const staleAfterMs = 5 * 60_000
/** Changes are kept together, after so long. */
const keepAfterMs = 500
const askAgainMs = 5_000

/** Keeps profiles over a reload, so that names stand before the network does. */
export interface ProfileStore {
  load(): Promise<readonly User[]>
  save(users: readonly User[]): Promise<void>
}

/**
 * The profiles of a client's users, each asked once, many together. What is told of changes (PROFILE_CHANGED,
 * CONTACT_PROFILE_CHANGED) is asked again at once. Unknown ids are remembered as such.
 */
export class Profiles {
  private readonly changes = new Changes()
  private readonly known = new Map<string, User | undefined>()
  private readonly askedAt = new Map<string, number>()
  private readonly wanted = new Set<string>()
  private asking = false
  private store: ProfileStore | undefined
  private readonly unsaved = new Map<string, User>()
  private saving: ReturnType<typeof setTimeout> | undefined

  /** Changes with every profile; `get` tells what it is. */
  readonly view: View<object> = this.changes

  constructor(private readonly client: ChatClient) {
    client.on("account", ({ type, by, event }) => {
      if (type === "PROFILE_CHANGED") this.ask([by || client.user])
      if (type === "CONTACT_PROFILE_CHANGED") this.ask(event.users ?? [])
    })
  }

  /** The profile if it is here; undefined also for an id that nobody has. */
  get(id: string): User | undefined {
    return this.known.get(id)
  }

  /** Has those asked for that are not here, or are old. */
  want(ids: readonly string[]): void {
    const old = Date.now() - staleAfterMs
    this.ask(ids.filter((id) => id !== "" && (this.askedAt.get(id) ?? 0) < old))
  }

  /** Has them asked for, also those that are here. */
  ask(ids: readonly string[]): void {
    for (const id of ids) this.wanted.add(id)
    if (this.wanted.size === 0 || this.asking) return
    this.asking = true
    queueMicrotask(() => void this.run()) // components that mount together ask together
  }

  /** Puts profiles here that came with another answer: of a search, a list of contacts. */
  put(users: readonly User[]): void {
    if (users.length === 0) return
    const now = Date.now()
    for (const u of users) {
      this.known.set(u.id, u)
      this.askedAt.set(u.id, now)
      this.unsaved.set(u.id, u)
    }
    this.changes.changed()
    this.save()
  }

  /** Reads what is kept, and keeps what comes. What was asked meanwhile is newer than what was kept. */
  keepIn(store: ProfileStore): void {
    if (this.store === store) return
    this.store = store
    store.load().then(
      (users) => {
        const news = users.filter((u) => !this.known.has(u.id))
        for (const u of news) this.known.set(u.id, u) // askedAt stays: they are asked anew once they are shown
        if (news.length > 0) this.changes.changed()
      },
      () => undefined, // a cache that cannot be read is an empty one
    )
    this.save()
  }

  private save(): void {
    if (this.store === undefined || this.saving !== undefined || this.unsaved.size === 0) return
    this.saving = setTimeout(() => {
      this.saving = undefined
      const users = [...this.unsaved.values()]
      this.unsaved.clear()
      this.store?.save(users).catch(() => undefined) // nor one that cannot be written
    }, keepAfterMs)
  }

  private async run(): Promise<void> {
    while (this.wanted.size > 0) {
      const ids = [...this.wanted].slice(0, batch)
      const now = Date.now()
      for (const id of ids) {
        this.wanted.delete(id)
        this.askedAt.set(id, now)
      }
      try {
        const { users = [] } = await this.client.call("skein.v1.UserService/GetUsers", { ids })
        const found = new Set(users.map((u) => u.id))
        for (const id of ids) if (!found.has(id)) this.known.set(id, undefined)
        this.put(users)
        if (users.length === 0) this.changes.changed()
      } catch (e) {
        if (!(e instanceof SkeinError) || (e.action !== "retry" && e.code !== "connection_lost")) {
          // Refused for good, or the client has ended: they are asked again when they are shown again.
          for (const id of ids) this.askedAt.delete(id)
          break
        }
        for (const id of ids) this.wanted.add(id)
        await new Promise((done) => setTimeout(done, e.retryAfterMs || askAgainMs))
      }
    }
    this.asking = false
  }
}

/** The profiles that are here of these users, by id; the others are asked for, all components' together. */
export function useUsers(ids: readonly string[]): ReadonlyMap<string, User> {
  const { profiles } = useSession()
  const stable = useStable(ids)
  useEffect(() => profiles.want(stable), [profiles, stable])
  const select = useCallback(() => {
    const all = new Map<string, User>()
    for (const id of stable) {
      const u = profiles.get(id)
      if (u !== undefined) all.set(id, u)
    }
    return all
  }, [profiles, stable])
  return useSelect(profiles.view, select, sameMap)
}

/** A user's profile; undefined until it is here, for an unknown id, and without one. */
export function useUser(id: string | undefined): User | undefined {
  const { profiles } = useSession()
  useEffect(() => {
    if (id !== undefined) profiles.want([id])
  }, [profiles, id])
  const select = useCallback(() => (id === undefined ? undefined : profiles.get(id)), [profiles, id])
  return useSelect(profiles.view, select)
}

/** The cache of profiles itself: `put` what came with an answer, `ask` anew. */
export function useProfiles(): Profiles {
  return useSession().profiles
}
