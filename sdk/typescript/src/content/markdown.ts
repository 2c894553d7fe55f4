import { linkBegins, linkEnd, safeHref } from "./links.js"

/*
 * The subset of Markdown of SPEC §11.2: emphasis, code, links, lists, quotes. Source text becomes nodes, never HTML.
 * A line break is one. What is not closed stands as it was written. Time is linear in the text: of a mark without an
 * end it is remembered that none follows, and marks in marks go eight deep.
 */

export type Inline =
  | { t: "text"; text: string }
  | { t: "strong" | "em" | "del"; c: Inline[] }
  | { t: "code"; text: string }
  | { t: "link"; href: string; c: Inline[] }
  | { t: "mention"; user: string; text: string }
  | { t: "emoji"; name: string }
  | { t: "br" }

export type Block =
  | { t: "p"; c: Inline[] }
  | { t: "quote"; c: Block[] }
  | { t: "list"; start: number | undefined; items: Block[][] }
  | { t: "pre"; text: string; lang: string }

export interface Names {
  /** What stands behind an @, and whom it means. */
  mentions: ReadonlyMap<string, string>
  /** The deployment's own emoji. */
  emoji: (name: string) => boolean
}

const nobody: Names = { mentions: new Map(), emoji: () => false }
const deepest = 8

export function parse(text: string, names: Names = nobody): Block[] {
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), names, 0)
}

