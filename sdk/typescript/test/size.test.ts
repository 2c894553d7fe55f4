import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import { test } from "node:test"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"

test("the client is at most 40 KB, minified and gzipped", async (t) => {
  const entryPoints = [fileURLToPath(new URL("../src/index.js", import.meta.url))]
  const out = await build({ entryPoints, bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false })
  const size = gzipSync(out.outputFiles[0]!.contents).length
  t.diagnostic(`${size} bytes`)
  assert.ok(size <= 40 * 1024, `${size} bytes`)
})
