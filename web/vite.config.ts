import { transformAsync } from "@babel/core"
import { lingui } from "@lingui/vite-plugin"
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig, type Plugin } from "vite"

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Turns the texts of a file (`Trans`, `t`, `Plural`) into lookups. The English text stays in the code: it needs no catalogue. */
function texts(): Plugin {
  return {
    name: "skein-texts",
    enforce: "pre",
    async transform(code, id) {
      const path = id.split("?")[0] ?? id
      if (!/\.tsx?$/.test(path) || !/@lingui\/(core|react)\/macro/.test(code)) return null
      const out = await transformAsync(code, {
        filename: path, configFile: false, babelrc: false, sourceMaps: true,
        parserOpts: { plugins: ["typescript", "jsx"] },
        plugins: [["@lingui/babel-plugin-lingui-macro", { stripMessageField: false }]],
      })
      return out?.code == null ? null : { code: out.code, map: out.map ?? null }
    },
  }
}

const server = process.env["SKEIN_SERVER"] ?? "http://127.0.0.1:8080"

export default defineConfig({
  plugins: [texts(), react(), lingui()],
  resolve: {
    alias: {
      "@skein-im/client": here("../sdk/typescript/src/index.ts"),
      "@skein-im/react": here("../sdk/react/src/index.ts"),
    },
    dedupe: ["react", "react-dom"],
  },
  build: { outDir: "dist", target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: {
    fs: { allow: [here("..")] },
    proxy: {
      "/api": server, "/media": server, "/docs": server, "/claim": server, "/export": server,
      "/ws": { target: server, ws: true },
    },
  },
})
