import { createContext, createElement, useContext, useEffect, useMemo, type ReactElement, type ReactNode } from "react"
import type { ChatClient } from "./types.js"
import { sessionOf, type Session } from "./session.js"
import type { ProfileStore } from "./profiles.js"

const Context = createContext<Session | undefined>(undefined)

export interface SkeinProviderProps {
  /** It stays the caller's: the provider neither connects nor closes it. */
  client: ChatClient
  /** Keeps profiles over a reload. It belongs to one user: clear it when they log out. */
  profiles?: ProfileStore | undefined
  children?: ReactNode
}

/** Gives the hooks below it their client. */
export function SkeinProvider({ client, profiles, children }: SkeinProviderProps): ReactElement {
  const session = useMemo(() => sessionOf(client), [client])
  useEffect(() => {
    if (profiles !== undefined) session.profiles.keepIn(profiles)
  }, [session, profiles])
  return createElement(Context.Provider, { value: session }, children)
}

export function useSession(): Session {
  const s = useContext(Context)
  if (s === undefined) throw new Error("a hook of @skein-im/react is used outside of SkeinProvider")
  return s
}

/** The client of the provider above. */
export function useClient(): ChatClient {
  return useSession().client
}
