import { createContext, createElement, useContext, useSyncExternalStore, type ReactNode } from "react"
import type { Client, StateSnapshot, Summary, View } from "@skein-im/client"

const Context = createContext<Client | undefined>(undefined)

export function SkeinProvider({ client, children }: { client: Client; children?: ReactNode }) {
  return createElement(Context.Provider, { value: client }, children)
}

export function useClient(): Client {
  const c = useContext(Context)
  if (c === undefined) throw new Error("outside of SkeinProvider")
  return c
}

export function useView<T>(v: View<T>): T {
  return useSyncExternalStore(v.subscribe, v.getSnapshot)
}

export const useConnection = (): StateSnapshot => useView(useClient().state)
export const useConversations = (): readonly Summary[] => useView(useClient().conversations)
