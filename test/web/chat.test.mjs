import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, phone } from "./browser.mjs"
import { befriend, composer, dm, logIn, message, open, register, say } from "./people.mjs"
import { png } from "./png.mjs"
import { Link, Server, until } from "./server.mjs"

// Three people and one server: Ann and Bob at desks, Cho on a phone.
let server, browser, link, ann, bob, cho

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  link = await Link.open(server) // Ann comes by it
  const person = async (username, name, options) => {
    const p = await server.register(username, name)
    p.profile = await browser.profile(options)
    p.page = await p.profile.newPage()
    await logIn(p.page, username === "ann" ? link.url : server.url, username)
    return p
  }
  ann = await person("ann", "Ann Lee")
  bob = await person("bob", "Bob Ray")
  cho = await person("cho", "Cho Min", phone)
  await befriend(server, ann, bob)
  await befriend(server, ann, cho)
  ann.bob = dm(ann.user, bob.user)
  await Promise.all([open(ann.page, link.url, ann.bob), open(bob.page, server.url, ann.bob)])
})

after(async () => {
  await browser?.close()
  await link?.close()
  await server?.stop()
})

test("what one says the other sees, with ticks; typing is shown", async () => {
  await until("Bob sees that she types", async () => { // that is said to who is there, and is gone after a while
    await composer(ann.page).pressSequentially("g")
    return bob.page.getByText("typing").first().waitFor({ timeout: 2000 }).then(() => true, () => false)
  })
  await composer(ann.page).fill("good morning")
  await composer(ann.page).press("Enter")
  await message(bob.page, "good morning").waitFor()
  await message(ann.page, "good morning").getByRole("img", { name: "Read" }).waitFor() // Bob has it open
  await say(bob.page, "hello Ann")
  await message(ann.page, "hello Ann").waitFor()
})

test("Enter sends, Shift+Enter breaks, and neither ends a word that an input method composes", async () => {
  await composer(ann.page).fill("one")
  await composer(ann.page).press("Shift+Enter")
  await composer(ann.page).pressSequentially("two")
  assert.equal(await composer(ann.page).inputValue(), "one\ntwo")
  await composer(ann.page).press("Enter")
  await message(bob.page, "one").filter({ hasText: "two" }).waitFor()

  const devtools = await ann.profile.newCDPSession(ann.page)
  await composer(ann.page).focus()
  await devtools.send("Input.imeSetComposition", { text: "nihao", selectionStart: 5, selectionEnd: 5 })
  // The Enter that takes the word from the input method's list comes while it composes.
  await composer(ann.page).evaluate((area) => {
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 229, isComposing: true, bubbles: true, cancelable: true }))
  })
  assert.equal(await message(ann.page, "nihao").count(), 0, "it was sent while it was composed")
  await devtools.send("Input.insertText", { text: "你好" })
  await composer(ann.page).press("Enter")
  await message(bob.page, "你好").waitFor()
})

