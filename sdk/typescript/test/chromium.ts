/// <reference lib="dom" />
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core"
import type { ChatClient } from "../src/index.js"

/** What pages of the tests have. */
export interface InPage {
  shared: typeof import("../src/tabs/index.js").shared
  Client: typeof import("../src/index.js").Client
  IndexedDBStore: typeof import("../src/index.js").IndexedDBStore
  client: ChatClient
  told: string[]
}

/** Debian's Chromium, or what SKEIN_CHROMIUM names. */
const program = process.env["SKEIN_CHROMIUM"] ?? "/usr/bin/chromium"

async function script(): Promise<string> {
  const src = fileURLToPath(new URL("../src/", import.meta.url))
  const contents = `export * from "${src}index.js"; export { shared } from "${src}tabs/index.js"`
  const out = await build({ stdin: { contents, resolveDir: src }, bundle: true, format: "iife", globalName: "skein", platform: "browser", target: "es2022", write: false })
  return out.outputFiles[0]!.text
}

/** A browser; its pages are of the server's origin, and have `skein`. */
export async function withChromium(http: string, f: (page: () => Promise<Page>, context: BrowserContext) => Promise<void>): Promise<void> {
  assert.ok(existsSync(program), `${program} is not there: install chromium, or say in SKEIN_CHROMIUM where it is`)
  const js = await script()
  const browser: Browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] })
  try {
    const context = await browser.newContext({ bypassCSP: true })
    context.setDefaultTimeout(60_000)
    await context.addInitScript({ content: `${js}; globalThis.skein = { ...skein }` })
    await f(async () => {
      const page = await context.newPage()
      await page.goto(`${http}/livez`)
      return page
    }, context)
  } finally {
    await browser.close()
  }
}
