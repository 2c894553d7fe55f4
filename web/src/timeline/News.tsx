import { useState } from "react"
import type { Message } from "@skein-im/client"
import { useEvent } from "@skein-im/react"
import { useScene } from "./context.js"
import { Summary } from "./Summary.js"

/** Says to a screen reader what comes, and nothing of history. */
export function News({ conversation }: { conversation: string }) {
  const { names } = useScene()
  const [last, setLast] = useState<Message | undefined>(undefined)
  useEvent("message", (m) => {
    if (m.conversation === conversation && !m.own) setLast(m)
  })
  return <div className="visually-hidden" role="log" aria-live="polite">{last !== undefined && <p key={last.id}>{names.name(last.sender)}: <Summary message={last} /></p>}</div>
}
