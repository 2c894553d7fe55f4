import type { ReactElement } from "react"
import type { Message } from "@skein-im/client"
import { bodyOf, plain } from "@skein-im/client/content"
import { useScene } from "./scene.js"

/** A message that another one answers, in short; undefined: it is not here. */
export function Quote({ of: m }: { of: Message | undefined }): ReactElement {
  const { t, name } = useScene()
  if (m === undefined) return <blockquote className="quote">{t.before}</blockquote>
  const body = bodyOf(m)
  const said = m.recalled ? t.recalled : body.t === "text" ? plain(body.text) : m.fallback
  return <blockquote className="quote"><strong><bdi>{m.own ? t.you : name(m.sender)}</bdi></strong><span dir="auto">{said.slice(0, 140)}</span></blockquote>
}
