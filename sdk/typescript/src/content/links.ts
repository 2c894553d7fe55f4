/** What may be opened: nothing else becomes a link. */
const schemes = new Set(["http:", "https:", "mailto:"])

/** The address as a browser reads it; undefined if it is none that may be opened. One with a name or password is refused: it looks as if it led elsewhere. */
export function safeHref(text: string): string | undefined {
  let url: URL
  try {
    url = new URL(text.trim())
  } catch {
    return undefined
  }
  if (!schemes.has(url.protocol) || url.username !== "" || url.password !== "") return undefined
  if (url.protocol !== "mailto:" && url.hostname === "") return undefined
  return url.href
}

const end = /[\s\p{Cc}<>"'`“”‘’«»\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u
const trailing = /[.,;:!?*_~]+$/

/** Where the link that begins at `from` ends: before a space or a quotation mark, without punctuation at its end and without a bracket that it did not open. */
export function linkEnd(text: string, from: number): number {
  let to = from
  while (to < text.length && !end.test(text[to]!)) to++
  for (;;) {
    const link = text.slice(from, to).replace(trailing, "")
    to = from + link.length
    const last = link.at(-1)
    const open = last === ")" ? "(" : last === "]" ? "[" : ""
    if (open === "" || count(link, open) >= count(link, last!)) return to
    to--
  }
}

function count(text: string, c: string): number {
  return text.split(c).length - 1
}

const begin = /https?:\/\//giy

/** A link begins here: behind no letter or digit. */
export function linkBegins(text: string, at: number): boolean {
  if (at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1]!)) return false
  begin.lastIndex = at
  return begin.test(text)
}
