import { useEffect, useState } from "react"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"

/** What a streamed message says beyond what is durable (SPEC §4.26). */
export interface Grown {
  replaced: number
  text: string
}

const bytes = (text: string): number => new TextEncoder().encode(text).length

/** A part goes on with what is shown, or it is left: the next entry has all. */
export function grow(shown: Grown, part: { replaced: number; offset: number; text: string }): Grown {
  return part.replaced === shown.replaced && part.offset === bytes(shown.text) ? { replaced: part.replaced, text: shown.text + part.text } : shown
}

/** What an entry says is taken, unless what is shown is more of the same. */
export function take(shown: Grown, m: Pick<Message, "replaced" | "text" | "streaming">): Grown {
  if (m.streaming && shown.replaced === m.replaced && shown.text.startsWith(m.text)) return shown
  return shown.replaced === m.replaced && shown.text === m.text ? shown : { replaced: m.replaced, text: m.text }
}

/** The text of a message; of one that grows, as far as it was told. */
export function useStreamed(m: Message): string {
  const [shown, setShown] = useState<Grown>({ replaced: m.replaced, text: m.text })
  useEffect(() => setShown((old) => take(old, m)), [m])
  const { conversation, seq, streaming } = m
  const client = useClient()
  useEffect(() => {
    if (!streaming) return undefined
    return client.on("part", (p) => {
      if (p.conversation === conversation && p.seq === seq) setShown((old) => grow(old, p))
    })
  }, [client, conversation, seq, streaming])
  return m.streaming ? shown.text : m.text
}
