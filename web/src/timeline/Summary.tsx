import { Trans, useLingui } from "@lingui/react/macro"
import type { Message } from "@skein-im/client"
import { bodyOf, plain } from "@skein-im/client/content"
import { lengthOf } from "./format.js"

const longest = 200

/** A message in one line of plain text. */
export function Summary({ message: m }: { message: Pick<Message, "type" | "text" | "fallback" | "recalled" | "media"> }) {
  const { t } = useLingui()
  if (m.recalled) return <em><Trans>Message deleted</Trans></em>
  const b = bodyOf(m)
  const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)
  switch (b.t) {
    case "text":
      return <>{cut(plain(b.text.slice(0, longest * 2)))}</>
    case "image":
      return <>{b.about.caption === "" ? t`Picture` : t`Picture: ${cut(plain(b.about.caption))}`}</>
    case "video":
      return <>{b.about.caption === "" ? t`Video` : t`Video: ${cut(plain(b.about.caption))}`}</>
    case "voice":
      return <>{t`Voice message, ${lengthOf(b.about.durationMs)}`}</>
    case "file":
      return <bdi>{b.about.name || t`File`}</bdi>
    case "location":
      return <>{t`Place: ${b.place.name || b.place.address || ""}`}</>
    case "card":
      return <>{t`Contact: ${b.name}`}</>
    case "merged":
      return <>{t`Messages: ${b.merged.title}`}</>
    case "poll":
      return <>{t`Poll: ${b.poll.question}`}</>
    case "sticker":
      return <>{t`Sticker: ${b.alt}`}</>
    case "unknown":
      return <>{b.fallback}</>
  }
}
