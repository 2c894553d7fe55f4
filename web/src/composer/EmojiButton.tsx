import { useState } from "react"
import { useLingui } from "@lingui/react/macro"
import { Smile } from "lucide-react"
import { IconButton, Popover, later } from "../ui/index.js"
import type { PickedSticker } from "./EmojiPicker.js"

const EmojiPicker = later(() => import("./EmojiPicker.js").then((m) => m.EmojiPicker))

export function EmojiButton({ onPick, onSticker }: { onPick: (emoji: string) => void; onSticker?: ((s: PickedSticker) => void) | undefined }) {
  const { t } = useLingui()
  const [open, setOpen] = useState(false)
  return (
    <Popover label={t`Emoji`} open={open} onOpenChange={setOpen} align="end" trigger={<IconButton label={t`Emoji`} tooltip={false}><Smile /></IconButton>}>
      <EmojiPicker onPick={(e) => { setOpen(false); onPick(e) }} onSticker={onSticker && ((one) => { setOpen(false); onSticker(one) })} />
    </Popover>
  )
}