const bullet = /^ {0,3}([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/

function blocks(lines: readonly string[], names: Names, depth: number): Block[] {
  const out: Block[] = []
  let i = 0
  while (i < lines.length) {
    const line = lines[i]!
    if (line.trim() === "") {
      i++
      continue
    }
    const fence = /^ {0,3}```([^`]*)$/.exec(line)
    if (fence !== null) {
      const close = lines.findIndex((l, n) => n > i && /^ {0,3}```\s*$/.test(l))
      const to = close < 0 ? lines.length : close
      out.push({ t: "pre", text: lines.slice(i + 1, to).join("\n"), lang: fence[1]!.trim() })
      i = to + 1
    } else if (depth < deepest && /^ {0,3}>/.test(line)) {
      const from = i
      while (i < lines.length && /^ {0,3}>/.test(lines[i]!)) i++
      out.push({ t: "quote", c: blocks(lines.slice(from, i).map((l) => l.replace(/^ {0,3}> ?/, "")), names, depth + 1) })
    } else if (depth < deepest && bullet.test(line)) {
      i = list(lines, i, names, depth, out)
    } else {
      const from = i
      while (i < lines.length && lines[i]!.trim() !== "" && (i === from || !opens(lines[i]!, depth))) i++
      out.push({ t: "p", c: inline(lines.slice(from, i).join("\n").trim(), names) })
    }
  }
  return out
}

function opens(line: string, depth: number): boolean {
  return /^ {0,3}```[^`]*$/.test(line) || (depth < deepest && (/^ {0,3}>/.test(line) || bullet.test(line)))
}

/** A list from line i on; answers the line behind it. What is indented below an item belongs to it. */
function list(lines: readonly string[], from: number, names: Names, depth: number, out: Block[]): number {
  const numbered = (l: string): boolean => /\d/.test(bullet.exec(l)?.[1] ?? "")
  const ordered = numbered(lines[from]!)
  const items: Block[][] = []
  let i = from
  while (i < lines.length && bullet.test(lines[i]!) && numbered(lines[i]!) === ordered) {
    const own = [lines[i]!.replace(bullet, "")]
    i++
    while (i < lines.length && /^(\t| {2,})\S/.test(lines[i]!)) own.push(lines[i++]!.replace(/^(\t| {1,4})/, ""))
    items.push(blocks(own, names, depth + 1))
  }
  out.push({ t: "list", start: ordered ? parseInt(lines[from]!.trim(), 10) : undefined, items })
  return i
}

/** Of a mark no end follows before that place. */
type Ends = Map<string, number>

export function inline(text: string, names: Names = nobody): Inline[] {
  return spans(text, names, 0, new Map())
}

function spans(text: string, names: Names, depth: number, ends: Ends): Inline[] {
  const out: Inline[] = []
  let plain = ""
  const flush = (): void => {
    if (plain !== "") out.push({ t: "text", text: plain })
    plain = ""
  }
  for (let i = 0; i < text.length; ) {
    const found = special.has(text[i]!) ? span(text, i, names, depth, ends) : undefined
    if (found === undefined) {
      plain += text[i]!
      i++
      continue
    }
    if (found.node === undefined) plain += found.text
    else {
      flush()
      out.push(found.node)
    }
    i = found.to
  }
  flush()
  return out
}

interface Span {
  node: Inline | undefined
  text: string
  to: number
}

const special = new Set([..."\\`*_~[hH@:\n"])
const at = (node: Inline, to: number): Span => ({ node, text: "", to })

function span(text: string, i: number, names: Names, depth: number, ends: Ends): Span | undefined {
  switch (text[i]) {
    case "\n":
      return at({ t: "br" }, i + 1)
    case "\\":
      return /[\\`*_~[\]()>#+\-.!@:|]/.test(text[i + 1] ?? "") ? { node: undefined, text: text[i + 1]!, to: i + 2 } : undefined
    case "`":
      return code(text, i, ends)
    case "*":
    case "_":
    case "~":
      return depth < deepest ? emphasis(text, i, names, depth, ends) : undefined
    case "[":
      return depth < deepest ? link(text, i, names) : undefined
    case "@":
      return mention(text, i, names)
    case ":":
      return emoji(text, i, names)
    default:
      return address(text, i)
  }
}

function find(text: string, mark: string, from: number, ends: Ends, fits: (at: number) => boolean): number {
  if (from >= (ends.get(mark) ?? Infinity)) return -1
  for (let n = text.indexOf(mark, from); n >= 0; n = text.indexOf(mark, n + 1)) if (fits(n)) return n
  ends.set(mark, from)
  return -1
}

function code(text: string, i: number, ends: Ends): Span | undefined {
  let n = i
  while (text[n] === "`") n++
  const mark = text.slice(i, n)
  const to = find(text, mark, n, ends, (m) => text[m - 1] !== "`" && text[m + mark.length] !== "`")
  if (to < 0) return { node: undefined, text: mark, to: n }
  const inner = text.slice(n, to).replace(/\n/g, " ")
  return at({ t: "code", text: /^ .*\S.* $/.test(inner) ? inner.slice(1, -1) : inner }, to + mark.length)
}

const kinds: Record<string, "strong" | "em" | "del"> = { "**": "strong", "__": "strong", "~~": "del", "*": "em", "_": "em" }
const word = (c: string | undefined): boolean => c !== undefined && /[\p{L}\p{N}]/u.test(c)
const space = (c: string | undefined): boolean => c === undefined || /\s/.test(c)

function emphasis(text: string, i: number, names: Names, depth: number, ends: Ends): Span | undefined {
  const c = text[i]!
  for (const mark of [c + c, c]) {
    const kind = kinds[mark]
    if (kind === undefined || !text.startsWith(mark, i)) continue
    const from = i + mark.length
    if (space(text[from]) || (mark.length === 1 && text[from] === c) || (c === "_" && word(text[i - 1]))) continue
    const to = find(text, mark, from + 1, ends, (n) => {
      if (space(text[n - 1]) || (c === "_" && word(text[n + mark.length]))) return false
      return mark.length === 2 || (text[n + 1] !== c && text[n - 1] !== c)
    })
    if (to >= 0) return at({ t: kind, c: spans(text.slice(from, to), names, depth + 1, new Map()) }, to + mark.length)
  }
  let n = i
  while (text[n] === c) n++
  return { node: undefined, text: text.slice(i, n), to: n }
}

/** [words](address): only of an address that may be opened; otherwise it stands as it was written. */
function link(text: string, i: number, names: Names): Span | undefined {
  const m = /^\[([^[\]\n]{1,500})\]\((\S{1,2000}?)\)/.exec(text.slice(i, i + 2520))
  if (m === null) return undefined
  const balanced = (m[2]!.match(/\(/g)?.length ?? 0) > 0 && text[i + m[0].length] === ")"
  const target = balanced ? `${m[2]!})` : m[2]!
  const href = safeHref(target)
  if (href === undefined) return undefined
  return at({ t: "link", href, c: spans(m[1]!, names, deepest, new Map()) }, i + m[0].length + (balanced ? 1 : 0))
}

function address(text: string, i: number): Span | undefined {
  if (!linkBegins(text, i)) return undefined
  const to = linkEnd(text, i)
  const href = safeHref(text.slice(i, to))
  return href === undefined ? undefined : at({ t: "link", href, c: [{ t: "text", text: text.slice(i, to) }] }, to)
}

/** An @ with a name of somebody whom the message mentions: the longest that fits. */
function mention(text: string, i: number, names: Names): Span | undefined {
  if (word(text[i - 1])) return undefined
  let best = ""
  for (const name of names.mentions.keys()) {
    if (name.length > best.length && text.startsWith(name, i + 1) && !word(text[i + 1 + name.length])) best = name
  }
  return best === "" ? undefined : at({ t: "mention", user: names.mentions.get(best)!, text: `@${best}` }, i + 1 + best.length)
}

function emoji(text: string, i: number, names: Names): Span | undefined {
  const m = /^:([a-z0-9_+-]{1,32}):/.exec(text.slice(i, i + 34))
  return m !== null && names.emoji(m[1]!) ? at({ t: "emoji", name: m[1]! }, i + m[0].length) : undefined
}

/** What a text says, in one line and without marks: for quotes, previews and labels. */
export function plain(text: string): string {
  const words = (c: readonly Inline[]): string => c.map((n) => ("c" in n ? words(n.c) : n.t === "br" ? " " : n.t === "emoji" ? `:${n.name}:` : n.text)).join("")
  const lines = (bs: readonly Block[]): string =>
    bs.map((b) => (b.t === "p" ? words(b.c) : b.t === "pre" ? b.text.replace(/\s+/g, " ") : b.t === "quote" ? lines(b.c) : b.items.map(lines).join(" "))).join(" ")
  return lines(parse(text)).trim()
}

/** A message of one to three emoji and nothing else is shown large. */
export function onlyEmoji(text: string): boolean {
  const t = text.trim()
  if (t.length === 0 || t.length > 40 || !/^[\p{Extended_Pictographic}\p{Emoji_Component}\u200d\ufe0f\s]+$/u.test(t) || /^[\d#*\s]+$/.test(t)) return false
  return [...new Intl.Segmenter().segment(t.replace(/\s/g, ""))].length <= 3
}
