/** What is shown of a message that was found: the text that says it, around the first place, with the places marked. */

export interface Match {
  field?: string
  start?: number
  end?: number
}

export interface Span {
  text: string
  hit: boolean
}

export interface Said {
  type?: string
  text?: string
  fallback?: string
}

/** A text of a message by its path (SPEC §4.32); "" if it is not there. */
export function fieldText(c: Said, field: string): string {
  if (field === "fallback") return c.fallback ?? ""
  if (field === "text") return c.text ?? ""
  let at: unknown
  try {
    at = JSON.parse(c.text ?? "")
  } catch {
    return ""
  }
  for (const part of field.split(/[.[\]]+/).filter((p) => p !== "")) {
    if (typeof at !== "object" || at === null) return ""
    at = (at as Record<string, unknown>)[part]
  }
  return typeof at === "string" ? at : ""
}

/** What a message says in one line where nothing was looked for. */
export function plainText(c: Said): string {
  if (c.type === "text") return c.text ?? ""
  for (const field of ["caption", "question", "title", "name"]) {
    const t = fieldText(c, field)
    if (t !== "") return t
  }
  return c.fallback || (c.type ?? "")
}

/** The field that says most of what was looked for, and its places. */
function best(c: Said, matches: readonly Match[]): { text: string; places: readonly Match[] } {
  const by = new Map<string, Match[]>()
  for (const m of matches) by.set(m.field ?? "text", [...(by.get(m.field ?? "text") ?? []), m])
  let found: { text: string; places: readonly Match[] } = { text: plainText(c), places: [] }
  for (const [field, places] of by) {
    const text = fieldText(c, field)
    if (text !== "" && places.length > found.places.length) found = { text, places }
  }
  return found
}

/** So much stands in front of the first place, at most. */
const lead = 48

/** The text around the first place: at most so many UTF-16 units, never half a pair of surrogates. */
export function snippetOf(c: Said, matches: readonly Match[], most = 240): readonly Span[] {
  const { text, places } = best(c, matches)
  const first = places[0]?.start ?? 0
  let from = first > lead ? wordBefore(text, first - lead) : 0
  if (text.length - from < most / 2) from = Math.max(0, Math.min(from, text.length - most))
  from = whole(text, from)
  const to = whole(text, Math.min(text.length, from + most))
  const spans: Span[] = []
  const add = (a: number, b: number, hit: boolean): void => {
    const t = text.slice(a, b).replace(/\s+/gu, " ")
    if (t !== "") spans.push({ text: t, hit })
  }
  if (from > 0) spans.push({ text: "…", hit: false })
  let at = from
  for (const p of places) {
    const a = Math.max(at, p.start ?? 0)
    const b = Math.min(to, p.end ?? 0)
    if (a >= to || b <= a) continue
    add(at, a, false)
    add(a, b, true)
    at = b
  }
  add(at, to, false)
  if (to < text.length) spans.push({ text: "…", hit: false })
  return spans
}

/** The beginning of the word that is there, or the place itself where there are no spaces near. */
function wordBefore(text: string, at: number): number {
  for (let i = at; i < Math.min(text.length, at + 20); i++) if (/\s/u.test(text[i] ?? "")) return i + 1
  return at
}

/** Not between the halves of a pair of surrogates. */
function whole(text: string, at: number): number {
  const c = text.charCodeAt(at)
  return c >= 0xdc00 && c <= 0xdfff ? at - 1 : at
}
