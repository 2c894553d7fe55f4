import type { Summary } from "@skein-im/client"

/** What of the list is shown. */
export type Filter = "all" | "unread" | "groups" | "hidden" | `folder:${string}`

const isUnread = (c: Summary): boolean => c.unread > 0 || c.markedUnread || c.unreadMentions > 0

/** The conversations of a filter: pinned ones first, then as they come, the newest activity first. One with a draft counts as begun. */
export function ordered(all: readonly Summary[], filter: Filter, open?: string): Summary[] {
  const shown = all.filter((c) => {
    if (filter === "hidden") return c.hidden
    if (c.hidden) return false
    if (filter === "unread") return isUnread(c) || c.id === open // what is being read stays where it is
    if (filter === "groups") return c.kind === "group"
    if (filter.startsWith("folder:")) return c.mine.folder === filter.slice(7)
    return true
  })
  return [...shown.filter((c) => c.mine.pinned === true), ...shown.filter((c) => c.mine.pinned !== true)]
}

/** The names of the user's folders, in the order of the language. */
export function folders(all: readonly Summary[]): string[] {
  const names = new Set<string>()
  for (const c of all) if (c.mine.folder !== undefined && c.mine.folder !== "") names.add(c.mine.folder)
  return [...names].sort((a, b) => a.localeCompare(b))
}

export function isMuted(c: Summary, nowMs: number): boolean {
  return (c.mine.mutedUntilMs ?? 0) > nowMs
}
