import { useEffect } from "react"
import { useUnread } from "@skein-im/react"

/** The number of unread messages: in the page's title, and on the app's icon where it is installed. */
export function useBadge(title: string): void {
  const { messages, mentions } = useUnread()
  const n = Math.max(messages, mentions)
  useEffect(() => {
    document.title = `${n > 0 ? `(${n > 999 ? "999+" : n}) ` : ""}${title === "" ? "" : `${title} · `}Skein`
    const app = navigator as Navigator & { setAppBadge?: (n: number) => Promise<void>; clearAppBadge?: () => Promise<void> }
    void (n > 0 ? app.setAppBadge?.(n) : app.clearAppBadge?.())?.catch(() => undefined) // not installed
  }, [n, title])
}
