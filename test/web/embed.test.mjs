import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { gzipSync } from "node:zlib"
import { violations } from "./axe.mjs"
import { Browser, desktop, phone } from "./browser.mjs"
import { payloads } from "./payloads.mjs"
import { logIn, message, open, say } from "./people.mjs"
import { png } from "./png.mjs"
import { Server, until } from "./server.mjs"
import { Shop, area, chat, host, opened, said } from "./shop.mjs"

// The widget in pages of other origins: the shop of examples/embed, and hosts that mean no good.
let server, browser, agent, shop, key, hosts, n

before(async () => {
  hosts = []
  n = 0
  server = await Server.open(["http.origins=localhost", "gateway.send_burst=500", "gateway.send_rate=200"])
  browser = await Browser.open()
  agent = await server.register("agent", "Mira of Northwind")
  shop = await Shop.open(server, agent.user)
  shop.url = named(shop.url)
  key = shop.key
})

after(async () => {
  await shop?.close()
  for (const h of hosts ?? []) await h.close()
  await browser?.close()
  await server?.stop()
})

const next = () => `00000000-0000-7000-8000-${String(++n).padStart(12, "0")}`
const send = (conversation, content, more = {}) => server.call("MessageService/SendMessage", { conversation, id: next(), content, ...more }, agent.token)

/** A group of the agent and a visitor, and how that visitor's page gets tokens: { conversation, visitor, user, mint }. */
async function question(name) {
  const visitor = `visitor-${name}`
  const minted = async (lifetimeMs) => (await server.call("AdminService/MintToken", { user: visitor, displayName: "Vera", lifetimeMs: String(lifetimeMs) }, key)).tokens
  const mint = async (lifetimeMs = 3_600_000) => (await minted(lifetimeMs)).accessToken
  const { user } = await minted(3_600_000)
  await server.call("AdminService/CreateGroupFor", { id: name, name: "Order 17", owner: agent.user, members: [visitor] }, key)
  return { conversation: `grp:${name}`, visitor, user, mint }
}

/** The origin that is let in: by this name it is another one than the server's, 127.0.0.1. */
const named = (url) => url.replace("127.0.0.1", "localhost")

/** A page of an origin that is let in, with this around the widget. */
async function hosted(html, headers) {
  const h = await host(html, headers)
  hosts.push(h)
  return named(h.url)
}

async function visit(url, options = desktop) {
  const profile = await browser.profile(options)
  const page = await profile.newPage()
  await page.goto(url)
  return page
}

test("all of the widget is less than 90 KB, and any page may load it", async () => {
  const r = await fetch(`${server.url}/skein-widget.js`, { headers: { origin: "https://shop.example", "accept-encoding": "identity" } })
  const size = gzipSync(Buffer.from(await r.arrayBuffer()), { level: 9 }).length
  assert.equal(r.status, 200)
  assert.equal(r.headers.get("access-control-allow-origin"), "*")
  assert.ok(size < 90 * 1024, `${size} bytes`)
})

test("a visitor writes in the shop, the agent answers in the web app: text, a reply, a picture, a file, an edit, a reaction, what is taken back", async () => {
  const page = await visit(shop.url)
  await opened(page)
  const conversation = await chat(page).getAttribute("conversation")
  await area(page).fill("Does it stand a **second** brew?")
  await area(page).press("Enter")
  await said(page, "second brew?").locator("[aria-label=Sent]").waitFor()

  const desk = await visit(server.url)
  await logIn(desk, server.url, "agent")
  await open(desk, server.url, conversation)
  await message(desk, "second brew?").waitFor()
  await say(desk, "It does. Try 95 °C.")
  await said(page, "95 °C").waitFor()

  const question = (await server.stored(conversation, agent.token)).find((e) => e.content?.text?.startsWith("Does"))
  const { seq } = await send(conversation, { type: "text", text: "three times, even" }, { replyTo: question.seq })
  await said(page, "three times, even").locator(".quote", { hasText: "second brew?" }).waitFor()
  await server.call("MessageService/ReactToMessage", { conversation, seq: question.seq, id: next(), reaction: "🍃" }, agent.token)
  await said(page, "second brew?").getByRole("button", { name: "🍃, 1 person" }).waitFor()
  await server.call("MessageService/EditMessage", { conversation, seq, id: next(), content: { type: "text", text: "four times, even" } }, agent.token)
  await said(page, "four times, even").getByText("edited").waitFor()
  await server.call("MessageService/RecallMessage", { conversation, seq }, agent.token)
  await said(page, "This message was taken back.").waitFor()

  await chat(page).locator("input[type=file]").setInputFiles([{ name: "tea.png", mimeType: "image/png", buffer: png(120, 90) }, { name: "order.txt", mimeType: "text/plain", buffer: Buffer.from("17") }])
  await chat(page).getByRole("button", { name: "order.txt" }).waitFor()
  await chat(page).locator("article .picture img").waitFor()
  await message(desk, "order.txt").waitFor()
  assert.equal(await chat(page).locator("article img").evaluate((i) => i.decode().then(() => i.naturalWidth > 0)), true)
  assert.deepEqual(await page.evaluate(async () => [Object.keys(localStorage), Object.keys(sessionStorage), (await indexedDB.databases()).length]), [[], [], 0], "something is kept in the shop's origin")
  await desk.context().close()
  await page.context().close()
})