test("commands behind a slash are offered and done, not sent; what is none is sent as it is", async () => {
  const { page } = ann
  const offers = page.getByRole("listbox", { name: "Suggestions" }).getByRole("option")
  await composer(page).pressSequentially("/")
  await offers.first().waitFor()
  assert.deepEqual((await offers.allTextContents()).map((x) => x.split("/")[1].match(/^[a-z]+/)[0].slice(0, 4)), ["file", "poll", "late", "sear", "mute"])
  await composer(page).pressSequentially("pol")
  await until("one is left", async () => (await offers.count()) === 1)
  await composer(page).press("Enter")
  await page.getByRole("dialog").getByText("Poll").first().waitFor()
  await page.keyboard.press("Escape")
  await page.getByRole("dialog").waitFor({ state: "detached" })
  assert.equal(await composer(page).inputValue(), "")

  for (const [word, muted] of [["/mute", true], ["/unmute", false]]) {
    await composer(page).pressSequentially(word)
    await offers.first().waitFor()
    await composer(page).press("Tab")
    await page.getByText(muted ? "Muted" : "Unmuted", { exact: true }).waitFor()
    const { delta } = await server.call("MessageService/ListConversations", {}, ann.token)
    assert.equal(Number(delta.conversations.find((c) => c.conversation === ann.bob).mine?.mutedUntilMs ?? 0) > Date.now(), muted)
  }
  const [picked] = await Promise.all([page.waitForEvent("filechooser"), composer(page).pressSequentially("/file").then(() => offers.first().waitFor()).then(() => composer(page).press("Enter"))])
  assert.equal(picked.isMultiple(), true)

  await say(page, "/weather in Oslo") // of a bot, perhaps
  await message(bob.page, "/weather in Oslo").waitFor()
  await composer(page).pressSequentially("/poll")
  await offers.first().waitFor()
  await composer(page).press("Escape")
  for (const key of ["ArrowLeft", "ArrowRight"]) await composer(page).press(key) // what the browser tells of the caret opens the list no more
  await composer(page).press("Enter")
  await message(bob.page, "/poll").waitFor()

  await composer(page).pressSequentially("/search")
  await offers.first().waitFor()
  await composer(page).press("Enter")
  await page.waitForURL((u) => u.pathname === "/search" && u.searchParams.get("in") === ann.bob)
  await page.goBack()
  await composer(page).waitFor()
  await page.reload() // what offers them is not loaded yet when Enter comes
  await composer(page).fill("/later")
  await composer(page).press("Enter")
  await page.getByRole("dialog", { name: "Scheduled" }).waitFor()
  await page.keyboard.press("Escape")
  assert.equal((await server.stored(ann.bob, ann.token)).some((e) => e.content?.text === "/later"), false)
})

test("reply, edit, reaction, recall", async () => {
  const act = async (page, text, name) => {
    await message(page, text).hover()
    await message(page, text).getByRole("toolbar").getByRole("button", { name, exact: true }).click()
  }
  await act(bob.page, "good morning", "Reply")
  await say(bob.page, "to you as well")
  await message(ann.page, "to you as well").filter({ hasText: "good morning" }).waitFor()

  await composer(ann.page).press("ArrowUp") // the last own message
  await composer(ann.page).fill("您好")
  await composer(ann.page).press("Enter")
  await message(bob.page, "您好").getByText("edited").waitFor()

  await act(bob.page, "您好", "React")
  const picker = bob.page.getByRole("dialog", { name: "React" })
  await picker.getByLabel("Find an emoji").fill("heart")
  await picker.getByRole("region").getByRole("button").first().click()
  await message(ann.page, "您好").getByRole("button", { pressed: false, name: /: / }).waitFor()

  await say(ann.page, "not for long")
  await message(bob.page, "not for long").waitFor()
  await act(ann.page, "not for long", "More")
  await ann.page.getByRole("menuitem", { name: /Delete for everyone/ }).click()
  await ann.page.getByRole("alertdialog").or(ann.page.getByRole("dialog")).getByRole("button", { name: "Delete" }).click()
  await bob.page.getByText("Message deleted").first().waitFor()
  assert.equal(await message(bob.page, "not for long").count(), 0)
})

test("what is written before the app's store is open stays, and is sent as it is", async () => {
  const page = await ann.profile.newPage()
  await page.addInitScript(() => { // the tabs' lock comes late, as on a busy machine: until then nothing of the store is known
    const request = navigator.locks.request.bind(navigator.locks)
    navigator.locks.request = (...of) => new Promise((done) => setTimeout(done, 1500)).then(() => request(...of))
  })
  await page.goto(`${link.url}/c/${ann.bob}`)
  await composer(page).fill("written early")
  assert.equal(await message(page, "good morning").count(), 0, "the store is open too early for this test")
  await message(page, "good morning").first().waitFor()
  await page.waitForTimeout(2000) // a draft is told after a pause, and comes back
  assert.equal(await composer(page).inputValue(), "written early")
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith("skein.draft.."))), [])
  await composer(page).press("Enter")
  await message(bob.page, "written early").waitFor()
  await page.close()
})

