// Threads in the app (SPEC §4.36): what one says in a thread the other sees there, and its root counts it.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, desktop, phone } from "./browser.mjs"
import { befriend, dm, logIn, message, open, say } from "./people.mjs"
import { Link, Server, until } from "./server.mjs"

let server, browser, link, ann, bob, chat, root

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  link = await Link.open(server) // Ann comes by it
  const person = async (username, name, options) => {
    const p = await server.register(username, name)
    p.page = await (await browser.profile(options)).newPage()
    await logIn(p.page, username === "ann" ? link.url : server.url, username)
    return p
  }
  ann = await person("ann", "Ann Lee", { viewport: { width: 1440, height: 900 } })
  bob = await person("bob", "Bob Ray", desktop)
  await befriend(server, ann, bob)
  chat = dm(ann.user, bob.user)
  await Promise.all([open(ann.page, link.url, chat), open(bob.page, server.url, chat)])
})

after(async () => {
  await browser?.close()
  await link?.close()
  await server?.stop()
})

const pane = (page) => page.getByRole("complementary", { name: "Thread" }).or(page.getByRole("main", { name: "Thread" })) // on a phone it is the main part
const field = (page) => pane(page).getByPlaceholder("Reply in thread", { exact: true })
const reply = async (page, text) => {
  await field(page).fill(text)
  await field(page).press("Enter")
}
const thread = (token) => server.call("MessageService/ListThread", { conversation: chat, seq: root }, token)
const inPane = (page, text) => pane(page).getByRole("article").filter({ hasText: text })

test("a reply is said in the thread, counted at its root, and heard by the other at once", async () => {
  await say(ann.page, "who brings the tea?")
  await message(bob.page, "who brings the tea?").hover()
  await message(bob.page, "who brings the tea?").getByRole("button", { name: "Reply in thread" }).click()
  await bob.page.waitForURL(/\/t\/\d+$/)
  root = /(\d+)$/.exec(bob.page.url())[1]
  await pane(bob.page).getByText("No replies yet").waitFor()
  await reply(bob.page, "I do")
  await inPane(bob.page, "I do").getByRole("img", { name: "Sent" }).waitFor()
  await message(ann.page, "who brings the tea?").getByRole("link", { name: "1 reply" }).click()
  await inPane(ann.page, "I do").waitFor()
  await reply(ann.page, "**thank** you")
  await inPane(bob.page, "thank you").waitFor()
  await pane(bob.page).getByText("2 replies").waitFor()
  const line = (page) => page.getByRole("main").getByRole("article")
  for (const p of [ann, bob]) assert.equal(await line(p.page).filter({ hasText: "I do" }).count(), 0, "a reply stands in its thread alone")
  await line(bob.page).getByRole("link", { name: "2 replies" }).waitFor()
})

test("an edit, a reaction and a recall are seen in the open pane", async () => {
  await inPane(bob.page, "I do").hover()
  await inPane(bob.page, "I do").getByRole("button", { name: "Edit" }).click()
  await field(bob.page).fill("I do, green")
  await field(bob.page).press("Enter")
  await inPane(ann.page, "I do, green").waitFor()
  const [{ seq }] = (await thread(ann.token)).entries
  await server.call("MessageService/ReactToMessage", { conversation: chat, seq, reaction: "🍵" }, ann.token)
  await inPane(bob.page, "I do, green").getByRole("button", { name: "🍵" }).waitFor()
  await reply(bob.page, "a slip")
  await inPane(ann.page, "a slip").waitFor()
  const { entries } = await thread(bob.token)
  await server.call("MessageService/RecallMessage", { conversation: chat, seq: entries.at(-1).seq }, bob.token)
  await inPane(ann.page, "a slip").waitFor({ state: "detached" })
  await pane(ann.page).getByText("2 replies").waitFor()
})

test("what is seen is read; following is ended and begun", async () => {
  await ann.page.bringToFront()
  await until("Ann has read the thread", async () => ((await thread(ann.token)).thread.unread ?? 0) === 0)
  await pane(ann.page).getByRole("button", { name: "Unfollow" }).click()
  await pane(ann.page).getByRole("button", { name: "Follow", exact: true }).waitFor()
  assert.equal((await thread(ann.token)).thread.follows ?? false, false)
  await pane(ann.page).getByRole("button", { name: "Follow", exact: true }).click()
  await pane(ann.page).getByRole("button", { name: "Unfollow" }).waitFor()
  assert.equal((await thread(ann.token)).thread.follows, true)
})

test("without a connection a reply waits, and what was missed is there after it", async () => {
  link.cut()
  await reply(ann.page, "from the tunnel")
  await inPane(ann.page, "from the tunnel").getByRole("img", { name: "Waiting" }).waitFor()
  await reply(bob.page, "meanwhile")
  await until("it is stored", async () => (await thread(bob.token)).entries.some((e) => e.content.text === "meanwhile"))
  link.mend()
  await inPane(ann.page, "meanwhile").waitFor({ timeout: 30_000 })
  await inPane(bob.page, "from the tunnel").waitFor({ timeout: 30_000 })
  assert.equal((await thread(bob.token)).entries.filter((e) => e.content.text === "from the tunnel").length, 1)
})

test("a long thread is read in pages, back to its first reply; its list leads to it", async () => {
  for (let i = 1; i <= 70; i++) await server.call("MessageService/SendMessage", { conversation: chat, thread: root, content: { type: "text", text: `cup ${i}` } }, bob.token)
  await ann.page.goto(`${link.url}/c/${chat}/details?threads`)
  await ann.page.getByRole("button", { name: "who brings the tea?" }).click()
  await inPane(ann.page, "cup 70").waitFor()
  assert.equal(await inPane(ann.page, "I do, green").count(), 0)
  await until("the first reply is there", async () => {
    await pane(ann.page).getByRole("region", { name: "Messages of the thread" }).evaluate((e) => (e.scrollTop = 0))
    return (await inPane(ann.page, "I do, green").count()) > 0
  })
})

test("on a phone the thread has the whole screen; one that is not there says so", async () => {
  const page = await (await browser.profile(phone)).newPage()
  await logIn(page, server.url, "bob")
  await page.goto(`${server.url}/c/${chat}/t/${root}`)
  await inPane(page, "cup 70").waitFor()
  const box = await pane(page).boundingBox()
  assert.ok(box.width === 390 && box.x === 0, JSON.stringify(box))
  await page.goto(`${server.url}/c/${chat}/t/99999`)
  await pane(page).getByRole("alert").getByRole("button", { name: "Try again" }).waitFor()
})
