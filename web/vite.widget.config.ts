import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

/**
 * The widget for pages of others: one file with a name that stays, `/skein-widget.js`. It is the React component of
 * @skein-im/react on Preact (docs/adr/0011-widget.md), and has nothing of the web app.
 */

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const preact = (path: string): string => here(`node_modules/preact/${path}`)

export default defineConfig({
  publicDir: false,
  resolve: {
    alias: [
      { find: "@skein-im/client/content", replacement: here("../sdk/typescript/src/content/index.ts") },
      { find: "@skein-im/client", replacement: here("../sdk/typescript/src/index.ts") },
      { find: "react/jsx-runtime", replacement: preact("jsx-runtime/dist/jsxRuntime.mjs") },
      { find: "react-dom/client", replacement: preact("compat/client.mjs") },
      { find: /^react(-dom)?$/, replacement: preact("compat/dist/compat.mjs") },
    ],
  },
  build: {
    outDir: "dist", emptyOutDir: false, target: "es2022", reportCompressedSize: false,
    rolldownOptions: { input: here("../sdk/react/src/embed/element.tsx"), output: { format: "iife", entryFileNames: "skein-widget.js" } },
  },
})