test("offline: what is written waits, and goes once, in order; what was read is there", async () => {
  link.cut()
  for (const n of [1, 2, 3]) await say(ann.page, `from the tunnel ${n}`)
  await message(ann.page, "from the tunnel 3").getByRole("img", { name: "Waiting to be sent" }).waitFor()
  await say(bob.page, "are you there")
  link.mend()
  await message(bob.page, "from the tunnel 3").waitFor({ timeout: 30_000 })
  await message(ann.page, "are you there").waitFor({ timeout: 30_000 })
  const texts = (await server.stored(ann.bob, ann.token)).map((e) => e.content?.text ?? "").filter((t) => t.startsWith("from the tunnel"))
  assert.deepEqual(texts, [1, 2, 3].map((n) => `from the tunnel ${n}`))
})

test("a group on three screens, a phone among them", async () => {
  const { group } = await server.call("GroupService/CreateGroup", { name: "Geese", members: [bob.user, cho.user] }, ann.token)
  const conversation = group.conversation ?? group.id
  await open(ann.page, link.url, conversation)
  await cho.page.getByText("Geese").first().click()
  await say(ann.page, "hello geese")
  await message(cho.page, "hello geese").waitFor()
  await say(cho.page, "hello from the phone")
  await message(ann.page, "hello from the phone").waitFor()
  await cho.page.getByRole("button", { name: "Back" }).click()
  await cho.page.getByRole("heading", { name: "Chats" }).waitFor()
  await open(ann.page, link.url, ann.bob)
})

test("a picture, a file, a voice message, a poll", async () => {
  const chooser = ann.page.locator("input[type=file]").first()
  await chooser.setInputFiles([{ name: "goose.png", mimeType: "image/png", buffer: png(640, 360) }])
  await ann.page.getByLabel("Caption").fill("a goose at dawn")
  await ann.page.getByRole("dialog").getByRole("button", { name: /^Send/ }).click()
  const picture = message(bob.page, "a goose at dawn").locator("img").first()
  await picture.waitFor()
  await until("the picture is painted", () => picture.evaluate((i) => i.complete && i.naturalWidth > 0))

  const text = "minutes of the meeting\n".repeat(1000)
  await chooser.setInputFiles([{ name: "minutes.txt", mimeType: "text/plain", buffer: Buffer.from(text) }])
  await ann.page.getByRole("dialog").getByRole("button", { name: /^Send/ }).click()
  await message(bob.page, "minutes.txt").waitFor()

  await ann.page.getByRole("button", { name: /^Record a voice message/ }).click().catch(async (e) => assert.fail(`${e.message}: ${await ann.page.locator("body").ariaSnapshot()}`))
  await ann.page.getByRole("group", { name: "Recording" }).waitFor()
  await ann.page.waitForTimeout(1200) // what is recorded has a length: no event tells of that
  await ann.page.getByRole("button", { name: "Send the voice message" }).click()
  await bob.page.getByRole("region", { name: "Messages" }).getByRole("slider", { name: "Position" }).waitFor({ timeout: 20_000 })

  await ann.page.getByRole("button", { name: "Attach" }).click()
  await ann.page.getByRole("menuitem", { name: "Poll" }).click()
  await ann.page.getByLabel("Question", { exact: true }).fill("Where do we meet?")
  await ann.page.getByLabel("Option 1").fill("by the lake")
  await ann.page.getByLabel("Option 2").fill("at the office")
  await ann.page.getByRole("dialog").getByRole("button", { name: /^Send/ }).click()
  await message(bob.page, "Where do we meet?").getByText("by the lake").click()
  await message(ann.page, "Where do we meet?").getByText(/^1 vote|1 person|1$/).first().waitFor()
})

