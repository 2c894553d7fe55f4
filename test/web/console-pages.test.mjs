// The console's pages of the place itself: how it is, what may not be written, what everybody is told, and what they can send.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, phone } from "./browser.mjs"
import { staff } from "./console.mjs"
import { befriend, dm, logIn, message, say } from "./people.mjs"
import { png } from "./png.mjs"
import { Server, until } from "./server.mjs"

let server, browser, olga, aude, ann, bob

before(async () => {
  server = await Server.open(["accounts.dm_policy=everyone"])
  browser = await Browser.open()
  olga = await staff(server, "olga", "Olga Owner", "OWNER")
  aude = await staff(server, "aude", "Aude Auditor", "AUDITOR")
  ann = await server.register("ann", "Ann")
  bob = await server.register("bob", "Bob")
  await befriend(server, ann, bob)
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** Somebody in a browser of their own, at an address. */
async function at(username, path, options) {
  const page = await (await browser.profile(options)).newPage()
  await logIn(page, server.url, username)
  await page.goto(server.url + path)
  return page
}

const leave = (page) => page.context().close()
const gone = (page, role = "dialog") => page.getByRole(role).waitFor({ state: "detached" })

/** Nothing is wider than the window, and no button's words break. */
async function fits(page, where) {
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  assert.ok(wide[0] <= wide[1], `${where}: the page is wider than the phone: ${wide}`)
  const broken = await page.getByRole("main").getByRole("button").evaluateAll((all) => all.filter((b) => {
    const words = document.createRange()
    words.selectNodeContents(b)
    const lines = [...words.getClientRects()].filter((r) => r.width > 0).map((r) => (r.top + r.bottom) / 2)
    return Math.max(...lines) - Math.min(...lines) > 10
  }).map((b) => b.innerText))
  assert.deepEqual(broken, [], `${where}: the words of a button break`)
}

test("health says how the server is, follows what happens, and says when it does not answer", async () => {
  const page = await at("aude", "/admin/health")
  const node = page.getByRole("region", { name: "This node" })
  await node.getByText("All is well").waitFor()
  assert.match(await node.innerText(), /Version\s+\S+ \(go1\./)
  const main = page.getByRole("main")
  for (const store of [/journal · pebble/, /directory · sqlite/, /media · directory/]) await main.getByText(store).waitFor()
  for (const title of ["Queues", "Stores"]) await main.getByRole("heading", { level: 2, name: title }).waitFor()
  await main.getByText("Scheduled messages").waitFor()
  const stored = async () => Number(/([\d,]+) since it began/.exec(await main.innerText())?.[1].replaceAll(",", ""))
  const was = await stored()
  for (let n = 1; n <= 3; n++) await server.call("MessageService/SendMessage", { conversation: dm(ann.user, bob.user), id: `00000000-0000-7000-8000-00000000000${n}`, content: { type: "text", text: `${n}` } }, ann.token)
  await until("three more messages are counted", async () => await stored() === was + 3)
  await until("nobody waits", async () => /Users online\s+1\s+1 connection/.test(await main.innerText()))
  await server.call("AdminService/GetHealth", {}, aude.token)
  await assert.rejects(server.call("AdminService/GetHealth", {}, ann.token), /permission_denied/)
  await server.kill()
  try {
    await node.getByText("The server doesn’t answer").waitFor({ timeout: 30_000 })
    assert.equal(await main.getByText("All is well").count(), 0)
    await main.getByText("Scheduled messages").waitFor() // what was heard last stays
  } finally {
    await server.start()
  }
  await node.getByText("All is well").waitFor({ timeout: 30_000 })
  await leave(page)
})

test("a rule is made, tried and counts at once; a bad one says why; removed it holds nobody back", async () => {
  const page = await at("olga", "/admin/filters")
  await page.getByRole("heading", { name: "No rules" }).waitFor()
  const dialog = page.getByRole("dialog")
  const add = dialog.getByRole("button", { name: "Add rule" })
  const words = page.getByRole("main").getByRole("textbox", { name: "Text" })
  const tried = async (text) => {
    await words.fill(text)
    await page.getByRole("button", { name: "Try", exact: true }).click()
    return await page.getByRole("main").getByRole("status").filter({ hasText: "It breaks" }).innerText()
  }

  // What is no host is refused, in words, at its field; mended there, it is taken.
  await page.getByRole("button", { name: "New rule" }).click()
  assert.equal(await add.isDisabled(), true)
  await dialog.getByRole("radio", { name: "Links to a host" }).click()
  const host = dialog.getByRole("textbox", { name: "Host" })
  await host.fill("https://bargains.example/today")
  await add.click()
  await dialog.getByText("A host, as example.com: without scheme, port and path.").waitFor()
  assert.equal(await host.getAttribute("aria-invalid"), "true")
  await host.fill("bargains.example")
  await dialog.getByRole("radio", { name: "It is reported" }).click()
  await dialog.getByLabel("Note").fill("the wave of May")
  await add.click()
  await gone(page)
  await page.getByText("the wave of May").waitFor()

  // A word that is refused, in groups and direct chats alike; the same rule twice is one.
  for (const again of [false, true]) {
    await page.getByRole("button", { name: "New rule" }).click()
    await dialog.getByRole("textbox", { name: "Word or phrase" }).fill("casino bonus")
    await add.click()
    if (again) await dialog.getByText("There is this rule already.").waitFor()
    await (again ? page.keyboard.press("Escape") : Promise.resolve())
    await gone(page)
  }
  const rules = (await server.call("AdminService/ListFilterRules", {}, olga.token)).rules
  assert.deepEqual(rules.map((r) => [r.kind, r.pattern, r.action, r.createdBy]), [
    ["FILTER_KIND_LINK", "bargains.example", "FILTER_ACTION_REPORT", olga.user],
    ["FILTER_KIND_WORD", "casino bonus", "FILTER_ACTION_REFUSE", olga.user],
  ])
  assert.equal(await tried("nothing to see"), "It breaks no rule.")
  assert.equal(await tried("a CASINO  bonus at www.bargains.example/x"), "It breaks: casino bonus, bargains.example")

  // It counts: the writer is told, and nothing is stored.
  const writer = await at("ann", `/c/${dm(ann.user, bob.user)}`)
  await say(writer, "here is your Casino Bonus!")
  await writer.getByText(/not allowed here/).first().waitFor()
  const texts = async () => (await server.stored(dm(ann.user, bob.user), bob.token)).map((e) => e.content?.text)
  assert.ok(!(await texts()).some((x) => /casino/i.test(x)), "a refused message is stored")

  // Removed, it holds nobody back.
  await page.getByText("casino bonus", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Remove" }).last().click()
  await page.getByRole("alertdialog", { name: "Remove the rule “casino bonus”?" }).getByRole("button", { name: "Remove" }).click()
  await gone(page, "alertdialog")
  await page.getByText("casino bonus", { exact: true }).waitFor({ state: "detached" })
  assert.equal(await tried("a casino bonus"), "It breaks no rule.")
  await say(writer, "one more casino bonus")
  await message(writer, "one more casino bonus").waitFor()
  await until("it is stored", async () => (await texts()).includes("one more casino bonus"))

  // Who may look only sees the rule, and may try texts.
  const looks = await at("aude", "/admin/filters", phone)
  await looks.getByText("bargains.example").waitFor()
  assert.equal(await looks.getByRole("button", { name: "New rule" }).or(looks.getByRole("button", { name: "Remove" })).count(), 0)
  await fits(looks, "filters")
  for (const p of [page, writer, looks]) await leave(p)
})

test("what is announced stands in everybody's app at once, in their language, and goes when it is withdrawn", async () => {
  const reader = await at("ann", "/")
  const chinese = await (await browser.profile({ locale: "zh-CN" })).newPage()
  await chinese.goto(`${server.url}/login`)
  await chinese.locator("input").first().fill("bob")
  await chinese.locator("input[type=password]").fill("correct horse battery")
  await chinese.locator("form button[type=submit]").click()
  await chinese.locator("nav a, [data-pane]").first().waitFor()

  const page = await at("olga", "/admin/announcements")
  await page.getByRole("heading", { name: "Nothing is announced" }).waitFor()
  const dialog = page.getByRole("dialog")
  const announce = async (text, f) => {
    await page.getByRole("button", { name: "New announcement" }).click()
    await dialog.getByRole("textbox", { name: "Text", exact: true }).fill(text)
    await f?.()
    await dialog.getByRole("button", { name: "Tell everybody" }).click()
  }
  // A time that is over is refused at its field; the text is still there.
  await announce("Maintenance on Saturday", () => dialog.getByLabel("Until").fill("2020-01-01T00:00"))
  await until("the time is what is wrong", async () => await dialog.getByLabel("Until").getAttribute("aria-invalid") === "true")
  await dialog.getByRole("checkbox", { name: "It ends by itself" }).click()
  await dialog.getByRole("radio", { name: "Warning" }).click()
  await dialog.getByRole("checkbox", { name: "People can’t put it away" }).click()
  await dialog.getByRole("button", { name: "The same in another language" }).click()
  await dialog.getByRole("textbox", { name: "The same in this language" }).fill("星期六维护")
  await dialog.getByRole("button", { name: "Tell everybody" }).click()
  await gone(page)
  const bar = (p, text) => p.getByRole("status").filter({ hasText: text })
  await bar(reader, "Maintenance on Saturday").waitFor()
  await bar(chinese, "星期六维护").waitFor()
  assert.equal(await bar(chinese, "Maintenance").count(), 0)
  assert.equal(await bar(reader, "Maintenance on Saturday").getByRole("button", { name: "Close" }).count(), 0)

  // One that may be put away is put away by its reader alone, and stays so.
  await announce("There are stickers now")
  await gone(page)
  await bar(reader, "There are stickers now").waitFor()
  await reader.getByRole("status").getByRole("button", { name: "Close" }).click()
  await reader.getByText("There are stickers now").waitFor({ state: "detached" })
  await reader.reload()
  await bar(reader, "Maintenance on Saturday").waitFor()
  assert.equal(await reader.getByText("There are stickers now").count(), 0)
  await bar(chinese, "There are stickers now").waitFor()

  const list = page.getByRole("list", { name: "Announcements" }).getByRole("listitem")
  await until("both are listed", async () => await list.count() === 2)
  await list.filter({ hasText: "Maintenance" }).getByText("until it is withdrawn").waitFor()
  await list.filter({ hasText: "Maintenance" }).getByRole("button", { name: "Withdraw…" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Withdraw", exact: true }).click()
  await gone(page, "alertdialog")
  for (const [p, text] of [[reader, "Maintenance on Saturday"], [chinese, "星期六维护"]]) await p.getByText(text).waitFor({ state: "detached" })
  assert.equal((await server.call("AccountService/GetAnnouncements", {}, ann.token)).announcements.length, 1)
  const small = await at("olga", "/admin/announcements", phone)
  await small.getByRole("list", { name: "Announcements" }).waitFor()
  await fits(small, "announcements")
  for (const p of [reader, chinese, page, small]) await leave(p)
})

test("a pack of stickers and an emoji are made, sent by everybody, and withdrawn; what was sent stays", async () => {
  const page = await at("olga", "/admin/stickers")
  await page.getByRole("heading", { name: "No stickers yet" }).waitFor()
  const dialog = page.getByRole("dialog")
  const pictures = (...names) => dialog.locator("input[type=file]").setInputFiles(names.map((name, i) => ({ name, mimeType: "image/png", buffer: png(96 + i, 96 + i) })))

  await page.getByRole("button", { name: "New pack" }).click()
  const create = dialog.getByRole("button", { name: "Create pack" })
  await dialog.getByLabel("Title").fill("Geese")
  assert.equal(await create.isDisabled(), true)
  await pictures("Waving goose.png", "by-mistake.png", "angry_goose.png")
  assert.equal(await dialog.getByLabel("What Waving goose.png shows").inputValue(), "waving goose")
  await dialog.getByRole("button", { name: "Leave out by-mistake.png" }).click()
  await dialog.getByLabel("What angry_goose.png shows").fill("a goose that is angry")
  await create.click()
  await gone(page)
  const main = page.getByRole("main")
  await main.getByRole("heading", { name: "Geese" }).waitFor()
  for (const alt of ["waving goose", "a goose that is angry"]) await main.getByRole("img", { name: alt }).waitFor()
  const packs = async () => (await server.call("MediaService/ListStickers", {}, ann.token)).packs ?? []
  assert.deepEqual((await packs()).map((p) => [p.name, p.title, p.stickers.map((x) => [x.name, x.alt])]), [["geese", "Geese", [["waving_goose", "waving goose"], ["angry_goose", "a goose that is angry"]]]])

  // A second of the same name would throw the first one's pictures away.
  await page.getByRole("button", { name: "New pack" }).click()
  await dialog.getByLabel("Title").fill("GEESE")
  await pictures("other.png")
  await dialog.getByText("There is a pack of this name already. Withdraw it first.").waitFor()
  assert.equal(await create.isDisabled(), true)
  // What is no picture is refused, and the dialog stays with what was chosen.
  await dialog.getByLabel("Title").fill("Broken")
  await dialog.locator("input[type=file]").setInputFiles({ name: "no-picture.png", mimeType: "image/png", buffer: Buffer.from("this is a text") })
  await create.click()
  await dialog.getByRole("alert").waitFor()
  assert.deepEqual((await packs()).map((p) => p.name), ["geese"])
  await page.keyboard.press("Escape")
  await gone(page)

  await page.getByRole("button", { name: "New emoji" }).click()
  await pictures("Party Goose.png")
  assert.equal(await dialog.getByLabel("Name").inputValue(), "party_goose")
  await dialog.getByRole("button", { name: "Create emoji" }).click()
  await gone(page)
  await main.getByText(":party_goose:").waitFor()

  // Somebody sends one of them.
  const writer = await at("ann", `/c/${dm(ann.user, bob.user)}`)
  await writer.getByRole("button", { name: "Emoji", exact: true }).click()
  await writer.getByRole("dialog").getByRole("button", { name: "Stickers" }).click()
  await writer.getByRole("dialog").getByRole("region", { name: "Geese" }).getByRole("button", { name: "waving goose" }).click()
  await until("it is stored", async () => (await server.stored(dm(ann.user, bob.user), bob.token)).some((e) => e.content?.type === "sticker"))
  const sticker = (p) => p.getByRole("region", { name: "Messages" }).getByRole("img", { name: "waving goose" })
  await sticker(writer).waitFor() // the server tells the picture to everybody but the device that sent it

  // On a phone both fit; withdrawn they are gone, and what was sent is still seen.
  const small = await at("olga", "/admin/stickers", phone)
  await small.getByText(":party_goose:").waitFor()
  await fits(small, "stickers")
  for (const [title, button] of [["Withdraw Geese?", 0], ["Withdraw :party_goose:?", 0]]) {
    await small.getByRole("button", { name: "Withdraw…" }).nth(button).click()
    await small.getByRole("alertdialog", { name: title }).getByRole("button", { name: "Withdraw", exact: true }).click()
    await gone(small, "alertdialog")
    await until(`${title} is done`, async () => await small.getByRole("button", { name: "Withdraw…" }).count() === (title.includes("Geese") ? 1 : 0))
  }
  const left = await server.call("MediaService/ListStickers", {}, ann.token)
  assert.deepEqual([left.packs ?? [], left.emoji ?? []], [[], []])
  const reader = await at("bob", `/c/${dm(ann.user, bob.user)}`)
  await sticker(reader).waitFor()
  for (const p of [page, writer, reader, small]) await leave(p)
})
