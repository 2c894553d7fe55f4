import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { befriend, composer, dm, enter, logIn, message, open, say } from "./people.mjs"
import { Server, until } from "./server.mjs"

let server, browser, ann, bob, conversation

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  const person = async (username) => {
    const p = await server.register(username)
    p.profile = await browser.profile()
    p.page = await p.profile.newPage()
    await logIn(p.page, server.url, username)
    return p
  }
  ann = await person("ann")
  bob = await person("bob")
  await befriend(server, ann, bob)
  conversation = dm(ann.user, bob.user)
  await Promise.all([open(ann.page, server.url, conversation), open(bob.page, server.url, conversation)])
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** The sequence numbers and texts that a page shows, in the order of the page. */
async function shown(page, prefix) {
  const rows = await page.getByRole("region", { name: "Messages" }).locator("article[data-seq]").evaluateAll((all) => all.map((r) => r.textContent ?? ""))
  return rows.flatMap((r) => new RegExp(`${prefix} \\d+\\.`).exec(r)?.[0] ?? [])
}

/** Everything that begins with prefix is stored once, in order, and shown so in both pages. */
async function whole(pages, prefix, n) {
  const want = Array.from({ length: n }, (_, i) => `${prefix} ${i + 1}.`)
  for (const page of pages) {
    await until(`all ${n} are shown, once each, in order`, async () => (await shown(page, prefix)).join() === want.join(), 60_000).catch(async (e) => {
      assert.deepEqual(await shown(page, prefix), want, e.message)
    })
  }
  const stored = (await server.stored(conversation, ann.token)).map((e) => e.content?.text ?? "").filter((t) => t.startsWith(prefix))
  assert.deepEqual(stored, want)
}

test("the server is killed in the middle, three times: nothing lost, doubled, out of order", async () => {
  for (let n = 1; n <= 24; n++) {
    if (n % 8 === 0) {
      await server.kill()
      await say(ann.page, `kept ${n}.`)
      await server.start()
    } else await say(ann.page, `kept ${n}.`)
  }
  await whole([ann.page, bob.page], "kept", 24)
})

test("two tabs of one browser: both show the same; the leading one is closed in the middle", async () => {
  const second = await ann.profile.newPage()
  await open(second, server.url, conversation)
  const first = ann.page
  for (let n = 1; n <= 10; n++) await say(n % 2 === 0 ? first : second, `tab ${n}.`).then(() => message(second, `tab ${n}.`).first().waitFor())
  const closing = first.close()
  for (let n = 11; n <= 16; n++) await say(second, `tab ${n}.`)
  await closing
  ann.page = second
  await whole([second, bob.page], "tab", 16)
})

test("a session that is ended from elsewhere: the page says so, and keeps nothing", async () => {
  const { sessions } = await server.call("AccountService/ListSessions", {}, bob.token)
  const web = sessions.find((s) => s.device?.class === "DEVICE_CLASS_WEB")
  assert.ok(web, JSON.stringify(sessions))
  await server.call("AccountService/RevokeSession", { session: web.id }, bob.token)
  const again = bob.page.getByRole("button", { name: "Log in again" })
  await again.waitFor()
  assert.equal(await bob.page.getByRole("region", { name: "Messages" }).count(), 0)
  await again.click()
  await bob.page.getByRole("button", { name: "Log in", exact: true }).waitFor()
  const kept = await bob.page.evaluate(async () => ({ databases: (await indexedDB.databases()).map((d) => d.name), keys: Object.keys(localStorage) }))
  assert.deepEqual(kept.databases, [], "messages are left on the device")
  assert.ok(!JSON.stringify(kept.keys).includes("token"), kept.keys.join())
})

test("another tab has another version of the app: the page says to close it, tries again when asked, and goes on once it is closed", async () => {
  const cat = await server.register("cat")
  const profile = await browser.profile()
  const old = await profile.newPage()
  await old.goto(`${server.url}/api/docs`)
  await old.evaluate(async (name) => {
    await new Promise((held) => void navigator.locks.request(`skein-leader:${name}`, () => new Promise(() => held())))
    const common = new BroadcastChannel(`skein:${name}`)
    common.onmessage = ({ data }) => data.hello && common.postMessage({ skein: 0, refuse: data.hello })
    globalThis.kept = common
  }, `skein-${cat.user}`)
  const page = await profile.newPage()
  await enter(page, server.url, "cat")
  const said = page.getByText("Close the other tabs with Skein, then try again.")
  await said.waitFor()
  const again = page.waitForEvent("domcontentloaded", { timeout: 30_000 })
  await page.getByRole("button", { name: "Try again" }).click()
  await again
  await said.waitFor()
  await old.close()
  await page.getByRole("heading", { name: "Chats" }).waitFor()
  await profile.close()
})
