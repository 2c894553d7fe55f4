import { useLocation } from "wouter"
import { useLingui } from "@lingui/react/macro"
import { useClient, useConversation } from "@skein-im/react"
import { toast, useWhy } from "../ui/index.js"
import type { Candidate } from "./complete.js"

/** What the composer itself does. */
export interface ComposerActs {
  file: () => void
  poll: () => void
  later: () => void
}

/** What is written as /word in the place of a message, and done in the place of being sent. */
export interface Command extends Candidate {
  label: string
  run: () => void
}

/** Until the end of time, as a number that every program reads. */
const forEver = "253402300799000"

/** The commands of a conversation: what menus and buttons do as well, for who has the hands on the keys. What is no command is sent as it is; bots have theirs. */
export function useCommands(conversation: string, thread: number, acts: ComposerActs): readonly Command[] {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const [, go] = useLocation()
  const mutedUntil = useConversation(conversation)?.mine.mutedUntilMs ?? 0
  const mute = (mutedUntilMs: string, done: string) => (): void => void client.conversation(conversation).setMyState({ mutedUntilMs }).then(() => toast(done), (e: unknown) => toast(why(e), { tone: "error" }))
  const one = (word: string, label: string, run: () => void): Command => ({ id: word, names: [word, label], label, run })
  return [
    one("file", t`Pictures and files`, acts.file),
    ...(thread > 0 ? [] : [one("poll", t`Poll`, acts.poll)]),
    one("later", t`Scheduled messages`, acts.later),
    one("search", t`Search here`, () => go(`/search?in=${encodeURIComponent(conversation)}`)),
    Number(mutedUntil) > client.serverTimeMs() ? one("unmute", t`Unmute`, mute("0", t`Unmuted`)) : one("mute", t`Mute`, mute(forEver, t`Muted`)),
  ]
}
