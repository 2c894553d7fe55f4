import { useMemo } from "react"
import { useLingui } from "@lingui/react/macro"
import { useLocation } from "wouter"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { toast, useWhy } from "../ui/index.js"
import { useScene } from "./context.js"
import { isAdmin } from "./group.js"
import { mayOf, type May } from "./may.js"
import { talkOf } from "./talk.js"

export interface Acts {
  may: (m: Message) => May
  reply: (m: Message) => void
  /** Opens its thread. */
  thread: (m: Message) => void
  react: (m: Message, reaction: string) => void
  edit: (m: Message) => void
  recall: (m: Message) => void
  forward: (m: Message) => void
  copy: (m: Message) => void
  pin: (m: Message) => void
  select: (m: Message) => void
  readers: (m: Message) => void
  edits: (m: Message) => void
  reactions: (m: Message) => void
  deleteForMe: (m: Message) => void
  report: (m: Message) => void
}

/** What can be done about a message, by whichever way: bar, menu, keys. */
export function useActs(): Acts {
  const { t } = useLingui()
  const client = useClient()
  const scene = useScene()
  const why = useWhy()
  const [, go] = useLocation()
  return useMemo(() => {
    const conversation = client.conversation(scene.conversation)
    const talk = talkOf(client, scene.conversation, scene.thread)
    const tell = (p: Promise<unknown>): void => void p.catch((e: unknown) => toast(why(e), { tone: "error" }))
    return {
      may: (m) => mayOf(m, {
        me: scene.me, dm: scene.dm, admin: isAdmin(scene.group), mayWrite: scene.mayWrite, inThread: scene.thread > 0, pinByAdmins: scene.group.group?.whoMayPin !== "GROUP_POWER_ALL",
        members: scene.group.group?.members ?? 0, nowMs: client.serverTimeMs(), editWindowMs: client.limits.editWindowMs ?? 0, recallWindowMs: client.limits.recallWindowMs ?? 0,
      }),
      reply: (m) => talk.reply(m),
      thread: (m) => go(`/c/${m.conversation}/t/${m.thread || m.seq}`),
      react: (m, reaction) => {
        const mine = m.reactions.find((r) => r.reaction === reaction)?.mine === true
        tell(conversation.react(m.seq, reaction, mine))
      },
      edit: (m) => talk.edit(m),
      recall: (m) => scene.dialog({ t: "recall", message: m }),
      forward: (m) => scene.dialog({ t: "forward", messages: [m] }),
      copy: (m) => tell(navigator.clipboard.writeText(m.type === "text" ? m.text : m.fallback).then(() => toast(t`Copied`))),
      pin: (m) => tell(conversation.pin(m.seq, m.pinned !== undefined)),
      select: (m) => talk.select(m.seq),
      readers: (m) => scene.dialog({ t: "readers", message: m }),
      edits: (m) => scene.dialog({ t: "edits", message: m }),
      reactions: (m) => scene.dialog({ t: "reactions", message: m }),
      deleteForMe: (m) => scene.dialog({ t: "deleteForMe", message: m }),
      report: (m) => scene.dialog({ t: "report", message: m }),
    }
  }, [client, scene, go])
}
