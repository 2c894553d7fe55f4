import assert from "node:assert/strict"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import puppeteer, { type Browser, type Page } from "puppeteer-core"
import { hear, pagePath, program, script, type Desk, type Tab } from "./desk.js"

/*
 * Firefox is driven in WebDriver BiDi, which it speaks by itself. (The protocol of playwright's own needs a Firefox that
 * was built for it, and its BiDi commands that Debian's does not know.)
 */

/** No page shares a process with another, so that one can be killed alone, and none is started for later. */
const prefs = { "dom.ipc.processCount": 16, "dom.ipc.processCount.webIsolated": 16, "dom.ipc.processPrelaunch.enabled": false }

/** Firefox, headless: Debian's, or what SKEIN_FIREFOX names. */
export async function openFirefox(): Promise<Desk> {
  const executablePath = program("Firefox", "SKEIN_FIREFOX", ["firefox-esr", "firefox"])
  const content = await script()
  const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true, extraPrefsFirefox: prefs, timeout: 60_000 })
  return {
    profile: async (http, posted = () => undefined) => {
      const context = await browser.createBrowserContext()
      const open = async (): Promise<Tab> => {
        const before = new Set(pagesOf(browser))
        const page = await context.newPage()
        page.setDefaultTimeout(60_000)
        page.on("console", (m) => hear(m.text(), posted))
        await page.evaluateOnNewDocument(content)
        await page.goto(http + pagePath)
        const mine = pagesOf(browser).filter((pid) => !before.has(pid))
        return {
          run: (f, a) => page.evaluate(f as never, a) as Promise<never>,
          until: async (f, a) => void (await page.waitForFunction(f as never, { polling: 100 }, a)),
          close: () => page.close(),
          crash: () => kill(page, mine.filter((pid) => pagesOf(browser).includes(pid))), // one of an empty page may have ended by itself
        }
      }
      return { open, close: () => context.close() }
    },
    close: () => browser.close(),
  }
}

/** kill -9 of the page's process: no command of BiDi lets a page crash. An empty page takes its place. */
async function kill(page: Page, pids: readonly number[]): Promise<void> {
  assert.ok(pids.length > 0, "the page has a process of its own, which Linux tells of in /proc")
  for (const pid of pids) process.kill(pid, "SIGKILL")
  let late: ReturnType<typeof setTimeout> | undefined
  const silent = new Promise<string>((done) => (late = setTimeout(() => done("silent"), 2000)))
  const left = await Promise.race([page.evaluate("typeof skein").catch(() => "gone"), silent])
  clearTimeout(late)
  assert.notEqual(left, "object", "the page is gone with its process")
}

/** The processes of the browser that have pages in them. */
function pagesOf(browser: Browser): number[] {
  const root = browser.process()?.pid
  if (!existsSync("/proc")) return [] // no Linux
  const parents = new Map(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => [Number(name), parentOf(name)]))
  const below = (pid: number | undefined): boolean => pid !== undefined && pid !== 0 && (pid === root || below(parents.get(pid)))
  return [...parents.keys()].filter((pid) => pid !== root && below(pid) && /[\0 ]tab\0*$/.test(readOr(`/proc/${pid}/cmdline`)))
}

/** What `PPid` says in the status of a process; 0 once it is gone. */
const parentOf = (pid: string): number => Number(/^PPid:\s*(\d+)/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? 0)

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return "" // the process has ended
  }
}
