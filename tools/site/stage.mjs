// Puts the documents of the repository where VitePress reads them, with links that hold on the
// site. It ends with 1 if a link leads nowhere.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { rewrite } from "./links.mjs"
import { decisions, forge, sections } from "./pages.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "../..")
const to = join(here, "src")

rmSync(to, { recursive: true, force: true })
mkdirSync(join(to, "public"), { recursive: true })

const pages = new Map(sections.flatMap((s) => s.pages).map((p) => [p.from, p.to]))
for (const f of readdirSync(join(root, decisions)).sort()) pages.set(`${decisions}/${f}`, `adr/${f}`)

const faults = []
for (const [from, page] of pages) {
  if (!existsSync(join(root, from))) {
    faults.push(`tools/site/pages.mjs: there is no ${from}`)
    continue
  }
  const raw = readFileSync(join(root, from), "utf8")
  const text = from.endsWith(".md") ? raw : `# Settings\n\nAll settings with their defaults, as \`skein config doc\` prints them. None is needed to start.\n\n\`\`\`toml\n${raw}\n\`\`\`\n`
  const done = rewrite(root, from, text, pages, forge)
  faults.push(...done.faults)
  mkdirSync(dirname(join(to, page)), { recursive: true })
  writeFileSync(join(to, page), done.text)
  for (const picture of done.pictures) cpSync(join(root, picture), join(to, "public", picture))
}
const index = rewrite(root, "tools/site/index.md", readFileSync(join(here, "index.md"), "utf8"), pages, forge)
faults.push(...index.faults)
writeFileSync(join(to, "index.md"), index.text)
cpSync(join(root, "docs/screens"), join(to, "public/docs/screens"), { recursive: true })

if (faults.length > 0) {
  console.error(faults.join("\n"))
  process.exit(1)
}
console.log(`${pages.size + 1} pages`)
