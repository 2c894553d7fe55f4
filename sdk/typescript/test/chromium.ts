import { chromium } from "playwright-core"
import { hear, pagePath, program, script, type Desk, type Tab } from "./desk.js"

/** Chromium, headless: Debian's, or what SKEIN_CHROMIUM names. */
export async function openChromium(): Promise<Desk> {
  const executablePath = program("Chromium", "SKEIN_CHROMIUM", ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"])
  const content = await script()
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] })
  return {
    profile: async (http, posted = () => undefined) => {
      const context = await browser.newContext()
      context.setDefaultTimeout(60_000)
      context.on("console", (m) => hear(m.text(), posted))
      await context.addInitScript({ content })
      const open = async (): Promise<Tab> => {
        const page = await context.newPage()
        await page.goto(http + pagePath)
        return {
          run: (f, a) => page.evaluate(f as never, a),
          until: async (f, a) => void (await page.waitForFunction(f as never, a)),
          close: () => page.close(),
          crash: async () => {
            const cdp = await context.newCDPSession(page)
            void cdp.send("Page.crash").catch(() => undefined) // it has no answer
            await page.waitForEvent("crash")
          },
        }
      }
      return { open, close: () => context.close() }
    },
    close: () => browser.close(),
  }
}
