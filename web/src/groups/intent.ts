const key = "skein.join"

/** Somebody registers in order to join by this link: kept in this tab, until they have. */
export function keepIntent(token: string): void {
  sessionStorage.setItem(key, token)
}

/** Whether that was so; it counts once. */
export function takeIntent(token: string): boolean {
  const kept = sessionStorage.getItem(key)
  if (kept !== null) sessionStorage.removeItem(key)
  return kept === token
}

/** A user name made of a name: what others are found by needs small letters, digits and dots. "" if nothing is left. */
export function usernameOf(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, ".").replace(/^\.+|\.+$/g, "").slice(0, 32)
  return plain.length < 3 ? "" : plain
}
