import { useState } from "react"
import { useLingui } from "@lingui/react/macro"
import { Ellipsis, Forward, MessageSquareReply, Pencil, Reply, SmilePlus } from "lucide-react"
import type { Message } from "@skein-im/client"
import { IconButton, Menu, Popover, later } from "../ui/index.js"
import { useActs } from "./acts.js"
import s from "./ActionBar.module.css"

const MessageMenu = later(() => import("./MessageMenu.js").then((m) => m.MessageMenu))
const EmojiPicker = later(() => import("../composer/EmojiPicker.js").then((m) => m.EmojiPicker))

/** What is done most, beside the message that the pointer is on. */
export function ActionBar({ message: m }: { message: Message }) {
  const { t } = useLingui()
  const acts = useActs()
  const may = acts.may(m)
  const [picking, setPicking] = useState(false)
  return (
    <div className={s.bar} role="toolbar" aria-label={t`Message actions`}>
      {may.react && (
        <Popover label={t`React`} open={picking} onOpenChange={setPicking} trigger={<IconButton small label={t`React`} tooltip={false}><SmilePlus /></IconButton>}>
          <EmojiPicker onPick={(e) => { setPicking(false); acts.react(m, e) }} />
        </Popover>
      )}
      {may.reply && <IconButton small label={t`Reply`} onClick={() => acts.reply(m)}><Reply /></IconButton>}
      {may.thread && <IconButton small label={t`Reply in thread`} onClick={() => acts.thread(m)}><MessageSquareReply /></IconButton>}
      {may.edit ? <IconButton small label={t`Edit`} onClick={() => acts.edit(m)}><Pencil /></IconButton> : may.forward && <IconButton small label={t`Forward`} onClick={() => acts.forward(m)}><Forward /></IconButton>}
      <Menu trigger={<IconButton small label={t`More`} tooltip={false}><Ellipsis /></IconButton>}><MessageMenu message={m} /></Menu>
    </div>
  )
}
