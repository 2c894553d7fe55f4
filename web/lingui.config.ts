import { defineConfig } from "@lingui/cli"
import { formatter } from "@lingui/format-po"

export default defineConfig({
  sourceLocale: "en",
  locales: ["en", "zh-CN"],
  catalogs: [{ path: "<rootDir>/src/locales/{locale}", include: ["src"], exclude: ["**/*.test.*"] }],
  // Without line numbers, or each change of a file would change the catalogues.
  format: formatter({ lineNumbers: false }),
  orderBy: "message",
})
