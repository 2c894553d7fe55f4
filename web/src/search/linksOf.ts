import { linkBegins, linkEnd } from "@skein-im/client/content"

/** The addresses in a text, each once, in their order. */
export function linksOf(text: string): readonly string[] {
  const found = new Set<string>()
  for (let at = 0; at < text.length; at++) {
    if ((text[at] !== "h" && text[at] !== "H") || !linkBegins(text, at)) continue
    const to = linkEnd(text, at)
    found.add(text.slice(at, to))
    at = Math.max(at, to - 1)
  }
  return [...found]
}
