import { lingui } from "@lingui/vite-plugin"
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"
import { texts } from "./scripts/texts.js"

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

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
