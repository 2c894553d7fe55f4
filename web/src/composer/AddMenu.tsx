import { useLingui } from "@lingui/react/macro"
import { BellOff, CalendarClock, ChartBarBig, Paperclip, Plus } from "lucide-react"
import { IconButton, Menu, MenuItem, MenuLine } from "../ui/index.js"

export interface AddMenuProps {
  disabled: boolean
  /** Something is written. */
  text: boolean
  /** What is said in a thread is said now, and asks nobody to vote. */
  thread: boolean
  onFiles: () => void
  onPoll: () => void
  onLater: () => void
  onSilent: () => void
}

/** What else can be sent than text, and how else. */
export function AddMenu({ disabled, text, thread, onFiles, onPoll, onLater, onSilent }: AddMenuProps) {
  const { t } = useLingui()
  return (
    <Menu align="start" side="top" trigger={<IconButton label={t`Add`} disabled={disabled} tooltip={false}><Plus /></IconButton>}>
      <MenuItem icon={<Paperclip />} onClick={onFiles}>{t`Pictures and files`}</MenuItem>
      {!thread && <MenuItem icon={<ChartBarBig />} onClick={onPoll}>{t`Poll`}</MenuItem>}
      {(text || !thread) && <MenuLine />}
      {text && <MenuItem icon={<BellOff />} onClick={onSilent}>{t`Send without a sound`}</MenuItem>}
      {!thread && <MenuItem icon={<CalendarClock />} onClick={onLater}>{text ? t`Send later` : t`What is sent later`}</MenuItem>}
    </Menu>
  )
}