/** A page of that conversation's visitor. */
async function visitorOf(q, options) {
  const token = await q.mint()
  const page = await visit(await hosted(`<!doctype html><html lang="en"><title>host</title><style>skein-conversation { height: 600px; }</style><script>document.addEventListener("DOMContentLoaded", () => { document.querySelector("skein-conversation").getToken = () => ${JSON.stringify(token)} })</script>
    <script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${q.conversation}"></skein-conversation></html>`), options)
  await opened(page)
  return page
}

const poll = (more = {}) => [{ type: "poll", text: JSON.stringify({ question: "Which tea?", options: [{ id: "g", text: "green" }, { id: "b", text: "black" }] }), fallback: "[poll] Which tea?" }, { poll: { options: [{ id: "g" }, { id: "b" }], ...more } }]

test("a visitor replies and reacts, by mouse and by keyboard; one who is no member any more does neither", async () => {
  const q = await question("acts")
  const first = await send(q.conversation, { type: "text", text: "first of all" })
  await send(q.conversation, { type: "text", text: "second to none" })
  const page = await visitorOf(q)
  const told = (text) => said(page, text).first() // others quote it
  const acts = (text) => told(text).getByRole("button", { name: "Reply or react", exact: true })
  const answering = chat(page).getByRole("group", { name: "Reply to Mira of Northwind" })
  const stored = async (text) => (await server.stored(q.conversation, agent.token)).find((e) => e.content?.text === text)

  await told("first of all").hover()
  await acts("first of all").click()
  await told("first of all").getByRole("button", { name: "Reply", exact: true }).click()
  await answering.getByText("first of all").waitFor()
  await page.keyboard.type("indeed")
  await page.keyboard.press("Enter")
  await said(page, "indeed").locator(".quote", { hasText: "first of all" }).waitFor()
  await said(page, "indeed").locator("[aria-label=Sent]").waitFor()
  assert.equal((await stored("indeed")).replyTo, first.seq)
  await answering.waitFor({ state: "detached" })

  // By keyboard: one stop for all messages, the arrows from there; Escape closes, and drops the reply.
  await chat(page).locator(".view").focus()
  await page.keyboard.press("Tab")
  const focused = () => chat(page).evaluate((e) => e.shadowRoot.activeElement?.closest("article")?.querySelector(".text:not(.quote .text)")?.textContent ?? e.shadowRoot.activeElement?.tagName)
  assert.equal(await focused(), "indeed")
  await page.keyboard.press("ArrowUp")
  assert.equal(await focused(), "second to none")
  await page.keyboard.press("Enter")
  await said(page, "second to none").getByRole("group", { name: "Reply or react" }).waitFor()
  await page.keyboard.press("Escape")
  await said(page, "second to none").getByRole("group", { name: "Reply or react" }).waitFor({ state: "detached" })
  assert.equal(await focused(), "second to none")
  await page.keyboard.press("Enter")
  await page.keyboard.press("Tab")
  await page.keyboard.press("Enter")
  await answering.getByText("second to none").waitFor()
  assert.equal(await focused(), "TEXTAREA")
  await page.keyboard.press("Escape")
  await answering.waitFor({ state: "detached" })
  await page.keyboard.type("by itself")
  await page.keyboard.press("Enter")
  await said(page, "by itself").locator("[aria-label=Sent]").waitFor()
  assert.equal((await stored("by itself")).replyTo ?? "0", "0")

  const mark = (name) => told("first of all").getByRole("button", { name, exact: true })
  await told("first of all").hover()
  await acts("first of all").click()
  await mark("React with 👍").click()
  await mark("👍, 1 person").waitFor()
  assert.equal(await mark("👍, 1 person").getAttribute("aria-pressed"), "true")
  const reactions = async () => ((await stored("first of all")).reactions ?? []).map((r) => `${r.reaction} ${r.count}`)
  await until("it is stored", async () => (await reactions()).includes("👍 1"))
  await server.call("MessageService/ReactToMessage", { conversation: q.conversation, seq: first.seq, id: next(), reaction: "🍃" }, agent.token)
  await mark("🍃, 1 person").click()
  await mark("🍃, 2 people").waitFor()
  await until("it is joined", async () => (await reactions()).includes("🍃 2"))
  await mark("👍, 1 person").click()
  await mark("👍, 1 person").waitFor({ state: "detached" })
  await until("it is taken back", async () => !(await reactions()).some((r) => r.startsWith("👍")))

  await server.call("GroupService/RemoveMembers", { conversation: q.conversation, users: [q.user] }, agent.token)
  await chat(page).getByText("You are no longer part of this conversation.").waitFor()
  assert.equal(await chat(page).getByRole("button", { name: "Reply or react", exact: true }).count(), 0)
  assert.equal(await mark("🍃, 2 people").isDisabled(), true)
  await page.context().close()
})

