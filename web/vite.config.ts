import { lingui } from "@lingui/vite-plugin"
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"
import { texts } from "./scripts/texts.js"

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** What few need, and none at first: it has chunks of its own. */
const seldom = /\/(Dialogs|Viewer|ForwardDialog|AttachDialog|PollDialog|ScheduleDialog|EmojiPicker|MessageMenu|Tray|Poll|Voice|Merged|SelectBar|RowMenu|Blocked|Over|Switcher|Keys|Missing|Start)\.tsx|\/shell\/Woken|\/timeline\/([Tt]hread|PinnedBar)\.|\/react\/src\/search\.ts|\/ui\/Field\.|\/composer\/emoji\.ts|\/Controls\.(tsx|module)|\/ui\/late\/|\/auth\/(?!session|http|useSession)|\/dev\//

/** What a conversation is made of, in one file: many small ones cost more bytes, and a request each. */
const together = /\/sdk\/(typescript|react)\/src\/|\/web\/src\/(ui|shell|conversations|timeline|composer|auth)\//

const server = process.env["SKEIN_SERVER"] ?? "http://127.0.0.1:8080"

export default defineConfig({
  plugins: [texts(), react(), lingui()],
  resolve: {
    alias: {
      "@skein-im/client/content": here("../sdk/typescript/src/content/index.ts"),
      "@skein-im/client/tabs": here("../sdk/typescript/src/tabs/index.ts"),
      "@skein-im/client": here("../sdk/typescript/src/index.ts"),
      "@skein-im/react": here("../sdk/react/src/index.ts"),
    },
    dedupe: ["react", "react-dom"],
  },
  build: { outDir: "dist", manifest: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler|wouter|regexparam|use-sync-external-store|@lingui)\//, priority: 2 },
            { name: "skein", test: (id: string) => together.test(id) && !seldom.test(id), priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    fs: { allow: [here("..")] },
    proxy: {
      "/api": server, "/media": server, "/docs": server, "/claim": server, "/export": server,
      "/ws": { target: server, ws: true },
    },
  },
})
