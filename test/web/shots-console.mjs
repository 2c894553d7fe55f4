// Pictures of the console for docs/screens: node shots-console.mjs [DIRECTORY] [all]. With `all` every page, some also dark, Chinese
// and on a phone, to be looked at; otherwise those that the documents show.
import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Browser, desktop, phone } from "./browser.mjs"
import { adminKey, crowd, staff } from "./console.mjs"
import { Server } from "./server.mjs"

const into = process.argv[2] ?? fileURLToPath(new URL("../../docs/screens", import.meta.url))
const all = process.argv.includes("all")
mkdirSync(into, { recursive: true })
const server = await Server.open()
const browser = await Browser.open()
try {
  execFileSync(process.execPath, [fileURLToPath(new URL("fill.mjs", import.meta.url)), server.url], { stdio: "inherit" })
  const call = (method, body, token) => server.call(method, body, token)
  const key = adminKey(server)
  const olga = await staff(server, "olga", "Olga Lindqvist", "OWNER")
  const mona = await staff(server, "mona", "Mona Reyes", "MODERATOR")
  await staff(server, "aude", "Aude Lefèvre", "AUDITOR")
  await crowd(server, 120)
  // A day in the life of moderators.
  const eve = await server.register("bargains", "Best Bargains")
  const rude = await server.register("grumpy", "Gus Grump")
  const jo = await server.register("jopark", "Jo Park")
  const kim = await server.register("kimsato", "Kim Sato")
  for (const u of [eve, rude, kim]) {
    await call("ContactService/RequestContact", { user: u.user }, jo.token)
    await call("ContactService/AcceptContact", { user: jo.user }, u.token)
  }
  const { group } = await call("GroupService/CreateGroup", { name: "Neighbours of Elm Street", members: [eve.user, rude.user, kim.user] }, jo.token)
  let n = 0
  const say = (who, text) => call("MessageService/SendMessage", { conversation: group.conversation, id: `00000000-0000-7000-8000-${String(++n).padStart(12, "0")}`, content: { type: "text", text } }, who.token)
  await say(jo, "Does anybody have a ladder I can borrow on Saturday?")
  await say(kim, "I do! It is in the shed, just come by.")
  await say(eve, "LADDERS 70 % OFF!!! only today → bargains.example/ladders?ref=elm\nAlso phones, watches, loans. Ask me!")
  await say(kim, "…")
  await say(jo, "Please don’t post ads here.")
  await say(rude, "mind your own business, nobody asked you, you are the worst neighbour here")
  await say(kim, "Wow.")
  const { entries } = await call("MessageService/ListEntries", { conversation: group.conversation, from: "1", limit: 50 }, jo.token)
  const seqOf = (text) => entries.find((e) => e.content?.text?.startsWith(text)).seq
  await call("MessageService/ReportMessage", { conversation: group.conversation, seq: seqOf("LADDERS"), reason: "REPORT_REASON_SPAM", text: "Third time this week, always with other links." }, jo.token)
  await call("MessageService/ReportMessage", { conversation: group.conversation, seq: seqOf("mind"), reason: "REPORT_REASON_ABUSE", text: "He talks like this to everybody." }, kim.token)
  await call("AdminService/AddFilterRule", { rule: { kind: "FILTER_KIND_LINK", pattern: "bargains.example", action: "FILTER_ACTION_REPORT", note: "Third wave this month" } }, olga.token)
  await call("AdminService/AddFilterRule", { rule: { kind: "FILTER_KIND_WORD", pattern: "quick loan", action: "FILTER_ACTION_REFUSE", scope: "FILTER_SCOPE_STRANGERS", exempt: "SERVER_ROLE_MODERATOR" } }, olga.token)
  if (all) await call("AdminService/Announce", { level: "ANNOUNCEMENT_LEVEL_WARNING", text: "Maintenance on Saturday from 22:00 to 23:00 UTC.", texts: [{ language: "zh-CN", text: "星期六 22:00 至 23:00（UTC）维护。" }], untilMs: String(Date.now() + 3 * 86_400_000) }, olga.token)
  await call("AdminService/CreateRegistrationLink", { note: "New people on Elm Street", maxUses: 20 }, key)
  await call("AdminService/CreateRegistrationLink", { note: "Summer camp" }, key)
  for (const [i, who] of ["person-00004", "person-00009", "person-00031"].entries()) await call("AdminService/BanUser", { user: who, reason: "advertising", untilMs: i === 1 ? "0" : String(Date.now() + 3 * 86_400_000) }, mona.token)
  await call("AdminService/SetDisabled", { user: "person-00002", disabled: true }, olga.token)
  await call("AdminService/SetUsername", { user: kim.user, username: "kim.sato" }, olga.token)
  await call("AdminService/CreateResetLink", { user: jo.user }, olga.token)
  for (let i = 0; i < 4; i++) await call("AccountService/Login", { username: "olga", password: "guess", device: { id: "guess", class: "DEVICE_CLASS_OTHER" } }).catch(() => undefined)
  await new Promise((r) => setTimeout(r, 2500)) // who failed to sign in is written within two seconds
  const { reports } = await call("AdminService/ListReports", {}, olga.token)
  const spam = reports.find((r) => r.reason === "REPORT_REASON_SPAM").id

  const pages = { overview: "/admin/overview", health: "/admin/health", filters: "/admin/filters", announcements: "/admin/announcements", users: "/admin/users", user: `/admin/users/${jo.user}`, groups: "/admin/groups", group: `/admin/groups/${group.conversation}`, reports: "/admin/reports", report: `/admin/reports/${spam}`, audit: "/admin/audit", links: "/admin/links", place: "/admin/place", retention: "/admin/retention", stickers: "/admin/stickers" }
  const enter = async (options) => {
    const page = await (await browser.profile(options)).newPage()
    await page.goto(`${server.url}/login`)
    await page.locator("input").first().fill("olga")
    await page.locator("input[type=password]").fill("correct horse battery")
    await page.locator("form button[type=submit]").click()
    await page.locator("nav a, [data-pane]").first().waitFor()
    await page.waitForTimeout(1000)
    return page
  }
  const shot = async (page, path, name) => {
    await page.goto(server.url + path)
    await page.locator("h1:visible, h2:visible").first().waitFor()
    await page.waitForTimeout(900)
    await page.screenshot({ path: `${into}/${name}.png` })
  }
  const big = { ...desktop, viewport: { width: 1360, height: 850 } }
  const light = await enter({ ...big, colorScheme: "light" })
  for (const name of all ? Object.keys(pages) : ["overview", "users", "report", "audit"]) await shot(light, pages[name], `console-${name}`)
  await light.goto(`${server.url}${pages.user}`)
  await light.getByRole("button", { name: "Ban…" }).click()
  await light.waitForTimeout(800)
  if (all) await light.screenshot({ path: `${into}/console-ban.png` })
  const dark = await enter({ ...big, colorScheme: "dark" })
  for (const name of all ? ["overview", "users", "user", "report", "audit"] : ["overview"]) await shot(dark, pages[name], `console-${name}-dark`)
  const chinese = await enter({ ...big, locale: "zh-CN", colorScheme: "light" })
  for (const name of all ? ["users", "user", "audit"] : ["users"]) await shot(chinese, pages[name], `console-${name}-zh`)
  const small = await enter({ ...phone, colorScheme: "light" })
  if (all) await shot(small, "/admin", "console-phone-nav")
  for (const name of all ? ["overview", "health", "filters", "announcements", "users", "user", "reports", "report", "audit", "stickers"] : ["reports"]) await shot(small, pages[name], `console-${name}-phone`)
} finally {
  await browser.close().catch((e) => console.error(e.message))
  await server.stop()
}