test("search finds Chinese words, and a hit leads to its message", async () => {
  await say(bob.page, "明天上午开会讨论迁徙路线")
  await message(ann.page, "明天上午开会").waitFor()
  await until("the index has it", async () => {
    const found = await server.call("MessageService/SearchMessages", { query: "讨论" }, ann.token)
    return JSON.stringify(found).includes("明天上午")
  })
  await ann.page.goto(`${link.url}/search?q=${encodeURIComponent("讨论")}`)
  await ann.page.getByText("明天上午开会").first().click()
  await message(ann.page, "明天上午开会").waitFor()
})

test("people find each other: asked, accepted, written to", async () => {
  const dan = await browser.profile()
  const eve = await browser.profile()
  const [d, e] = [await dan.newPage(), await eve.newPage()]
  await register(d, server.url, "dan", "Dan Oak")
  await register(e, server.url, "eve", "Eve Elm")
  await d.goto(`${server.url}/people`)
  await d.getByRole("searchbox", { name: "Find people" }).fill("eve")
  await d.getByRole("button", { name: "Add contact" }).first().click()
  await d.getByRole("dialog").getByLabel("Message (optional)").fill("we met at the lake")
  await d.getByRole("dialog").getByRole("button", { name: "Send request" }).click()
  // The request stands on the first screen of the one who is asked, and on the first page of people.
  await e.getByRole("link", { name: "Dan Oak wants to add you as a contact" }).click()
  await e.getByText("we met at the lake").waitFor()
  await d.getByText("Request sent", { exact: true }).waitFor()
  await e.getByRole("button", { name: "Accept" }).first().click()
  // The one who asked is told at once, and finds the new contact in the list.
  await d.getByText("Eve Elm accepted your contact request.").waitFor()
  await d.getByRole("link", { name: "Eve Elm You are now contacts" }).click()
  await d.getByText("Say hello.").last().waitFor() // it does not look as if it loaded
  await say(d, "hello Eve")
  await message(e, "hello Eve").waitFor()
})

test("the first message to a stranger goes along with a request; nothing is refused", async () => {
  const [gus, hal] = [await server.register("gus", "Gus Ash"), await server.register("hal", "Hal Box")]
  const g = await (await browser.profile()).newPage()
  await logIn(g, server.url, "gus")
  await g.goto(`${server.url}/people/${hal.user}`)
  await g.getByRole("button", { name: "Send a message" }).click()
  await g.getByLabel("First message").fill("are you the Hal of the choir?")
  await g.getByLabel("First message").press("Enter")
  await g.getByText("You can message each other once").waitFor()
  const { contacts } = await server.call("ContactService/ListContacts", {}, hal.token)
  assert.equal(contacts[0].message, "are you the Hal of the choir?")
  await server.call("ContactService/AcceptContact", { user: gus.user }, hal.token)
  await say(g, "good that you know me")
  await until("it is stored", async () => (await server.stored(dm(gus.user, hal.user), hal.token)).some((e) => e.content?.text === "good that you know me"))
  // Whoever lets everybody write gets it as a message.
  const ivy = await server.register("ivy", "Ivy Cole")
  await server.call("UserService/UpdateProfile", { dmPolicy: "DM_POLICY_EVERYONE" }, ivy.token)
  await g.goto(`${server.url}/c/${dm(gus.user, ivy.user)}`)
  await g.getByLabel("First message").fill("hello Ivy")
  await g.getByLabel("First message").press("Enter")
  await message(g, "hello Ivy").waitFor()
  await composer(g).waitFor()
})

test("a reload shows the same, from the device", async () => {
  const shown = () => ann.page.getByRole("region", { name: "Messages" }).locator("article[data-seq]").evaluateAll((rows) => rows.map((r) => r.dataset.seq))
  const before = await shown()
  await ann.page.reload()
  await composer(ann.page).waitFor()
  await until("the timeline is as before", async () => (await shown()).at(-1) === before.at(-1))
})
