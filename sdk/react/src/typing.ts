import { useCallback, useMemo } from "react"
import type { View } from "@skein-im/client"
import { useSession } from "./context.js"
import { Changes, sameItems, useSelect } from "./view.js"
import type { ChatClient } from "./types.js"

/** Typing is shown for so long, or until their message comes. SPEC §6.9. */
const shownMs = 6_000

/** Who is typing where. */
export class TypingWatch {
  private readonly changes = new Changes()
  private readonly typing = new Map<string, Map<string, ReturnType<typeof setTimeout>>>()

  readonly view: View<object> = this.changes

  constructor(client: ChatClient) {
    client.on("typing", ({ conversation, user }) => this.begin(conversation, user))
    client.on("message", ({ conversation, sender }) => this.end(conversation, sender))
  }

  /** In the order in which they began. */
  users(conversation: string): string[] {
    return [...(this.typing.get(conversation)?.keys() ?? [])]
  }

  private begin(conversation: string, user: string): void {
    let all = this.typing.get(conversation)
    if (all === undefined) this.typing.set(conversation, (all = new Map()))
    const known = all.get(user)
    clearTimeout(known)
    all.set(user, setTimeout(() => this.end(conversation, user), shownMs))
    if (known === undefined) this.changes.changed()
  }

  private end(conversation: string, user: string): void {
    const all = this.typing.get(conversation)
    if (all?.has(user) !== true) return
    clearTimeout(all.get(user))
    all.delete(user)
    if (all.size === 0) this.typing.delete(conversation)
    this.changes.changed()
  }
}

export interface Typing {
  /** Who is typing, in the order in which they began. */
  users: readonly string[]
  /** Tells the others that the user is typing; call it with each key. */
  typing: () => void
}

/** Who is typing in a conversation. */
export function useTyping(conversation: string): Typing {
  const { client, typing } = useSession()
  const select = useCallback(() => typing.users(conversation), [typing, conversation])
  const users = useSelect<object, readonly string[]>(typing.view, select, sameItems)
  const tell = useCallback(() => client.conversation(conversation).typing(), [client, conversation])
  return useMemo(() => ({ users, typing: tell }), [users, tell])
}
