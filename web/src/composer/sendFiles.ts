import type { ChatClient } from "@skein-im/react"
import type { Ready } from "./outgoing.js"

/*
 * The door to files on their way (outgoing.ts), whose code comes with the first of them: most visits send none.
 */

let used = false
const listeners = new Set<() => void>()

/** Whether there was a file on its way since the page was loaded. */
export const anySent = {
  getSnapshot: (): boolean => used,
  subscribe(f: () => void): () => void {
    listeners.add(f)
    return () => listeners.delete(f)
  },
}

export interface SendFiles {
  replyTo: number
  thread: number
  silent: boolean
}

/** Sends files in their order; the first one answers. */
export async function sendFiles(client: ChatClient, conversation: string, files: readonly Ready[], { replyTo, thread, silent }: SendFiles): Promise<void> {
  const { outgoingOf } = await import("./outgoing.js")
  files.forEach((r, i) => outgoingOf(client).add(conversation, r, i === 0 ? replyTo : 0, silent, thread))
  if (used) return
  used = true
  for (const f of [...listeners]) f()
}
