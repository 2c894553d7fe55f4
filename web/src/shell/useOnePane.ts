import { useSyncExternalStore } from "react"

/** As in Panes.module.css: below it there is room for one pane. */
const narrow = matchMedia("(max-width: 719.98px)")

export function useOnePane(): boolean {
  return useSyncExternalStore((changed) => {
    narrow.addEventListener("change", changed)
    return () => narrow.removeEventListener("change", changed)
  }, () => narrow.matches)
}
