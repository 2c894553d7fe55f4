import type { ChatClient, Response } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { useEffect, useSyncExternalStore } from "react"
import type { Role } from "./access.js"

export interface Me {
  /** undefined: not known yet. */
  role: Role | undefined
  version: string
  error: unknown
}

/** The role of a client's user, asked once and again when something says that it may be another one. */
class Asked {
  private now: Me = { role: undefined, version: "", error: undefined }
  private readonly listeners = new Set<() => void>()
  private asking = false

  constructor(private readonly client: ChatClient) {}

  readonly get = (): Me => this.now
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  readonly ask = (): void => {
    if (this.asking) return
    this.asking = true
    this.client.call("skein.v1.AccountService/GetMe", {}).then(
      (me: Response<"skein.v1.AccountService/GetMe">) => this.set({ role: me.role ?? "SERVER_ROLE_UNSPECIFIED", version: me.serverVersion ?? "", error: undefined }),
      (error: unknown) => this.set({ ...this.now, error }),
    )
  }

  private set(to: Me): void {
    this.asking = false
    this.now = to
    for (const f of [...this.listeners]) f()
  }
}

const known = new WeakMap<ChatClient, Asked>()

function askedOf(client: ChatClient): Asked {
  let a = known.get(client)
  if (a === undefined) known.set(client, (a = new Asked(client)))
  return a
}

/** What the user may do to this server. `anew`: asks also if it was known, as who comes into the console does. */
export function useMe(anew = false): Me & { ask: () => void } {
  const client = useClient()
  const asked = askedOf(client)
  const me = useSyncExternalStore(asked.subscribe, asked.get)
  useEffect(() => {
    if (anew || asked.get().role === undefined) asked.ask()
  }, [asked, anew])
  return { ...me, ask: asked.ask }
}

/** undefined: not known yet. */
export function useRole(): Role | undefined {
  return useMe().role
}

/** Calls a method; where the server says that one may not, the role is asked anew: it may have been taken. */
export function useCall(): ChatClient["call"] {
  const client = useClient()
  return ((...args: Parameters<ChatClient["call"]>) => client.call(...args).catch((e: unknown) => {
    if ((e as { code?: unknown } | undefined)?.code === "permission_denied") askedOf(client).ask()
    throw e
  })) as ChatClient["call"]
}
