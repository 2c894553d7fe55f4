// Prints, as JSON, the packages of npm whose code is in what the browser gets: it bundles the web
// app, its service worker and its widget once more, writing nothing, and looks which files went in. A list of
// dependencies would not do: some are types only, and some that are named as tools leave code behind.
//
// Run in web/, after `npm run build`.
import { createRequire } from "node:module"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

const require = createRequire(join(process.cwd(), "package.json"))
const vite = dirname(require.resolve("vite/package.json"))
const { build } = await import(pathToFileURL(join(vite, "dist/node/index.js")))
// The bundler lies beside vite, or in it.
const rolldown = () => dirname(createRequire(join(vite, "package.json")).resolve("rolldown/package.json"))

const dirs = new Set()
for (const configFile of ["vite.config.ts", "vite.sw.config.ts", "vite.widget.config.ts"]) {
  for (const { output } of [await build({ configFile, logLevel: "error", build: { write: false } })].flat()) {
    for (const id of output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : (chunk.originalFileNames ?? [])))) {
      const file = id.replace(/^\0/, "").split("?")[0]
      const at = file.lastIndexOf("node_modules/")
      if (at >= 0) dirs.add(file.slice(0, at) + "node_modules/" + file.slice(at + 13).split("/").slice(0, file[at + 13] === "@" ? 2 : 1).join("/"))
      // Helpers that the bundler writes into the bundle are its own code.
      else if (id.startsWith("\0vite/")) dirs.add(vite)
      else if (id.startsWith("\0rolldown/")) dirs.add(rolldown())
    }
  }
}
const packages = [...dirs].map((dir) => {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"))
  return { name, version, license, dir }
})
console.log(JSON.stringify(packages))
