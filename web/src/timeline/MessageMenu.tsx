import { useLingui } from "@lingui/react/macro"
import { CheckSquare, Copy, Eye, Flag, Forward, History, MessageSquareReply, Pencil, Pin, PinOff, Reply, Smile, Trash2, Undo2 } from "lucide-react"
import type { Message } from "@skein-im/client"
import { MenuItem, MenuLine, MenuTile, cx } from "../ui/index.js"
import { useActs } from "./acts.js"
import s from "./ActionBar.module.css"

const quick = ["👍", "❤️", "😂", "🎉", "😮", "😢"]

/** All that can be done about a message. */
export function MessageMenu({ message: m }: { message: Message }) {
  const { t } = useLingui()
  const acts = useActs()
  const may = acts.may(m)
  return (
    <>
      {may.react && (
        <div className={s.quick} role="group" aria-label={t`React`}>
          {quick.map((e) => (
            <MenuTile key={e} className={cx(s.emoji, m.reactions.some((r) => r.reaction === e && r.mine) && s.mine)} label={t`React with ${e}`} onClick={() => acts.react(m, e)}>{e}</MenuTile>
          ))}
        </div>
      )}
      {may.reply && <MenuItem icon={<Reply />} keys="R" onClick={() => acts.reply(m)}>{t`Reply`}</MenuItem>}
      {may.thread && <MenuItem icon={<MessageSquareReply />} keys="T" onClick={() => acts.thread(m)}>{t`Reply in thread`}</MenuItem>}
      {may.edit && <MenuItem icon={<Pencil />} keys="E" onClick={() => acts.edit(m)}>{t`Edit`}</MenuItem>}
      {may.copy && <MenuItem icon={<Copy />} keys="C" onClick={() => acts.copy(m)}>{t`Copy the text`}</MenuItem>}
      {may.forward && <MenuItem icon={<Forward />} keys="F" onClick={() => acts.forward(m)}>{t`Forward`}</MenuItem>}
      {may.pin && <MenuItem icon={m.pinned === undefined ? <Pin /> : <PinOff />} keys="P" onClick={() => acts.pin(m)}>{m.pinned === undefined ? t`Pin` : t`Unpin`}</MenuItem>}
      {may.readers && <MenuItem icon={<Eye />} onClick={() => acts.readers(m)}>{t`Read by`}</MenuItem>}
      {m.reactions.length > 0 && <MenuItem icon={<Smile />} onClick={() => acts.reactions(m)}>{t`Who reacted`}</MenuItem>}
      {m.editedAtMs > 0 && !m.recalled && <MenuItem icon={<History />} onClick={() => acts.edits(m)}>{t`Edit history`}</MenuItem>}
      {may.select && <MenuItem icon={<CheckSquare />} keys="S" onClick={() => acts.select(m)}>{t`Select`}</MenuItem>}
      {(may.recall || may.deleteForMe || may.report) && <MenuLine />}
      {may.report && <MenuItem icon={<Flag />} onClick={() => acts.report(m)}>{t`Report`}</MenuItem>}
      {may.recall && <MenuItem icon={<Undo2 />} danger onClick={() => acts.recall(m)}>{t`Delete for everyone`}</MenuItem>}
      {may.deleteForMe && <MenuItem icon={<Trash2 />} danger onClick={() => acts.deleteForMe(m)}>{t`Delete for me`}</MenuItem>}
    </>
  )
}