test("a visitor votes in polls: one choice or several, with what others chose, until it ends", async () => {
  const q = await question("polls")
  const one = await send(q.conversation, ...poll())
  const page = await visitorOf(q)
  const option = (name) => chat(page).getByRole("radio", { name })
  const votes = async (seq) => (await server.stored(q.conversation, agent.token)).find((e) => e.seq === seq).poll.options.map((o) => o.votes ?? 0)
  await option("green 0 %").click()
  await option("green 100 %").waitFor()
  assert.equal(await option("green").getAttribute("aria-checked"), "true")
  assert.deepEqual(await votes(one.seq), [1, 0])
  await server.call("MessageService/VoteInPoll", { conversation: q.conversation, seq: one.seq, id: next(), options: ["b"] }, agent.token)
  await chat(page).getByText("2 people voted").waitFor()
  await option("black 50 %").click()
  await option("black 100 %").waitFor()
  assert.deepEqual(await votes(one.seq), [0, 2])
  await option("black 100 %").click()
  await chat(page).getByText("1 person voted").waitFor()
  assert.deepEqual(await votes(one.seq), [0, 1])
  await server.call("MessageService/EndPoll", { conversation: q.conversation, seq: one.seq, id: next() }, agent.token)
  await chat(page).getByText("Ended").waitFor()
  assert.equal(await option("green").isDisabled(), true)

  const several = await send(q.conversation, ...poll({ multiple: true, anonymous: true }))
  await chat(page).getByText("Choose any number · anonymous").waitFor()
  await chat(page).getByRole("checkbox", { name: "green" }).click()
  await chat(page).getByRole("checkbox", { name: "green 100 %", checked: true }).waitFor()
  await chat(page).getByRole("checkbox", { name: "black" }).click()
  await chat(page).getByRole("checkbox", { name: "black 100 %", checked: true }).waitFor()
  assert.deepEqual(await votes(several.seq), [1, 1])
  await page.context().close()
})

