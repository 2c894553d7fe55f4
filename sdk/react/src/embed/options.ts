import type { ChatClient, Device, SkeinError, Store } from "@skein-im/client"
import type { Texts } from "./texts.js"

/**
 * Gives a token that the page's own backend minted (SPEC §3.10): when the conversation is opened, and when the server
 * refused the last one, `rejected`, because its time is over. Nothing ("" or undefined) says that there is none any
 * more: the conversation closes, and offers to try again. An error is passing: it is asked again, after a pause.
 */
export type TokenGiver = (rejected: string) => Promise<string | undefined> | string | undefined

/** How the conversation stands: told to the page, and shown. */
export type ConversationState = "connecting" | "open" | "offline" | "expired" | "refused" | "forbidden" | "replaced" | "failed"

export interface ConversationOptions {
  /** The address of the Skein server: https://chat.example */
  server: string
  /** The conversation's id: grp:…, dm:…:… */
  conversation: string
  getToken: TokenGiver
  /** A client that the page has already, with the same server and user. It stays the page's: nobody here closes it. */
  client?: ChatClient | undefined
  /** Where messages are kept. Without one nothing of the conversation outlives the page. */
  store?: Store | undefined
  /** Default `embed` of the class other: tabs of a user live side by side, and beside the user's apps. */
  device?: Device | undefined
  /** Default auto: as the browser is set. */
  theme?: "auto" | "light" | "dark" | undefined
  /** Language tag; default the page's, then the browser's. */
  lang?: string | undefined
  /** Other words than those of the language. */
  texts?: Partial<Texts> | undefined
  /** What stands above the messages; default the conversation's name. "" leaves the line out. */
  heading?: string | undefined
  onState?: ((state: ConversationState, error: SkeinError | undefined) => void) | undefined
}
