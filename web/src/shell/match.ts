/** How well a name fits what is typed: 0 not at all; the beginning of the name best, then of a word, then anywhere. */
export function fits(name: string, query: string): number {
  const n = plain(name)
  const q = plain(query)
  if (q === "") return 1
  if (n.startsWith(q)) return 4
  if (n.split(/[\s._-]+/u).some((w) => w.startsWith(q))) return 3
  return n.includes(q) ? 2 : 0
}

/** Without case and accents. */
function plain(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim()
}
