import { useState } from "react"
import { Plural, useLingui } from "@lingui/react/macro"
import { Copy, Forward, Trash2, X } from "lucide-react"
import { IconButton, toast } from "../ui/index.js"
import { useScene } from "./context.js"
import { momentOf } from "./format.js"
import type { Stretch } from "./stretch.js"
import { useTalk } from "./talk.js"
import s from "./Timeline.module.css"

/** What can be done with several messages at once. */
export function SelectBar({ conversation, stretch }: { conversation: string; stretch: Stretch }) {
  const { t } = useLingui()
  const { dialog, names } = useScene()
  const [talk, { selected }] = useTalk(conversation)
  const [busy, setBusy] = useState(false)
  const messages = [...(selected ?? [])].sort((a, b) => a - b).flatMap((seq) => stretch.find(seq) ?? [])
  const sound = messages.filter((m) => !m.recalled)
  const copy = async (): Promise<void> => {
    setBusy(true)
    const text = sound.map((m) => `${names.name(m.sender)}, ${momentOf(m.atMs)}\n${m.type === "text" ? m.text : m.fallback}`).join("\n\n")
    await navigator.clipboard.writeText(text).then(() => toast(t`Copied`), () => toast(t`Your browser doesn’t allow this page to copy.`, { tone: "error" }))
    setBusy(false)
    talk.endSelection()
  }
  return (
    <div className={s.select} role="toolbar" aria-label={t`Selected messages`}>
      <IconButton label={t`End the selection`} onClick={() => talk.endSelection()}><X /></IconButton>
      <span><Plural value={messages.length} one="# selected" other="# selected" /></span>
      <IconButton label={t`Copy`} disabled={sound.length === 0 || busy} onClick={() => void copy()}><Copy /></IconButton>
      <IconButton label={t`Forward`} disabled={sound.length === 0 || sound.length > 100} onClick={() => dialog({ t: "forward", messages: sound })}><Forward /></IconButton>
      <IconButton label={t`Delete for me`} look="danger" disabled={messages.length === 0} onClick={() => dialog({ t: "deleteMany", messages })}><Trash2 /></IconButton>
    </div>
  )
}
