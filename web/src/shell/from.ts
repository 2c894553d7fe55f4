/** What an address that was opened from another place in the app is opened with, so that Back and Esc lead there again. */
export const from = (): { state: { from: string } } => ({ state: { from: location.pathname } })

/** Where the page that is open was opened from, if that is known. */
export function openedFrom(): string | undefined {
  const at = (history.state as { from?: unknown } | null)?.from
  return typeof at === "string" && at.startsWith("/") ? at : undefined
}
