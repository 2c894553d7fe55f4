import { memo, useEffect } from "react"
import { useLingui } from "@lingui/react/macro"
import { SmilePlus } from "lucide-react"
import type { Message } from "@skein-im/client"
import { useReactions } from "@skein-im/react"
import { Popover, Tooltip, cx, toast, useWhy, later } from "../ui/index.js"
import { useScene } from "./context.js"
import { ReactionMark } from "./stickers.js"
import s from "./Reactions.module.css"

const EmojiPicker = later(() => import("../composer/EmojiPicker.js").then((m) => m.EmojiPicker))

/** What others felt about it. A tap adds one's own, or takes it away; a long one, or the number, tells who. */
export const Reactions = memo(function Reactions({ message: m }: { message: Message }) {
  const { t } = useLingui()
  const { names, me, mayWrite, dialog } = useScene()
  const why = useWhy()
  const { reactions, toggle, error } = useReactions(m)
  useEffect(() => {
    if (error !== undefined) toast(why(error), { tone: "error" })
  }, [error])
  if (reactions.length === 0) return null
  return (
    <div className={cx(s.all, m.own && s.own)}>
      {reactions.map((r) => {
        const who = (r.users ?? []).map((u) => (u === me ? t`You` : names.inLine(u))).join(", ")
        const more = (r.count ?? 0) - (r.users ?? []).length
        const text = more > 0 ? t`${who} and ${more} more` : who
        return (
          <Tooltip key={r.reaction} text={text}>
            <button
              type="button" className={cx(s.one, r.mine && s.mine)} aria-pressed={r.mine ?? false} aria-label={t`${r.reaction}: ${text}`}
              onClick={() => (mayWrite ? void toggle(r.reaction) : dialog({ t: "reactions", message: m }))}
              onContextMenu={(e) => { e.preventDefault(); e.stopPropagation(); dialog({ t: "reactions", message: m }) }}
            >
              <ReactionMark reaction={r.reaction} />
              <span className={s.count}>{r.count}</span>
            </button>
          </Tooltip>
        )
      })}
      {mayWrite && (
        <Popover label={t`React`} trigger={<button type="button" className={cx(s.one, s.add)} aria-label={t`React with another emoji`}><SmilePlus aria-hidden="true" /></button>}>
          <EmojiPicker onPick={(e) => void toggle(e)} />
        </Popover>
      )}
      <button type="button" className="visually-hidden" onClick={() => dialog({ t: "reactions", message: m })}>{t`Who reacted`}</button>
    </div>
  )
})
