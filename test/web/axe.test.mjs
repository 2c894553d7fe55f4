import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { violations } from "./axe.mjs"
import { Browser, desktop, phone } from "./browser.mjs"
import { befriend, dm, logIn } from "./people.mjs"
import { Server } from "./server.mjs"

let server, browser, conversation, group

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  const ann = await server.register("ann", "Ann Lee")
  const bob = await server.register("bob", "Bob Ray")
  await befriend(server, ann, bob)
  conversation = dm(ann.user, bob.user)
  const made = await server.call("GroupService/CreateGroup", { name: "Geese", members: [bob.user] }, ann.token)
  group = made.group.conversation ?? made.group.id
  for (const [i, to] of [conversation, group].entries()) {
    await server.call("MessageService/SendMessage", { conversation: to, id: `00000000-0000-7000-8000-00000000000${i}`, content: { type: "text", text: "hello **you**, see https://example.com" } }, bob.token)
  }
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** Every screen by its address, and what stands on it once it is there. */
const screens = () => ["/", `/c/${conversation}`, `/c/${group}`, `/c/${group}/details`, `/c/${conversation}/details`, "/people", "/new-group", "/search?q=hello",
  "/settings/profile", "/settings/account", "/settings/devices", "/settings/privacy", "/settings/notifications", "/settings/appearance"]

for (const [name, options] of [["light", { ...desktop, colorScheme: "light" }], ["dark", { ...desktop, colorScheme: "dark" }], ["phone", phone]]) {
  test(`no violation of accessibility on any screen: ${name}`, async () => {
    const profile = await browser.profile({ ...options, bypassCSP: true }) // the policy would refuse axe itself
    const page = await profile.newPage()
    await page.goto(`${server.url}/register`)
    await page.getByLabel("Password", { exact: true }).waitFor()
    const found = await violations(page, "/register")
    await logIn(page, server.url, "ann")
    for (const path of screens()) {
      await page.goto(server.url + path)
      await page.locator("h1:visible, article:visible").first().waitFor().catch((e) => assert.fail(`${path}: it has no heading: ${e.message}`))
      found.push(...await violations(page, path))
    }
    await profile.close()
    assert.deepEqual(found, [])
  })
}
