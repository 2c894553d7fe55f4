import assert from "node:assert/strict"
import { connect, createServer } from "node:net"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { befriend, dm, logIn, message, open } from "./people.mjs"
import { Server, until } from "./server.mjs"

// A browser that knows nothing yet opens a conversation with more unread than a page of it.
const unread = 130

let server, browser, slow, ann, bob, chat, n

before(async () => {
  n = 0
  server = await Server.open(["gateway.send_burst=1000", "gateway.send_rate=1000"])
  browser = await Browser.open()
  slow = await late(server, 400)
  ann = await server.register("ann", "Ann Lee")
  bob = await server.register("bob", "Bob Ray")
  await befriend(server, ann, bob)
  chat = dm(ann.user, bob.user)
  for (let i = 0; i < 90; i++) await say(`read ${i}`)
  const { seq } = await say("the last that was read")
  await server.call("MessageService/MarkRead", { conversation: chat, seq }, ann.token)
  for (let i = 0; i < unread; i++) await say(`unread ${i}`)
})

after(async () => {
  await browser?.close()
  await slow?.close()
  await server?.stop()
})

const send = (content, more = {}) => server.call("MessageService/SendMessage", { conversation: chat, id: `00000000-0000-7000-8000-${String(++n).padStart(12, "0")}`, content, ...more }, bob.token)
const say = (text) => send({ type: "text", text })
const count = async () => Number((await server.call("MessageService/ListConversations", {}, ann.token)).delta.conversations.find((c) => c.conversation === chat).unread ?? 0)

/** A way to the server on which everything comes that much later. */
async function late(to, ms) {
  const { hostname, port } = new URL(to.url)
  const sockets = new Set()
  const listener = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, other] of [[near, far], [far, near]]) {
      sockets.add(from)
      from.on("error", () => undefined)
      from.on("close", () => (sockets.delete(from), other.destroy()))
    }
    near.pipe(far)
    far.on("data", (part) => setTimeout(() => near.write(part), ms))
  })
  await new Promise((done) => listener.listen(0, "127.0.0.1", done))
  return { url: `http://127.0.0.1:${listener.address().port}`, close: () => new Promise((done) => (sockets.forEach((s) => s.destroy()), listener.close(done))) }
}

test("it opens above what is unread, and only what was seen is read, however slow the network is", async () => {
  const page = await (await browser.profile()).newPage()
  await logIn(page, slow.url, "ann")
  await open(page, slow.url, chat)
  const line = page.getByRole("separator", { name: "Unread" }).or(page.getByRole("separator").filter({ hasText: "Unread" })).first()
  await line.waitFor()
  await page.getByText("unread 0", { exact: true }).waitFor()
  await until("what is seen is read", async () => (await count()) < unread)
  await page.waitForTimeout(1500) // longer than what is seen takes to be told by this way
  const top = await line.evaluate((e) => e.getBoundingClientRect().top)
  assert.ok(top > 50 && top < 400, `the line is at ${top}`)
  assert.ok((await count()) > unread - 40, `unread: ${await count()}`)
  await page.context().close()
})

test("who looks at somebody's profile from a conversation is led back to it", async () => {
  const page = await (await browser.profile()).newPage()
  await logIn(page, server.url, "ann")
  const { group } = await server.call("GroupService/CreateGroup", { name: "Geese", members: [bob.user] }, ann.token)
  await server.call("MessageService/SendMessage", { conversation: group.conversation, id: "00000000-0000-7000-8000-0000000fffff", content: { type: "text", text: "hello" } }, bob.token)
  await open(page, server.url, group.conversation)
  for (const back of [() => page.keyboard.press("Escape"), () => page.getByRole("button", { name: "Back" }).click()]) {
    await message(page, "hello").getByRole("button", { name: "Bob Ray" }).first().click()
    await page.getByRole("heading", { name: "Profile" }).waitFor()
    await back()
    await message(page, "hello").waitFor()
  }
  await page.context().close()
})

test("a message that was jumped to stays where it is while what stands above comes to its height", async () => {
  const texts = ["one", "two", "three", "four"]
  for (let i = 0; i < 6; i++) {
    const options = texts.map((text, k) => ({ id: String(k + 1), text }))
    await send({ type: "poll", text: JSON.stringify({ question: `poll ${i}?`, options }), fallback: "[poll]" }, { poll: { options: options.map(({ id }) => ({ id })) } })
  }
  const { seq } = await say("the one that is looked for")
  for (let i = 0; i < 60; i++) await say(`after ${i}`)
  const page = await (await browser.profile()).newPage()
  await logIn(page, server.url, "ann")
  await page.goto(`${server.url}/c/${chat}/m/${seq}`)
  const row = message(page, "the one that is looked for")
  await row.waitFor()
  await message(page, "poll 5?").getByText("four").waitFor()
  await page.waitForTimeout(500) // what is late is there
  const { top, height } = await row.evaluate((e) => (({ top, height }) => ({ top, height }))(e.getBoundingClientRect()))
  assert.ok(top > 150 && top + height < 500, `it is at ${top}`)
  await page.context().close()
})
