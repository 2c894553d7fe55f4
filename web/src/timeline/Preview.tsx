import type { Message, Preview as Told } from "@skein-im/client"
import { safeHref } from "@skein-im/client/content"
import { Picture } from "./Picture.js"
import s from "./Content.module.css"

/** What a link leads to, as its site says (SPEC §4.34): plain text, and a small picture. */
export function Preview({ message: m, preview: p }: { message: Message; preview: Told }) {
  const href = safeHref(p.url ?? "")
  if (href === undefined || (!p.title && !p.description && p.image === undefined)) return null
  return (
    <a className={s.preview} href={href} target="_blank" rel="noopener noreferrer nofollow">
      <span className={s.words}>
        <span className={s.site}>{p.site || new URL(href).hostname}</span>
        {p.title && <bdi className={s.name}>{p.title}</bdi>}
        {p.description && <span className={s.description}>{p.description}</span>}
      </span>
      {p.image !== undefined && <Picture place={{ id: p.image.id, conversation: m.conversation, seq: m.seq }} width={72} height={72} blurhash={p.image.blurhash ?? ""} alt="" thumbnail />}
    </a>
  )
}
