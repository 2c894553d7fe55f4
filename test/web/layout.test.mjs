import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, phone } from "./browser.mjs"
import { staff } from "./console.mjs"
import { befriend, dm, logIn, message, open } from "./people.mjs"
import { Server } from "./server.mjs"

// Where things stand: what a picture of a screen would show, by the boxes of what is on it.
const long = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauamt"

let server, browser, ann, bob, chat, n

before(async () => {
  n = 0
  server = await Server.open()
  browser = await Browser.open()
  ann = await staff(server, "ann", "Ann Lee", "OWNER")
  bob = await server.register("bob", long)
  await befriend(server, ann, bob)
  chat = dm(ann.user, bob.user)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

const say = (text, more = {}) => server.call("MessageService/SendMessage", { conversation: chat, id: `00000000-0000-7000-8000-${String(++n).padStart(12, "0")}`, content: { type: "text", text }, ...more }, bob.token)

async function at(path, options) {
  const page = await (await browser.profile(options)).newPage()
  await logIn(page, server.url, "ann")
  if (path !== "/") await page.goto(server.url + path)
  return page
}

const box = (locator) => locator.evaluate((e) => (({ left, right, top, bottom }) => ({ left, right, top, bottom }))(e.getBoundingClientRect()))

/** The lines of a text, each as a box. */
const lines = (locator) => locator.evaluate((e) => {
  const all = document.createRange()
  all.selectNodeContents(e)
  return [...all.getClientRects()].map(({ left, right, top, bottom }) => ({ left, right, top, bottom }))
})

const overlap = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5

test("the details lie over the conversation where there is room for two panes, and nothing else moves", async () => {
  await say("hello")
  const page = await at("/", { viewport: { width: 1024, height: 768 } })
  await open(page, server.url, chat)
  const list = page.getByRole("region", { name: "Conversations" })
  const main = page.locator("main")
  const before = [await box(list), await box(main)]
  await page.goto(`${server.url}/c/${chat}/details`)
  const aside = page.getByRole("complementary", { name: "Details" })
  await aside.getByRole("heading", { name: long }).waitFor()
  assert.deepEqual([await box(list), await box(main)], before)
  const over = await box(aside)
  assert.deepEqual([over.right, over.top, over.bottom], [1024, 0, 768])
  await page.context().close()
})

test("the time of a message is on none of its words, whichever way they are written", async () => {
  const texts = ["مرحبا بالجميع! هذه رسالة طويلة بعض الشيء لرؤية كيفية عرض النص من اليمين إلى اليسار، مع بعض الكلمات English inside و أرقام 12345.", "مرحبا", "a text from left to right that is long enough to need a second line in the bubble, and then some more words"]
  for (const text of texts) await say(text)
  await say("1. אחת\n2. שתיים")
  for (const options of [{ viewport: { width: 1280, height: 800 } }, phone]) {
    const page = await at("/", options)
    await open(page, server.url, chat)
    for (const text of texts) {
      const one = message(page, text).last()
      const time = await box(one.locator("time"))
      for (const line of await lines(one.locator("p").last())) assert.ok(!overlap(line, time), `${text.slice(0, 20)}: ${JSON.stringify({ line, time })}`)
    }
    const item = message(page, "שתיים").locator("li").first()
    assert.equal(await item.evaluate((e) => getComputedStyle(e).direction), "rtl", "its number stands at the right")
    await page.context().close()
  }
})

test("a long name stays within its line where people are chosen for a group", async () => {
  const page = await at("/new-group", phone)
  const pick = page.getByRole("checkbox", { name: long })
  const edge = await box(pick.locator("[aria-hidden]").last())
  for (const line of await lines(pick.locator("bdi"))) assert.ok(line.right <= edge.left, JSON.stringify({ line, edge }))
  await page.context().close()
})

test("a long name of a group is cut with dots where a message is forwarded", async () => {
  await server.call("GroupService/CreateGroup", { name: `${long.slice(0, 40)} ${"x".repeat(20)}`, members: [bob.user] }, ann.token)
  await say("to be forwarded")
  const page = await at("/", { viewport: { width: 1280, height: 800 } })
  await open(page, server.url, chat)
  await message(page, "to be forwarded").click({ button: "right" })
  await page.getByRole("menuitem", { name: "Forward" }).click()
  const list = page.getByRole("dialog").getByRole("group", { name: "Conversations" })
  const name = list.getByRole("checkbox", { name: long.slice(0, 40) }).first()
  await name.waitFor()
  assert.ok((await box(name)).right <= (await box(list)).right, "it ends where the list does")
  await page.context().close()
})

test("where the system gives the colours a bubble and the conversation that is open are told by lines", async () => {
  const page = await at("/", { viewport: { width: 1280, height: 800 }, forcedColors: "active" })
  await open(page, server.url, chat)
  const outline = (of) => of.evaluate((e) => getComputedStyle(e).outlineStyle)
  const bubble = page.locator("article[data-seq] p").last().locator("xpath=../..")
  assert.equal(await outline(bubble), "solid")
  assert.equal(await outline(page.getByRole("region", { name: "Conversations" }).locator("a[aria-current=page]").first()), "solid")
  await page.context().close()
})

test("from an address where nothing is a phone leads on", async () => {
  const page = await at("/nothing/here", phone)
  await page.getByRole("heading", { name: "Page not found" }).waitFor()
  await page.getByRole("link", { name: "Chats" }).click()
  await page.getByRole("heading", { name: "Chats" }).waitFor()
  await page.context().close()
})

test("a mark in a table of the console stands in one line in Chinese", async () => {
  const page = await at("/", { viewport: { width: 1024, height: 768 } })
  await page.evaluate(() => localStorage.setItem("skein.pref.language", "zh-CN"))
  await page.goto(`${server.url}/admin/audit`)
  const mark = page.locator("tbody td:last-child span").first()
  await mark.filter({ hasText: "完成" }).waitFor()
  assert.equal((await lines(mark)).length, 1)
  const { scroll, seen } = await page.locator("table").evaluate((e) => ({ scroll: e.parentElement.scrollWidth, seen: e.parentElement.clientWidth }))
  assert.ok(scroll <= seen, `the table is wider than its place: ${scroll} of ${seen}`)
  await page.context().close()
})

test("times are written as where the reader is", async () => {
  const says = async (locale) => {
    const page = await at("/", { viewport: { width: 1280, height: 800 }, locale, timezoneId: "UTC" })
    await open(page, server.url, chat)
    const time = page.locator("article[data-seq] time").last()
    const text = await time.innerText()
    await page.context().close()
    return text
  }
  assert.match(await says("en-GB"), /^\d\d:\d\d$/)
  assert.match(await says("en-US"), /^\d{1,2}:\d\d\s[AP]M$/)
})
