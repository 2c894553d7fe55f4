import { plural } from "@lingui/core/macro"
import { useLingui } from "@lingui/react/macro"
import { AtSign, ChevronDown } from "lucide-react"
import { Badge } from "../ui/index.js"
import s from "./Timeline.module.css"

export interface JumpButtonsProps {
  away: boolean
  unread: number
  mentions: number
  onEnd: () => void
}

/** Leads to what is unread, and then to the end. */
export function JumpButtons({ away, unread, mentions, onEnd }: JumpButtonsProps) {
  const { t } = useLingui()
  if (!away) return null
  return (
    <div className={s.buttons}>
      <button type="button" className={s.jump} onClick={onEnd} aria-label={unread > 0 ? t`To the unread messages` : t`To the newest message`} title={unread > 0 ? t`To the unread messages` : t`To the newest message`}>
        {mentions > 0 ? <AtSign aria-hidden="true" /> : <ChevronDown aria-hidden="true" />}
        <Badge count={unread} label={t`${plural(unread, { one: "# unread message", other: "# unread messages" })}`} />
      </button>
    </div>
  )
}
