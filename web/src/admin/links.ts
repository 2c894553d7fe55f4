/** Addresses of this place, to be given to others. The code is in the query: it is good for a while, and is counted. */

export function registrationUrl(origin: string, code: string): string {
  return `${origin}/register?invite=${encodeURIComponent(code)}`
}

export function resetUrl(origin: string, code: string): string {
  return `${origin}/reset?code=${encodeURIComponent(code)}`
}

export function joinUrl(origin: string, code: string): string {
  return `${origin}/join/${encodeURIComponent(code)}`
}

/** What is left of a link's uses; undefined: any number. */
export function usesLeft(link: { uses?: number; maxUses?: number }): number | undefined {
  return (link.maxUses ?? 0) === 0 ? undefined : Math.max(0, (link.maxUses ?? 0) - (link.uses ?? 0))
}

export const hour = 3_600_000
export const day = 24 * hour

/** A password that somebody types once: no letters that look alike. */
export function madePassword(random: (n: number) => Uint8Array = (n) => crypto.getRandomValues(new Uint8Array(n))): string {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789" // 31: of a byte those below 248 are taken
  let out = ""
  while (out.length < 16) for (const b of random(16)) if (b < 248 && out.length < 16) out += letters[b % 31]
  return out.replace(/(.{4})(?=.)/g, "$1-")
}
