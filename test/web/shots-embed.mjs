// Pictures of the widget in the shop of examples/embed, for docs/screens: node shots-embed.mjs [DIRECTORY]. It wants a
// font for emojis (Debian: fonts-noto-color-emoji).
import { fileURLToPath } from "node:url"
import { Browser, desktop, phone } from "./browser.mjs"
import { Server } from "./server.mjs"
import { Shop, area, chat, opened, said } from "./shop.mjs"

const into = process.argv[2] ?? fileURLToPath(new URL("../../docs/screens", import.meta.url))
const server = await Server.open(["http.origins=localhost"])
const browser = await Browser.open()
const wide = { ...desktop, viewport: { width: 1200, height: 720 } }
try {
  await embedded("embed", { ...wide, colorScheme: "light" })
  await embedded("embed-dark", { ...wide, colorScheme: "dark" })
  await embedded("embed-phone", { ...phone, colorScheme: "light" })
} finally {
  await browser.close().catch((e) => console.error(e.message))
  await server.stop()
}

/** A visitor asks, an agent answers. */
async function embedded(name, options) {
  const agent = await server.register(name, "Mira of Northwind")
  const shop = await Shop.open(server, agent.user)
  try {
    const page = await (await browser.profile(options)).newPage()
    await page.goto(shop.url.replace("127.0.0.1", "localhost"))
    await opened(page)
    const conversation = await chat(page).getAttribute("conversation")
    const call = (method, more) => server.call(`MessageService/${method}`, { conversation, ...more }, agent.token)
    const answer = (id, text, replyTo) => call("SendMessage", { id: `00000000-0000-7000-8000-00000000000${id}`, content: { type: "text", text }, ...(replyTo === undefined ? {} : { replyTo }) })
    await area(page).fill("Good morning! Does *Dawn Flight* stand a second brew?")
    await area(page).press("Enter")
    await said(page, "second brew").locator("[aria-label=Sent]").waitFor()
    const asked = (await server.stored(conversation, agent.token)).find((e) => e.content?.text?.includes("second brew"))
    await answer(1, "It does, up to **three** times:\n\n1. 90 °C, two minutes\n2. 95 °C, three minutes\n3. boiling, as long as you like", asked.seq)
    await call("ReactToMessage", { seq: asked.seq, id: "00000000-0000-7000-8000-000000000002", reaction: "🍃" })
    await said(page, "three times").waitFor()
    await area(page).fill("Wonderful, thank you. Then I take a hundred grams.")
    await area(page).press("Enter")
    await said(page, "hundred grams").locator("[aria-label=Sent]").waitFor()
    await answer(3, "It leaves today 🍵")
    await said(page, "leaves today").waitFor()
    await chat(page).scrollIntoViewIfNeeded()
    await page.waitForTimeout(800)
    await page.screenshot({ path: `${into}/${name}.png` })
  } finally {
    await shop.close()
  }
}
