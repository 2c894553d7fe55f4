import { Trans, useLingui } from "@lingui/react/macro"
import { Pencil, Reply, X } from "lucide-react"
import type { Message } from "@skein-im/client"
import { IconButton } from "../ui/index.js"
import { useGroup } from "../timeline/group.js"
import { useNames } from "../timeline/names.js"
import { Summary } from "../timeline/Summary.js"
import s from "./Composer.module.css"

/** What is answered, or edited, above the field. */
export function State({ reply, edit, onEnd, conversation }: { reply: Message | undefined; edit: Message | undefined; onEnd: () => void; conversation: string }) {
  const { t } = useLingui()
  const of = edit ?? reply
  const names = useNames(of === undefined ? [] : [of.sender], useGroup(conversation))
  if (of === undefined) return null
  return (
    <div className={s.state}>
      {edit === undefined ? <Reply aria-hidden="true" /> : <Pencil aria-hidden="true" />}
      <span className={s.stateWords}>
        <span className={s.stateHead}>{edit !== undefined ? <Trans>Edit the message</Trans> : of.own ? <Trans>Reply to your message</Trans> : <Trans>Reply to {names.inLine(of.sender)}</Trans>}</span>
        <span className={s.stateText}><Summary message={of} /></span>
      </span>
      <IconButton label={edit === undefined ? t`Cancel reply` : t`Cancel editing`} keys="Esc" onClick={onEnd}><X /></IconButton>
    </div>
  )
}