test("of a poll's choices the keyboard reaches one; the arrows move and choose, and the space bar takes back", async () => {
  const q = await question("poll-keys")
  const { seq } = await send(q.conversation, { type: "poll", text: JSON.stringify({ question: "Which tea?", options: [{ id: "g", text: "green" }, { id: "b", text: "black" }, { id: "w", text: "white" }] }), fallback: "[poll] Which tea?" }, { poll: { options: [{ id: "g" }, { id: "b" }, { id: "w" }] } })
  const page = await visitorOf(q)
  const option = (name) => chat(page).getByRole("radio", { name })
  const votes = async () => (await server.stored(q.conversation, agent.token)).find((e) => e.seq === seq).poll.options.map((o) => o.votes ?? 0)
  const chosen = (...want) => until(`the votes are ${want}`, async () => (await votes()).join() === want.join())
  const focused = () => chat(page).evaluate((e) => e.shadowRoot.activeElement?.closest(".option")?.querySelector(".choice").textContent ?? "none of them")
  const stops = () => chat(page).getByRole("radio").evaluateAll((all) => all.filter((b) => b.tabIndex === 0).map((b) => b.querySelector(".choice").textContent))
  await option("green").waitFor()
  assert.deepEqual(await stops(), ["green"], "none is chosen: the first one")
  await chat(page).locator(".view").focus()
  for (let i = 0; i < 5 && (await focused()) !== "green"; i++) await page.keyboard.press("Tab")
  assert.equal(await focused(), "green")
  assert.deepEqual(await votes(), [0, 0, 0], "nothing is chosen by coming there")
  for (const [key, to, ...want] of [["ArrowDown", "black", 0, 1, 0], ["ArrowRight", "white", 0, 0, 1], ["ArrowDown", "green", 1, 0, 0], ["ArrowUp", "white", 0, 0, 1], ["ArrowLeft", "black", 0, 1, 0]]) {
    await page.keyboard.press(key)
    assert.equal(await focused(), to)
    await option(to).and(chat(page).locator("[aria-checked=true]")).waitFor()
    assert.deepEqual(await stops(), [to])
    await chosen(...want)
  }
  // Faster than the server answers: the last one counts.
  for (let i = 0; i < 7; i++) await page.keyboard.press("ArrowDown")
  assert.equal(await focused(), "white")
  await chosen(0, 0, 1)
  await option("white 100 %").waitFor()
  await page.keyboard.press("Space")
  await chosen(0, 0, 0)
  assert.equal(await focused(), "white", "the focus stays")
  await page.keyboard.press("Tab")
  assert.equal(await focused(), "none of them", "one Tab leads out of it")
  await page.context().close()
})

/** The texts in a visitor's page, as they stand there. */
const texts = (page) => chat(page).locator("article[data-seq]").evaluateAll((all) => all.map((a) => a.querySelector(".text").textContent))

test("two tabs of a visitor live side by side: one order in both, nothing twice, over a crash of the server; what one reads is read in both", async () => {
  const q = await question("tabs")
  const url = await hosted(`<!doctype html><html lang="en"><title>host</title><style>skein-conversation { height: 400px; }</style><script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${q.conversation}"></skein-conversation></html>`)
  const profile = await browser.profile()
  const tabs = []
  for (const name of ["one", "two"]) {
    const page = await profile.newPage()
    await page.exposeFunction("mint", () => q.mint())
    await page.goto(url)
    await chat(page).evaluate((e) => (e.getToken = () => globalThis.mint()))
    await opened(page)
    tabs.push({ name, page })
  }
  const wanted = []
  const write = async ({ name, page }, from, to) => {
    for (let i = from; i < to; i++) {
      wanted.push(`${name} ${i}`)
      await area(page).fill(`${name} ${i}`)
      await area(page).press("Enter")
    }
  }
  const both = (f) => Promise.all(tabs.map(f))
  const agrees = async (what) => {
    const stored = async () => (await server.stored(q.conversation, agent.token)).filter((e) => e.content !== undefined).map((e) => e.content.text)
    await until(what, async () => (await both(async ({ page }) => (await texts(page)).length)).every((n) => n === wanted.length) && (await stored()).length === wanted.length, 30_000)
      .catch(async (e) => assert.fail(`${e.message}: ${JSON.stringify([wanted.length, await stored(), ...(await both(({ page }) => texts(page)))])}`))
    const order = await stored()
    for (const { page } of tabs) assert.deepEqual(await texts(page), order, "one order in both, that of the server")
    assert.deepEqual([...order].sort(), [...wanted].sort(), "each once")
    for (const { name } of tabs) assert.deepEqual(order.filter((x) => x.startsWith(name)), wanted.filter((x) => x.startsWith(name)), "each tab's in the order in which they were written")
  }
  await both((tab) => write(tab, 0, 8))
  await agrees("both have all")
  await both((tab) => write(tab, 8, 10).then(() => tab.name === "one" && server.kill())) // some are stored, their acks lost
  await both(({ page }) => chat(page).locator(".below[data-state=offline]").waitFor({ timeout: 20_000 }))
  await both((tab) => write(tab, 10, 12))
  await server.start()
  await agrees("both have all after the crash")

  // Both look at what was before: what comes is unread in both, until it is read in one of them.
  const unread = async () => {
    const { delta } = await server.call("MessageService/ListConversations", {}, await q.mint())
    return Number(delta.conversations.find((c) => c.conversation === q.conversation).unread ?? 0)
  }
  await until("all is read", async () => (await unread()) === 0)
  await both(({ page }) => chat(page).locator(".view").evaluate((v) => v.scrollTo(0, 100)))
  const newest = (page) => chat(page).locator(".newest")
  await both(({ page }) => newest(page).waitFor())
  for (const text of ["a", "b", "c"]) {
    wanted.push(text)
    await send(q.conversation, { type: "text", text })
  }
  await both(({ page }) => chat(page).getByRole("button", { name: "To the newest message, 3 new messages" }).waitFor())
  assert.equal(await unread(), 3)
  await newest(tabs[0].page).click()
  await until("it is read", async () => (await unread()) === 0)
  await chat(tabs[1].page).getByRole("button", { name: "To the newest message", exact: true }).waitFor()
  await agrees("both have what the agent said")

  await tabs[0].page.close()
  await write(tabs.pop(), 12, 13)
  await until("the one that is left goes on", async () => (await server.stored(q.conversation, agent.token)).some((e) => e.content?.text === "two 12"))
  await profile.close()
})

