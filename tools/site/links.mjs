// What a link in a document of the repository becomes on the site, and whether it leads anywhere.
import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

/** The id of a heading, as the forge makes it: documents are read there as well. */
export const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-")

/** The text without code: fences become empty lines, so that line numbers stay. */
export function withoutFences(text) {
  let fence = ""
  return text.split("\n").map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === "") {
      if (mark === undefined) return line
      fence = mark
      return ""
    }
    if (mark?.startsWith(fence)) fence = ""
    return ""
  }).join("\n")
}

/** The ids of all headings of a document. */
export function anchors(text) {
  const ids = new Set()
  for (const [, raw] of withoutFences(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const id = slug(raw.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, ""))
    let unique = id
    for (let n = 1; ids.has(unique); n++) unique = `${id}-${n}`
    ids.add(unique)
  }
  return ids
}

const link = /(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+(?:\([^()]*\))?)\)/g

/**
 * rewrite changes the links of a document, and tells those that lead nowhere.
 *
 * @param {string} root the top of the repository
 * @param {string} from the document's path in it
 * @param {string} text
 * @param {Map<string, string>} pages path in the repository → path on the site
 * @param {string} forge
 */
export function rewrite(root, from, text, pages, forge) {
  const faults = []
  const pictures = new Set()
  const resolve = (whole, bang, label, target) => {
    if (/^(https?:|mailto:)/.test(target)) return whole
    const [path, hash] = target.split("#")
    const file = path === "" ? from : normalize(join(dirname(from), decodeURI(path))).replace(/\/$/, "")
    const at = join(root, file)
    if (file.startsWith("..") || !existsSync(at)) {
      faults.push(`${from}: ${target} leads nowhere`)
      return whole
    }
    const page = pages.get(file)
    if (hash && file.endsWith(".md") && !anchors(readFileSync(at, "utf8")).has(decodeURIComponent(hash))) faults.push(`${from}: ${target}: there is no such heading`)
    if (page) return `${bang}[${label}](/${page.replace(/\.md$/, "")}${hash ? `#${hash}` : ""})`
    if (bang === "!") {
      pictures.add(file)
      return `![${label}](/${file})`
    }
    return `[${label}](${forge}/${statSync(at).isDirectory() ? "tree" : "blob"}/main/${file}${hash ? `#${hash}` : ""})`
  }
  // Code keeps what it shows.
  const outside = (line) => line.split(/(`+[^`]*`+)/).reduce((parts, part, i) => {
    // A link whose label is code is one all the same, so code is taken out before and put back after.
    parts.text += i % 2 === 1 ? `\u0000${parts.code.push(part) - 1}\u0000` : part
    return parts
  }, { text: "", code: [] })
  const change = (line) => {
    const { text, code } = outside(line)
    return text.replace(link, resolve).replace(/\u0000(\d+)\u0000/g, (_, n) => code[n])
  }
  const fenced = withoutFences(text).split("\n")
  const out = text.split("\n").map((line, i) => (fenced[i] === line ? change(line) : line)).join("\n")
  return { text: out, faults, pictures }
}
