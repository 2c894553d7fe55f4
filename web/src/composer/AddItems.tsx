import { useLingui } from "@lingui/react/macro"
import { BellOff, CalendarClock, ChartBarBig, Paperclip } from "lucide-react"
import { MenuItem, MenuLine } from "../ui/index.js"
import type { AddMenuProps } from "./AddMenu.js"

/** What else can be sent than text, and how else. */
export function AddItems({ text, thread, onFiles, onPoll, onLater, onSilent }: Omit<AddMenuProps, "disabled">) {
  const { t } = useLingui()
  return (
    <>
      <MenuItem icon={<Paperclip />} onClick={onFiles}>{t`Pictures and files`}</MenuItem>
      {!thread && <MenuItem icon={<ChartBarBig />} onClick={onPoll}>{t`Poll`}</MenuItem>}
      <MenuLine />
      {text && <MenuItem icon={<BellOff />} onClick={onSilent}>{t`Send silently`}</MenuItem>}
      <MenuItem icon={<CalendarClock />} onClick={onLater}>{text ? t`Send later` : t`Scheduled messages`}</MenuItem>
    </>
  )
}
