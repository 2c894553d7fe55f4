import { createContext, useContext } from "react"
import type { Message } from "@skein-im/client"
import type { GroupState } from "./group.js"
import type { Names } from "./names.js"
import type { Stretch } from "./stretch.js"

/** What every message of a timeline needs to know of its conversation. It changes seldom. */
export interface Scene {
  conversation: string
  /** The root of the thread that is shown; 0: the conversation itself. */
  thread: number
  me: string
  dm: boolean
  group: GroupState
  names: Names
  /** May write, thus react, vote, pin. */
  mayWrite: boolean
  jump: (seq: number) => void
  /** Opens the pictures of the conversation at this one. */
  view: (m: Message) => void
  /** Who somebody is. */
  profile: (user: string) => void
  /** The messages that are here; it also looks up those that others answer. */
  stretch: Stretch
  dialog: (d: OpenDialog) => void
}

export type OpenDialog =
  | { t: "edits" | "readers" | "reactions" | "votes" | "recall" | "report" | "deleteForMe"; message: Message }
  | { t: "forward"; messages: readonly Message[] }
  | { t: "deleteMany"; messages: readonly Message[] }

const Context = createContext<Scene | undefined>(undefined)

export const SceneProvider = Context.Provider

export function useScene(): Scene {
  const s = useContext(Context)
  if (s === undefined) throw new Error("a message is shown outside of a timeline")
  return s
}
