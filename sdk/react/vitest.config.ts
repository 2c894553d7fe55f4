import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const client = (path: string): string => fileURLToPath(new URL(`../typescript/dist/${path}`, import.meta.url))

// The client as it was built in ../typescript, with the server in memory of its tests.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@skein-im\/client\/content$/, replacement: client("src/content/index.js") },
      { find: /^@skein-im\/client$/, replacement: client("src/index.js") },
      { find: /^@skein-im\/client\/test\/(.*)$/, replacement: client("test/$1.js") },
    ],
  },
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"], testTimeout: 30_000 },
})
