// Holds the app to its budget: what a browser loads before somebody can read and write in a conversation, by gzip.
// What comes later (dialogs, other rooms, other languages) does not count. The widget has a budget of its own, for all
// of it: it is loaded by pages of others. `npm run check` fails where it is too much.
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

const most = 170 * 1024
const mostWidget = 90 * 1024
const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist")
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"))
const rooms = ["index.html", "src/shell/Shell.tsx", "src/timeline/Timeline.tsx", "src/composer/Composer.tsx"]

const files = new Set(["index.html"])
const seen = new Set()
function take(name) {
  const chunk = manifest[name]
  if (chunk === undefined) throw new Error(`${name} is not in the manifest`)
  if (seen.has(name)) return
  seen.add(name)
  for (const f of [chunk.file, ...(chunk.css ?? [])]) files.add(f)
  for (const i of chunk.imports ?? []) take(i)
}
for (const r of rooms) take(r)

const sizes = [...files].map((f) => [f, gzipSync(readFileSync(join(dist, f)), { level: 9 }).length]).sort((a, b) => b[1] - a[1])
const sum = sizes.reduce((n, [, size]) => n + size, 0)
console.log(`first load: ${(sum / 1024).toFixed(1)} KB gzip in ${files.size} files, of ${most / 1024}`)
if (process.argv.includes("--list") || sum > most) for (const [f, size] of sizes) console.log(`${String(size).padStart(8)}  ${f}`)
const widget = gzipSync(readFileSync(join(dist, "skein-widget.js")), { level: 9 }).length
console.log(`widget: ${(widget / 1024).toFixed(1)} KB gzip, of ${mostWidget / 1024}`)
if (sum > most || widget > mostWidget) process.exit(1)
