import { Tooltip as Base } from "@base-ui/react/tooltip"
import type { ReactElement } from "react"
import s from "./Tooltip.module.css"

export { Base as TooltipParts }

/** A few words about something, for a pointer and the keyboard. It says nothing that the element's label does not. */
export function Tooltip({ text, keys, children }: { text: string; keys?: string; children: ReactElement }) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className={s.place}>
          <Base.Popup className={s.tooltip}>
            {text}
            {keys !== undefined && <kbd className={s.keys}>{keys}</kbd>}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
