import { useLingui } from "@lingui/react/macro"
import { Plus } from "lucide-react"
import { IconButton, later, Menu } from "../ui/index.js"

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

const AddItems = later(() => import("./AddItems.js").then((m) => m.AddItems))

export function AddMenu({ disabled, ...of }: AddMenuProps) {
  const { t } = useLingui()
  return <Menu align="start" side="top" trigger={<IconButton label={t`Attach`} disabled={disabled} tooltip={false}><Plus /></IconButton>}><AddItems {...of} /></Menu>
}
