import { lingui } from "@lingui/vite-plugin"
import react from "@vitejs/plugin-react"
import { createHash } from "node:crypto"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig, type Plugin } from "vite"
import { texts } from "./scripts/texts.js"

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** What few need, and none at first: it has chunks of its own. */
const seldom = /\/(Dialogs|Viewer|ForwardDialog|AttachDialog|PollDialog|ScheduleDialog|EmojiPicker|MessageMenu|Tray|Poll|Voice|Merged|SelectBar|RowMenu|ActionBar|Completion|ContentMore|JumpButtons|Greetings|TypingLine|ConnectionLine|RecordingBar|EventLine|Colours|Strangers|AddItems|State|Accepted|Blocked|Over|Switcher|Keys|Missing|Start)\.tsx|\/shell\/(Woken|[Aa]nnounce)|\/timeline\/([Tt]hread|PinnedBar)\.|\/react\/src\/(search|upload)\.ts|\/typescript\/src\/upload\.ts|\/composer\/(outgoing|recorder|files|complete)\.ts|\/timeline\/(blurhash|wave)\.ts|\/ui\/Field\.|\/composer\/emoji\.ts|\/Controls\.(tsx|module)|\/ui\/late\/|\/auth\/(?!session|http|useSession)|\/dev\//

/** What a conversation is made of, in one file: many small ones cost more bytes, and a request each. */
const together = /\/sdk\/(typescript|react)\/src\/|\/web\/src\/(ui|shell|conversations|timeline|composer|auth)\//

const server = process.env["SKEIN_SERVER"] ?? "http://127.0.0.1:8080"

const marks = new Map<string, string>()

/** Tells the classes of one file from those of another; short, since each class says it twice. */
function mark(path: string): string {
  const file = relative(here("."), path.split("?")[0] ?? path)
  const m = createHash("sha256").update(file).digest("base64url").replace(/[^a-zA-Z0-9]/g, "").slice(0, 3)
  const other = marks.get(m)
  if (other !== undefined && other !== file) throw new Error(`${file} and ${other} have the same mark: rename one`)
  marks.set(m, file)
  return m
}

/** Icons without their library's own maker of components, and without keys: random ones, which no compression makes small. */
const icons = (): Plugin => ({
  name: "skein-icons", apply: "build",
  transform: (code, id) => (/lucide-react\/dist\/esm\/icons\//.test(id) ? { code: code.replace(/,\s*key:\s*"[a-z0-9]+"/g, "").replace(/'[^']*createLucideIcon\.mjs'/, JSON.stringify(here("src/ui/icon.ts"))), map: null } : null),
})

export default defineConfig({
  plugins: [texts(), react(), lingui(), icons()],
  resolve: {
    alias: {
      "@skein-im/client/content": here("../sdk/typescript/src/content/index.ts"),
      "@skein-im/client/tabs": here("../sdk/typescript/src/tabs/index.ts"),
      "@skein-im/client": here("../sdk/typescript/src/index.ts"),
      "@skein-im/react": here("../sdk/react/src/index.ts"),
      // What stands in for it in older ones.
      "use-sync-external-store/shim/index.js": "react",
    },
    dedupe: ["react", "react-dom"],
  },
  // :dir() is what browsers say of each element, also where its text decides; the list of languages that would stand in
  // for it knows nothing of that. 4 is Features.DirSelector.
  css: { lightningcss: { exclude: 4 }, modules: { generateScopedName: (name, path) => `${name}_${mark(path)}` } },
  build: { outDir: "dist", manifest: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false, resolveDependencies: (_, deps, { hostType }) => (hostType === "html" ? deps : []) }, reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler|wouter|regexparam|@lingui)\//, priority: 2 },
            { name: "skein", test: (id: string) => together.test(id) && !seldom.test(id), priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    fs: { allow: [here("..")] },
    proxy: {
      "/api": server, "/media": server, "/docs": server, "/claim": server, "/login/callback": server, "/export": server,
      "/ws": { target: server, ws: true },
    },
  },
})