test("Enter does not send what an input method has; Shift+Enter is a new line; what is offline goes out later", async () => {
  const page = await visit(shop.url)
  await opened(page)
  await area(page).dispatchEvent("compositionstart")
  await area(page).fill("ni hao")
  await area(page).evaluate((e) => e.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, isComposing: true, bubbles: true, composed: true })))
  await area(page).dispatchEvent("compositionend")
  await area(page).press("Shift+Enter")
  await area(page).pressSequentially("two")
  assert.equal(await area(page).inputValue(), "ni hao\ntwo")
  assert.equal(await chat(page).locator("article").count(), 0)
  await server.kill()
  await chat(page).locator(".below[data-state=offline]").waitFor({ timeout: 20_000 })
  await area(page).press("Enter")
  await said(page, "ni hao").locator("[aria-label='Waiting to be sent']").waitFor()
  await server.start()
  await said(page, "ni hao").locator("[aria-label=Sent]").waitFor({ timeout: 30_000 })
  await page.context().close()
})

test("a hostile page's styles change nothing in the widget, and the widget's change nothing in the page", async () => {
  const q = await question("styles")
  await send(q.conversation, { type: "text", text: "hello **there**" })
  const measure = async (css) => {
    const token = await q.mint()
    const url = await hosted(`<!doctype html><html lang="en"><title>host</title><style>skein-conversation { width: 420px; height: 500px; } ${css}</style>
      <h2 id="own">Own</h2><button id="button" class="icon primary bubble">Own</button><textarea></textarea>
      <script>document.addEventListener("DOMContentLoaded", () => { document.querySelector("skein-conversation").getToken = () => ${JSON.stringify(token)} })</script>
      <script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${q.conversation}"></skein-conversation></html>`)
    const page = await visit(url)
    await said(page, "hello there").waitFor()
    await opened(page)
    await chat(page).getByText("Mira of Northwind", { exact: true }).waitFor()
    const inner = await chat(page).evaluate((e) => {
      const names = ["color", "backgroundColor", "fontFamily", "fontSize", "fontWeight", "letterSpacing", "lineHeight", "textTransform", "padding", "margin", "borderRadius", "boxShadow", "opacity", "display", "visibility", "textAlign", "direction", "width", "height", "cursor", "textIndent", "wordSpacing"]
      return [...e.shadowRoot.querySelectorAll("*")].filter((x) => !x.closest("svg") && x.tagName !== "TIME").map((x) => {
        const s = getComputedStyle(x)
        return `${x.tagName}.${x.getAttribute("class")}: ${names.map((p) => s[p]).join("|")}`
      })
    })
    const outer = await page.evaluate(() => ["own", "button"].map((id) => {
      const s = getComputedStyle(document.getElementById(id))
      return [s.color, s.backgroundColor, s.fontSize, s.padding, s.borderRadius, s.width]
    }))
    await page.context().close()
    return { inner, outer }
  }
  const calm = await measure("")
  const hostile = await measure(`html { font-size: 40px; } body { color: red; font: italic 900 30px/3 cursive; letter-spacing: 9px; text-transform: uppercase; text-align: right; direction: rtl; word-spacing: 20px; text-indent: 50px; cursor: none; visibility: visible; }
    * { color: lime !important; background: red !important; padding: 7px !important; border: 5px solid blue !important; font-size: 33px !important; opacity: .3 !important; box-shadow: 0 0 9px red !important; border-radius: 0 !important; transform: rotate(3deg) !important; filter: blur(3px) !important; }
    .bubble, .text, textarea, button, h2, ol, li { display: none !important; }`)
  assert.ok(calm.inner.length > 20, "the widget is there")
  assert.deepEqual(hostile.inner, calm.inner)
  const bare = await visit(await hosted(`<!doctype html><html lang="en"><title>host</title><h2 id="own">Own</h2><button id="button" class="icon primary bubble">Own</button><textarea></textarea></html>`))
  const without = await bare.evaluate(() => ["own", "button"].map((id) => {
    const s = getComputedStyle(document.getElementById(id))
    return [s.color, s.backgroundColor, s.fontSize, s.padding, s.borderRadius, s.width]
  }))
  assert.deepEqual(calm.outer, without, "the widget's styles are seen in the page")
  await bare.context().close()
})

