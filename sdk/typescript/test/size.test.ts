import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import { test } from "node:test"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"

async function size(...entries: string[]): Promise<number> {
  const contents = entries.map((e) => `export * from ${JSON.stringify(fileURLToPath(new URL(`../src/${e}`, import.meta.url)))}`).join("\n")
  const out = await build({ stdin: { contents, resolveDir: "/" }, bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false })
  return gzipSync(out.outputFiles[0]!.contents).length
}

test("the client is at most 40 KB, minified and gzipped; tabs add at most 8 KB, protobuf at most 40 KB", async (t) => {
  const core = await size("index.js")
  const both = await size("index.js", "tabs/index.js")
  const pb = await size("index.js", "protobuf/index.js")
  t.diagnostic(`${core} bytes, with tabs ${both}, with protobuf ${pb}`)
  assert.ok(core <= 40 * 1024, `${core} bytes`)
  assert.ok(both - core <= 8 * 1024, `${both - core} bytes`)
  assert.ok(pb - core <= 40 * 1024, `${pb - core} bytes for protobuf`)
})
