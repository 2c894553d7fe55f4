import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { payloads } from "./payloads.mjs"
import { befriend, dm, logIn, open } from "./people.mjs"
import { Server, until } from "./server.mjs"

let server, browser, ann, mal, page, ran
const contents = (p) => [
  ["text", { type: "text", text: p }],
  ["an unknown type's fallback", { type: "x-evil", fallback: p, data: Buffer.from(JSON.stringify({ html: p })).toString("base64") }],
]

before(async () => {
  server = await Server.open(["accounts.dm_policy=everyone", "gateway.send_burst=500", "gateway.send_rate=200"])
  browser = await Browser.open()
  ann = await server.register("ann")
  mal = await server.register("mal")
  await befriend(server, ann, mal)
  const profile = await browser.profile()
  ran = []
  await profile.exposeFunction("canary", (n) => ran.push(n))
  page = await profile.newPage()
  await logIn(page, server.url, "ann")
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

test(`${payloads.length} payloads in messages, names, groups, polls, nicknames: shown as text, none is executed`, async () => {
  let n = 0
  const send = async (conversation, content, more = {}) => {
    const id = `00000000-0000-7000-8000-${String(++n).padStart(12, "0")}`
    return server.call("MessageService/SendMessage", { conversation, id, content, ...more }, mal.token)
  }
  const conversation = dm(ann.user, mal.user)
  const made = await server.call("GroupService/CreateGroup", { name: "plain", members: [ann.user] }, mal.token)
  const group = made.group.conversation ?? made.group.id
  for (const p of payloads) {
    for (const [, content] of contents(p)) await send(conversation, content)
    await send(group, { type: "text", text: p })
  }
  // Names and texts of people and groups: each place takes what its rules let through.
  const refused = []
  const attempt = async (what, method, body) => server.call(method, body, mal.token).catch((e) => refused.push(`${what}: ${e.message}`))
  for (const p of payloads.slice(0, 8)) {
    await attempt("name", "UserService/UpdateProfile", { displayName: p.slice(0, 60), about: p })
    await attempt("group", "GroupService/UpdateGroup", { conversation: group, name: p.slice(0, 60), description: p, announcement: p })
    await attempt("nickname", "GroupService/SetNickname", { conversation: group, nickname: p.slice(0, 30) })
  }
  for (const at of [conversation, group]) {
    await open(page, server.url, at)
    const messages = page.getByRole("region", { name: "Messages" })
    await messages.locator("article[data-seq]").last().waitFor()
    for (let i = 0; i < 30; i++) {
      await messages.evaluate((m) => m.scrollTo(0, 0))
      if ((await messages.innerText()).includes("<script>canary(1)</script>")) break
      await page.waitForTimeout(100)
    }
    assert.ok((await messages.innerText()).includes("<script>canary(1)</script>"), "the payload is not shown as it was written")
    const hrefs = await messages.locator("a[href]").evaluateAll((all) => all.map((a) => a.getAttribute("href")))
    for (const h of hrefs) assert.match(h, /^(https?:|mailto:|\/)/, "a link that is none")
    await page.goto(`${server.url}/c/${at}/details`)
    await page.getByRole("button", { name: "Details" }).waitFor()
    await page.waitForTimeout(300)
  }
  await page.goto(`${server.url}/search?q=canary`)
  await until("search shows something", async () => (await page.innerText("body")).includes("canary"))
  assert.deepEqual(ran, [], "executed")
})

test("the page's policy: no inline script, nothing of another origin, Trusted Types", async () => {
  const r = await fetch(`${server.url}/`, { headers: { accept: "text/html" } })
  const policy = r.headers.get("content-security-policy") ?? ""
  for (const want of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'", "base-uri 'none'"]) {
    assert.ok(policy.includes(want), `${want} is not in ${policy}`)
  }
  assert.ok(!/unsafe-(inline|eval)/.test(policy), policy)
  assert.equal(browser.faults.length, 0, browser.faults.join("\n"))
  assert.equal(await page.evaluate(() => { try { document.body.innerHTML = "<b>x</b>"; return "set" } catch { return "refused" } }), "refused")
  await until("the browser has told of it", () => browser.faults.some((f) => f.includes("require-trusted-types-for")))
  browser.faults = [] // those two were asked for
})
