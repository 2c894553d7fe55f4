// Takes what vite built in dist to internal/webapp/dist, where the server's program embeds it, with each file that
// is worth it compressed (.br, .gz). The page that stands there for a program without the app stays.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const here = dirname(fileURLToPath(import.meta.url))
const from = join(here, "../dist")
const to = join(here, "../../internal/webapp/dist")

const files = (dir) => readdirSync(dir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile() && !f.parentPath.endsWith(".vite")).map((f) => join(f.parentPath, f.name))

for (const f of readdirSync(to)) if (f !== "unbuilt.html") rmSync(join(to, f), { recursive: true })
for (const f of files(from)) {
  const target = join(to, relative(from, f))
  mkdirSync(dirname(target), { recursive: true })
  cpSync(f, target)
  if (!/\.(js|css|html|svg|json|webmanifest)$/.test(f) || statSync(f).size < 512) continue
  const plain = readFileSync(f)
  const forms = {
    br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
    gz: gzipSync(plain, { level: 9 }),
  }
  for (const [suffix, b] of Object.entries(forms)) if (b.length < plain.length * 0.95) writeFileSync(`${target}.${suffix}`, b)
}
