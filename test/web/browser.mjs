// Real browsers: Debian's Chromium by playwright-core. What a page throws, logs as an error or is not allowed to do
// (Content-Security-Policy, Trusted Types) fails the test that opened it.
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { chromium } from "playwright-core"
import { patience } from "./server.mjs"

const names = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"]

function program() {
  for (const name of names) {
    for (const dir of (process.env.PATH ?? "").split(delimiter)) if (existsSync(join(dir, name))) return join(dir, name)
  }
  throw new Error(`the web app was NOT tested: it needs Chromium (make deps); none of ${names.join(", ")} is here`)
}

export const desktop = { viewport: { width: 1280, height: 800 } }
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }

/** A browser for one test file. */
export class Browser {
  static async open(args = []) {
    const b = new Browser()
    b.faults = []
    b.chromium = await chromium.launch({
      executablePath: program(),
      args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", ...args],
    })
    return b
  }

  /** Somebody's browser: cookies, IndexedDB and all of its own. Several pages of it are tabs. */
  async profile(options = desktop) {
    const context = await this.chromium.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options })
    context.setDefaultTimeout(patience)
    context.on("weberror", (e) => this.faults.push(`thrown: ${e.error().stack ?? e.error().message}`))
    context.on("console", (m) => {
      if (m.type() === "error" && !expected(m.text())) this.faults.push(`console of ${m.page()?.url()}: ${m.text()}`)
    })
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (e) => {
        console.error(`not allowed by the page's policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`)
      })
    })
    return context
  }

  async close() {
    await this.chromium.close()
    assert.deepEqual(this.faults, [], "pages threw, logged errors, or were not allowed to do something")
  }
}

/** A server that is down and answers that are refusals are no faults of the page: Chromium logs them by itself. */
function expected(text) {
  return /net::ERR_|Failed to load resource|WebSocket connection to/.test(text)
}
