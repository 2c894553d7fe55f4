import { createContext, useContext } from "react"
import type { ChatClient, Message, SkeinError } from "@skein-im/client"
import type { Access } from "./access.js"
import type { Texts } from "./texts.js"

/** What all parts of one conversation on a page share. */
export interface Scene {
  client: ChatClient
  server: string
  conversation: string
  access: Access
  t: Texts
  /** What somebody is called; never "". */
  name: (user: string) => string
  /** A message that is here, by its seq. */
  find: (seq: number) => Message | undefined
  /** One is a member: who is none any more reads. */
  mayWrite: boolean
  /** What is written next answers this; undefined: nothing. */
  answer: (m: Message | undefined) => void
  /** Says something that passes: below, and to a screen reader. */
  note: (text: string) => void
}

export const SceneContext = createContext<Scene | undefined>(undefined)

export function useScene(): Scene {
  const s = useContext(SceneContext)
  if (s === undefined) throw new Error("there is no conversation around this")
  return s
}

/** What an error means for who reads it. */
export function why(t: Texts, e: SkeinError): string {
  if (e.code === "too_large") return t.tooLarge
  if (e.code === "rate_limited") return t.tooOften
  if (e.code === "offline" || e.code === "connection_lost") return t.offline
  return e.message === "" || e.message === e.code ? t.wrong : e.message
}
