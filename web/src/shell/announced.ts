import type { Announcement } from "@skein-im/client"

const key = "skein.announced"

/** The announcements that were put away in this browser, by id. */
export function putAway(): ReadonlySet<string> {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(key) ?? "[]")
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [])
  } catch {
    return new Set() // it was written by something else
  }
}

/** Puts one away; those that are not announced any more are forgotten. */
export function put(id: string, all: readonly Announcement[]): ReadonlySet<string> {
  const before = putAway()
  const now = new Set(all.map((a) => a.id).filter((x) => x === id || before.has(x)))
  localStorage.setItem(key, JSON.stringify([...now]))
  return now
}

/** Those that are to be shown, the newest first. */
export function living(all: readonly Announcement[], gone: ReadonlySet<string>, now: number): Announcement[] {
  return all.filter((a) => !gone.has(a.id) && (Number(a.untilMs ?? 0) === 0 || Number(a.untilMs) > now))
}

/** What one says to who reads these languages, the preferred one first. */
export function saidIn(a: Announcement, languages: readonly string[]): string {
  const base = (tag: string): string => tag.toLowerCase().split("-")[0] ?? ""
  for (const want of languages) {
    const in_ = a.texts ?? []
    const said = in_.find((x) => x.language.toLowerCase() === want.toLowerCase()) ?? in_.find((x) => base(x.language) === base(want))
    if (said !== undefined) return said.text
    if (base(want) === "en") break // the text of its own is as good
  }
  return a.text
}