test(`${payloads.length} payloads of an attacker in the widget, under Trusted Types: shown as text, none is executed`, async () => {
  const q = await question("attack")
  for (const p of payloads) {
    await send(q.conversation, { type: "text", text: p })
    await send(q.conversation, { type: "x-evil", fallback: p, data: Buffer.from(p).toString("base64") })
    await send(q.conversation, { type: "image", text: JSON.stringify({ media: p, mime: p, caption: p, name: p }), fallback: p })
  }
  const last = await send(q.conversation, { type: "text", text: "the last one" })
  await server.call("MessageService/ReactToMessage", { conversation: q.conversation, seq: last.seq, id: next(), reaction: "<img src=x onerror=canary(50)>" }, agent.token).catch(() => undefined) // it may be refused
  const token = await q.mint()
  const url = await hosted(`<!doctype html><html lang="en"><title>host</title><script src="${server.url}/skein-widget.js" defer></script><script defer src="data:text/javascript,document.querySelector('skein-conversation').getToken=()=>'${token}'"></script><skein-conversation conversation="${q.conversation}"></skein-conversation></html>`,
    { "content-security-policy": `default-src 'none'; script-src ${server.url} data:; connect-src ${server.url} ${server.url.replace("http", "ws")}; img-src blob:; require-trusted-types-for 'script'; trusted-types 'none'` })
  const profile = await browser.profile()
  const ran = []
  await profile.exposeFunction("canary", (i) => ran.push(i))
  const page = await profile.newPage()
  await page.goto(url)
  await said(page, "the last one").waitFor()
  for (let i = 0; i < 20 && (await chat(page).getByRole("button", { name: "Older messages" }).count()) > 0; i++) {
    await chat(page).locator(".view").evaluate((v) => v.scrollTo(0, 0))
    await page.waitForTimeout(150)
  }
  const text = await chat(page).locator(".rows").innerText()
  for (const p of payloads.filter((x) => !/[`*[\n\t]/.test(x))) assert.ok(text.includes(p.trim()), `not shown as it was written: ${p}`)
  for (const h of await chat(page).locator("a[href]").evaluateAll((all) => all.map((a) => a.getAttribute("href")))) assert.match(h, /^(https?|mailto):/)
  assert.deepEqual(await chat(page).evaluate((e) => [...e.shadowRoot.querySelectorAll("script, iframe, img[src=x], math, base, style, link, details")].map((x) => x.outerHTML)), [])
  assert.deepEqual(ran, [], "executed")
  await profile.close()
})

test("a token whose time is over is asked for anew, and nothing is lost; without one it says so, and goes on when there is one", async () => {
  const q = await question("tokens")
  const page = await visit(await hosted(`<!doctype html><html lang="en"><title>host</title><script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${q.conversation}"></skein-conversation></html>`))
  const asked = []
  let life = 1500
  await page.exposeFunction("mint", async (rejected) => {
    asked.push(rejected)
    return life === 0 ? "" : q.mint(life)
  })
  const states = []
  await page.exposeFunction("told", (s) => states.push(s))
  await chat(page).evaluate((e) => {
    e.addEventListener("skein-state", (s) => globalThis.told(s.detail.state))
    e.getToken = (rejected) => globalThis.mint(rejected)
  })
  await opened(page)
  await until("a second one was asked for", () => asked.length >= 2)
  assert.equal(asked[0], "")
  assert.notEqual(asked[1], "", "the refused one is not named")
  await area(page).fill("still here")
  await area(page).press("Enter")
  await said(page, "still here").locator("[aria-label=Sent]").waitFor()
  life = 0
  await chat(page).getByRole("heading", { name: "This conversation was closed" }).waitFor()
  life = 60_000
  await chat(page).getByRole("button", { name: "Try again" }).click()
  await said(page, "still here").waitFor()
  await until("the page was told", () => states.includes("expired") && states.at(-1) === "open")
  await page.context().close()
})

test("who is not let in is told so: a page of another origin, a user who is no member", async () => {
  const q = await question("refused")
  const token = await q.mint()
  const page = (conversation) => `<!doctype html><html lang="en"><title>host</title><script>document.addEventListener("DOMContentLoaded", () => { document.querySelector("skein-conversation").getToken = () => ${JSON.stringify(token)} })</script>
    <script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${conversation}"></skein-conversation></html>`
  const elsewhere = await host(page(q.conversation)) // 127.0.0.1, on another port than the server's
  hosts.push(elsewhere)
  const stranger = await visit(elsewhere.url)
  await chat(stranger).getByRole("heading", { name: "This page may not show the conversation" }).waitFor()
  const call = await stranger.evaluate(async ([url, t]) => fetch(`${url}/api/skein.v1.UserService/GetMe`, { method: "POST", headers: { authorization: `Bearer ${t}`, "content-type": "application/json" }, body: "{}" }).then(() => "read", () => "kept from the page"), [server.url, token])
  assert.equal(call, "kept from the page")
  await until("the browser has said why", () => browser.faults.some((f) => f.includes("CORS policy")))
  browser.faults = browser.faults.filter((f) => !f.includes("CORS policy")) // that was asked for
  await stranger.context().close()
  const none = await visit(await hosted(page("grp:nobody-there")))
  await chat(none).getByRole("heading", { name: "You cannot see this conversation" }).waitFor()
  await none.context().close()
})

for (const [name, options] of [["light", { ...desktop, colorScheme: "light" }], ["dark", { ...desktop, colorScheme: "dark" }], ["phone, in Chinese", { ...phone, locale: "zh-CN" }]]) {
  test(`no violation of accessibility in the widget, and all of it by keyboard: ${name}`, async () => {
    const lang = name.includes("Chinese") ? "zh-CN" : "en"
    const q = await question(`axe-${name.replaceAll(/\W/g, "")}`)
    await send(q.conversation, { type: "text", text: "hello **you**, see https://example.com" })
    const { seq } = await send(q.conversation, { type: "text", text: "> quoted\n\n- one\n- two\n\n`code`" })
    await server.call("MessageService/ReactToMessage", { conversation: q.conversation, seq, id: next(), reaction: "🍃" }, agent.token)
    await send(q.conversation, ...poll())
    const token = await q.mint()
    const page = await visit(await hosted(`<!doctype html><html lang="${lang}"><meta name="viewport" content="width=device-width"><title>host</title><main><h1>Host</h1><script>document.addEventListener("DOMContentLoaded", () => { document.querySelector("skein-conversation").getToken = () => ${JSON.stringify(token)} })</script>
      <script src="${server.url}/skein-widget.js" defer></script><skein-conversation conversation="${q.conversation}"></skein-conversation></main></html>`), options)
    await opened(page)
    await said(page, "hello you").waitFor()
    const write = lang === "en" ? "Write a message" : "写消息"
    for (let i = 0; ; i++) {
      assert.ok(i < 16, "the keyboard does not come to where one writes")
      await page.keyboard.press("Tab")
      if (await chat(page).evaluate((e, label) => e.shadowRoot.activeElement?.getAttribute("aria-label") === label, write)) break
    }
    await page.keyboard.type("by keyboard")
    await page.keyboard.press("Enter")
    await said(page, "by keyboard").waitFor()
    await said(page, "Which tea?").locator(".act").click()
    await said(page, "Which tea?").locator(".bar .icon").first().click()
    await said(page, "hello you").locator(".act").click()
    await chat(page).locator(".answered").waitFor()
    assert.deepEqual(await violations(page, "the widget"), [])
    const outside = await chat(page).evaluate((e) => [...e.shadowRoot.querySelectorAll("*")].filter((x) => x.getBoundingClientRect().right > innerWidth + 1).length)
    assert.equal(outside, 0, "something stands beyond the screen")
    await page.context().close()
  })
}
