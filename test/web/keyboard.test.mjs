// Everything by the keyboard alone: no page here is ever touched by a pointer.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, desktop } from "./browser.mjs"
import { message } from "./people.mjs"
import { password, Server, until } from "./server.mjs"

let server, browser, ann, bob

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  ;[ann, bob] = await Promise.all([0, 1].map(async () => (await browser.profile(desktop)).newPage()))
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** What has the focus, as a screen reader would name it. */
const focused = (page) => page.evaluate(() => {
  const e = document.activeElement
  if (e === null || e === document.body) return ""
  const labelled = e.getAttribute("aria-labelledby")?.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ")
  const label = e.getAttribute("aria-label") ?? labelled ?? (e.labels?.[0]?.textContent || e.textContent || e.getAttribute("placeholder"))
  return (label ?? "").replace(/\s+/g, " ").trim()
})

/** Presses Tab until something of that name has the focus. */
async function tab(page, name, key = "Tab") {
  const passed = []
  for (let i = 0; i < 80; i++) {
    const now = await focused(page)
    if (typeof name === "string" ? now === name : name.test(now)) return
    passed.push(now)
    await page.keyboard.press(key)
  }
  assert.fail(`no ${name} by ${key}; passed ${[...new Set(passed)].join(" | ")}`)
}

/** The same as often as the page needs to show it. */
const reach = (page, name, key = "Tab") => until(`${name} has the focus`, () => tab(page, name, key).then(() => true, () => false)).catch(async (e) => { await tab(page, name, key).catch((why) => { throw new Error(`${e.message}: ${why.message}`) }) })

async function press(page, name, key = "Enter") {
  await reach(page, name)
  await page.keyboard.press(key)
}

async function write(page, name, text) {
  await reach(page, name)
  await page.keyboard.type(text)
}

async function registers(page, username, name) {
  await page.goto(`${server.url}/login`)
  await press(page, "Create an account")
  await page.getByRole("heading", { name: "Create account" }).waitFor()
  await write(page, "Your name", name)
  await write(page, "User name", username)
  await write(page, "Password", password)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Chats" }).waitFor()
}

/** Goes somewhere by the list that Ctrl+K opens. */
async function goTo(page, name) {
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox").waitFor()
  await page.keyboard.type(name)
  await page.getByRole("option", { name: new RegExp(`^${name}`) }).first().waitFor()
  await page.keyboard.press("Enter")
}

test("two register", async () => {
  await Promise.all([registers(ann, "ann", "Ann Lee"), registers(bob, "bob", "Bob Ray")])
})

test("one finds the other, asks, is accepted", async () => {
  await press(ann, "People")
  await write(ann, "Find people", "bob")
  await press(ann, "Add contact")
  await write(ann, "Message (optional)", "it is me")
  await press(ann, "Send request")
  await ann.getByText("Request sent", { exact: true }).waitFor()
  await press(bob, /^Ann Lee.*wants to add you/)
  await bob.getByText("it is me").waitFor()
  await press(bob, "Accept")
  await bob.getByPlaceholder("Message", { exact: true }).waitFor()
})

test("they write, reply, edit, react, delete", async () => {
  await goTo(ann, "Bob Ray")
  await write(ann, "Message", "good morning")
  await ann.keyboard.press("Enter")
  await message(bob, "good morning").waitFor()
  // Arrows lead through messages; letters do what the menu does.
  const last = async (page) => {
    await reach(page, "Messages", "Shift+Tab")
    await page.keyboard.press("ArrowUp")
  }
  await last(bob)
  await bob.keyboard.press("r")
  await until("the field has the focus", async () => (await focused(bob)) === "Message")
  await bob.keyboard.type("to you as well")
  await bob.keyboard.press("Enter")
  await message(ann, "to you as well").filter({ hasText: "good morning" }).waitFor()
  await reach(ann, "Message")
  await ann.keyboard.press("ArrowUp")
  await ann.getByText("Edit the message").waitFor()
  await ann.keyboard.press("Control+a")
  await ann.keyboard.type("good evening")
  await ann.keyboard.press("Enter")
  await message(bob, "good evening").getByText("edited").waitFor()
  // The menu of a message: a reaction of the row above, and deleting.
  await last(ann)
  await ann.keyboard.press("Shift+F10")
  await ann.getByRole("menu").waitFor()
  await reach(ann, /^React with/, "ArrowDown")
  await ann.keyboard.press("Enter")
  await message(bob, "to you as well").getByRole("button", { name: /: .?Ann Lee/ }).waitFor()
  await reach(ann, "Message")
  await ann.keyboard.type("not for long")
  await ann.keyboard.press("Enter")
  await message(bob, "not for long").waitFor()
  await last(ann)
  await ann.keyboard.press("Shift+F10")
  await ann.getByRole("menu").waitFor()
  await reach(ann, "Delete for everyone", "ArrowDown")
  await ann.keyboard.press("Enter")
  await ann.getByRole("alertdialog").waitFor()
  await press(ann, "Delete")
  await bob.getByText("Message deleted").first().waitFor()
})

