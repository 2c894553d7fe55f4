/** What is being completed at the cursor: a member behind @, an emoji behind :, a command behind / where nothing else is written; from `from` on. */
export interface Open {
  kind: "@" | ":" | "/"
  query: string
  from: number
}

/** Names may have a space in them; more than this many words are none. */
const mostWords = 3

export function openAt(text: string, caret: number): Open | undefined {
  if (caret === text.length && /^\/[\p{L}\p{N}]{0,24}$/u.test(text)) return { kind: "/", query: text.slice(1), from: 0 }
  const line = text.slice(0, caret)
  const emoji = /(^|[\s(])(:)([a-z0-9_+-]{2,32})$/.exec(line)
  if (emoji !== null) return { kind: ":", query: emoji[3]!, from: caret - emoji[3]!.length - 1 }
  const at = line.lastIndexOf("@")
  if (at < 0 || caret - at > 65 || (at > 0 && /[\p{L}\p{N}@]/u.test(line[at - 1]!))) return undefined
  const query = line.slice(at + 1)
  if (/[\n]|^\s|\s\s/.test(query) || query.split(/\s/).length > mostWords) return undefined
  return { kind: "@", query, from: at }
}

export interface Candidate {
  id: string
  names: readonly string[]
}

const plain = (s: string): string => s.normalize("NFKC").toLocaleLowerCase()

/** Those of whom a name, or a word of one, begins with what is written; the first names first. */
export function matching<C extends Candidate>(all: readonly C[], query: string, most = 8): C[] {
  const q = plain(query)
  const rank = (c: C): number => {
    let best = 9
    for (const n of c.names.map(plain)) {
      if (n.startsWith(q)) best = Math.min(best, 0)
      else if (n.split(/[\s\-_.]/).some((w) => w.startsWith(q))) best = Math.min(best, 1)
      else if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(n) && n.includes(q)) best = Math.min(best, 2)
    }
    return best
  }
  return all.map((c) => ({ c, r: rank(c) })).filter((x) => x.r < 9).sort((a, b) => a.r - b.r).slice(0, most).map((x) => x.c)
}

/** Those of which a name begins with what is written, not a word within one: what is no command is to be sent. */
export function beginning<C extends Candidate>(all: readonly C[], query: string): C[] {
  return all.filter((c) => c.names.some((n) => plain(n).startsWith(plain(query))))
}

export function put(text: string, open: Open, caret: number, word: string): { text: string; caret: number } {
  const behind = text.slice(caret)
  const space = behind.startsWith(" ") ? "" : " "
  const before = text.slice(0, open.from) + word + space
  return { text: before + behind, caret: before.length + (space === "" ? 1 : 0) }
}

/** Whom a text mentions: of those who were chosen, and who are known by a name without a space. */
export function mentionsIn(text: string, chosen: ReadonlyMap<string, string>, known: readonly Candidate[]): string[] {
  const ids = new Set<string>()
  const stands = (name: string): boolean => {
    for (let i = text.indexOf(`@${name}`); i >= 0; i = text.indexOf(`@${name}`, i + 1)) {
      if (!/[\p{L}\p{N}]/u.test(text[i - 1] ?? "") && !/[\p{L}\p{N}]/u.test(text[i + 1 + name.length] ?? "")) return true
    }
    return false
  }
  if (!text.includes("@")) return []
  for (const [name, id] of chosen) if (stands(name)) ids.add(id)
  for (const c of known) if (c.names.some((n) => n !== "" && stands(n))) ids.add(c.id)
  return [...ids].slice(0, 100)
}
