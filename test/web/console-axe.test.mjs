// No violation of accessibility on any page of the console, nor in its dialogs.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { violations } from "./axe.mjs"
import { Browser, desktop, phone } from "./browser.mjs"
import { staff } from "./console.mjs"
import { befriend, logIn } from "./people.mjs"
import { Server } from "./server.mjs"

let server, browser, bob, group, report

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  const olga = await staff(server, "olga", "Olga Owner", "OWNER")
  bob = await server.register("bob", "Bob Ray")
  const eve = await server.register("eve", "Eve")
  await befriend(server, bob, eve)
  group = (await server.call("GroupService/CreateGroup", { name: "Geese", members: [eve.user] }, bob.token)).group.conversation
  await server.call("MessageService/SendMessage", { conversation: group, id: "00000000-0000-7000-8000-000000000001", content: { type: "text", text: "buy **this** https://example.com" } }, eve.token)
  const { entries } = await server.call("MessageService/ListEntries", { conversation: group, from: "1", limit: 10 }, bob.token)
  const seq = entries.find((e) => e.kind === "ENTRY_KIND_MESSAGE").seq
  await server.call("MessageService/ReportMessage", { conversation: group, seq, reason: "REPORT_REASON_SPAM", text: "again" }, bob.token)
  report = (await server.call("AdminService/ListReports", {}, olga.token)).reports[0].id
  await server.call("AdminService/BanUser", { user: eve.user, reason: "spam" }, olga.token)
  await server.call("AdminService/CreateRegistrationLink", { note: "for the choir" }, olga.token)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

const screens = () => ["/admin", "/admin/overview", "/admin/health", "/admin/filters", "/admin/announcements", "/admin/users", "/admin/users?q=nobody", `/admin/users/${bob.user}`, "/admin/groups", `/admin/groups/${group}`, "/admin/reports", "/admin/reports?state=dismissed", `/admin/reports/${report}`,
  "/admin/audit", "/admin/audit?kind=sign-in", "/admin/links", "/admin/place", "/admin/retention", "/admin/stickers", "/admin/nothing"]

/** What is opened above a page: its address, and the button. */
const above = () => [[`/admin/users/${bob.user}`, "Ban…"], [`/admin/users/${bob.user}`, "Delete…"], [`/admin/groups/${group}`, "Close…"], ["/admin/audit", "Export"], ["/admin/links", "New link"], ["/admin/users", "New user"], ["/admin/filters", "New rule"], ["/admin/announcements", "New announcement"], ["/admin/stickers", "New pack"], ["/admin/stickers", "New emoji"]]

for (const [name, options] of [["light", { ...desktop, colorScheme: "light" }], ["dark", { ...desktop, colorScheme: "dark" }], ["phone", phone]]) {
  test(`no violation of accessibility on any page of the console: ${name}`, async () => {
    const profile = await browser.profile({ ...options, bypassCSP: true }) // the policy would refuse axe itself
    const page = await profile.newPage()
    await logIn(page, server.url, "olga")
    const found = []
    for (const path of screens()) {
      await page.goto(server.url + path)
      await page.locator("h1:visible, h2:visible").first().waitFor().catch((e) => assert.fail(`${path}: it has no heading: ${e.message}`))
      found.push(...await violations(page, path))
    }
    for (const [path, button] of above()) {
      await page.goto(server.url + path)
      await page.getByRole("button", { name: button, exact: true }).first().click()
      await page.getByRole("dialog").waitFor()
      found.push(...await violations(page, `${path} ${button}`))
    }
    await profile.close()
    assert.deepEqual(found, [])
  })
}