test("of a poll with one choice the keyboard reaches one, and the arrows choose; of several each is reached", async () => {
  const asks = async (question, several) => {
    await press(ann, "Attach")
    await ann.getByRole("menu").waitFor()
    await reach(ann, "Poll", "ArrowDown")
    await ann.keyboard.press("Enter")
    await ann.getByRole("dialog").waitFor()
    await write(ann, "Question", question)
    for (const [i, text] of ["green", "black", "white"].entries()) await write(ann, `Option ${i + 1}`, text)
    if (several) await press(ann, /^Allow multiple answers/, " ")
    await press(ann, "Send the poll")
    await ann.getByRole("dialog").waitFor({ state: "detached" })
    await message(bob, question).waitFor()
    await reach(bob, "Messages", "Shift+Tab")
    await bob.keyboard.press("ArrowUp")
  }
  /** What has the focus, if it is a choice. */
  const at = () => bob.evaluate(() => document.activeElement?.closest("[aria-checked]")?.querySelector("[dir]").textContent ?? "none of them")
  const shows = (page, question, ...all) => until(`${question} shows ${all}`, async () => {
    const now = await message(page, question).locator("[aria-checked]").evaluateAll((choices) => choices.map((c) => `${c.getAttribute("aria-checked") === "true" ? "+" : ""}${/\d+(?= %)/.exec(c.textContent)[0]}`))
    return now.join() === all.join()
  })

  await asks("Which tea?", false)
  await bob.getByRole("radiogroup", { name: "Which tea?" }).waitFor()
  await bob.keyboard.press("Tab")
  assert.equal(await at(), "green")
  await shows(bob, "Which tea?", "0", "0", "0")
  await bob.keyboard.press("ArrowDown")
  assert.equal(await at(), "black")
  await shows(bob, "Which tea?", "0", "+100", "0")
  await bob.keyboard.press("ArrowRight")
  assert.equal(await at(), "white")
  await shows(ann, "Which tea?", "0", "0", "100")
  await bob.keyboard.press("ArrowDown")
  assert.equal(await at(), "green", "around")
  await bob.keyboard.press("ArrowUp")
  await bob.keyboard.press("ArrowLeft") // before the server answered
  assert.equal(await at(), "black")
  await shows(ann, "Which tea?", "0", "100", "0")
  await bob.keyboard.press("Tab")
  assert.equal(await at(), "none of them", "one Tab leads out of it")
  await bob.keyboard.press("Shift+Tab")
  assert.equal(await at(), "black", "and back to what is chosen")
  await bob.keyboard.press("Space")
  await shows(ann, "Which tea?", "0", "0", "0")
  assert.equal(await at(), "black", "the focus stays")

  await asks("Which cups?", true)
  await bob.getByRole("group", { name: "Which cups?" }).waitFor()
  await bob.keyboard.press("Tab")
  assert.equal(await at(), "green")
  await bob.keyboard.press("Space")
  await bob.keyboard.press("Tab")
  await bob.keyboard.press("Tab")
  assert.equal(await at(), "white")
  await bob.keyboard.press("Space")
  await shows(bob, "Which cups?", "+100", "0", "+100")
  assert.equal(await at(), "white", "the focus stays")
  assert.equal(await bob.getByRole("group", { name: "Which cups?" }).getByRole("checkbox", { checked: true }).count(), 2)
})

test("an answer that comes late takes the focus from nothing", async () => {
  await write(ann, "Message", "good nigth")
  await ann.keyboard.press("Enter")
  await message(bob, "good nigth").waitFor()
  await message(ann, "good nigth").waitFor() // answered: bob may hear of it before
  await ann.keyboard.press("ArrowUp")
  await ann.getByText("Edit the message").waitFor()
  await ann.keyboard.press("Control+a")
  await ann.keyboard.type("good night")
  server.process.kill("SIGSTOP")
  try {
    await ann.keyboard.press("Enter")
    await reach(ann, "Messages", "Shift+Tab")
    await ann.keyboard.press("ArrowUp")
    await ann.keyboard.press("Shift+F10")
    await ann.getByRole("menu").waitFor()
  } finally {
    server.process.kill("SIGCONT")
  }
  await message(bob, "good night").waitFor()
  await ann.getByText("Edit the message").waitFor({ state: "hidden" })
  await reach(ann, /^React with/, "ArrowDown")
  await ann.keyboard.press("Escape")
  await ann.getByRole("menu").waitFor({ state: "hidden" })
})

test("a group, a search, a setting, the list of keys", async () => {
  await goTo(ann, "New group")
  await write(ann, "Group name", "Geese")
  await press(ann, /^Bob Ray/, " ")
  await press(ann, "Create group")
  await ann.getByRole("heading", { name: "Geese" }).waitFor()
  await write(ann, "Message", "hello geese")
  await ann.keyboard.press("Enter")
  await bob.getByRole("link", { name: /^Geese/ }).waitFor()
  await press(bob, /^Geese/)
  await message(bob, "hello geese").waitFor()
  await goTo(ann, "Search messages")
  await reach(ann, /^Search/)
  await ann.keyboard.type("geese")
  await ann.getByRole("link", { name: /hello geese/ }).first().waitFor()
  await press(ann, /hello geese/)
  await message(ann, "hello geese").waitFor()
  await press(ann, "Settings")
  await press(ann, /^Appearance/)
  await reach(ann, /^(Light|Dark|System default)/)
  await ann.keyboard.press("ArrowDown")
  await until("another theme is on", () => ann.evaluate(() => localStorage.getItem("skein.pref.theme") !== null))
  await ann.keyboard.press("Escape")
  await reach(ann, /./)
  await ann.keyboard.press("?")
  await ann.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
  await ann.keyboard.press("Escape")
  await ann.getByRole("dialog").waitFor({ state: "detached" })
})
