import { createHash } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

/** The service worker: one file, with the names of all files of the app, which was built before. */

const dist = fileURLToPath(new URL("dist", import.meta.url))
const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((f) => f.isFile() && !["sw.js", "index.html", "manifest.json"].includes(f.name))
  .map((f) => join(f.parentPath, f.name).slice(dist.length))
  .sort()
const hash = createHash("sha256")
for (const f of [...files, "/index.html"]) hash.update(f).update(readFileSync(dist + f))

export default defineConfig({
  define: { __FILES__: JSON.stringify(files), __VERSION__: JSON.stringify(hash.digest("hex").slice(0, 12)) },
  publicDir: false,
  build: {
    outDir: "dist", emptyOutDir: false, target: "es2022", reportCompressedSize: false,
    rolldownOptions: { input: "src/sw/main.ts", output: { format: "iife", entryFileNames: "sw.js" } },
  },
})
