import assert from "node:assert/strict"
import { test } from "node:test"
import { Browser, phone } from "./browser.mjs"
import { logIn, register } from "./people.mjs"
import { Server, until } from "./server.mjs"


test("an account: made, kept over a reload, left behind by nothing after logging out", async () => {
  const server = await Server.open()
  const browser = await Browser.open()
  try {
    const ann = await browser.profile()
    const page = await ann.newPage()
    await register(page, server.url, "ann", "Ann")
    await page.reload()
    await page.getByRole("heading", { name: "Chats" }).waitFor()
    await ann.setOffline(true)
    await page.reload()
    await page.getByRole("heading", { name: "Chats" }).waitFor()
    await ann.setOffline(false)

    // A second person on a phone; a wrong password is said, and nothing is lost.
    const bob = await browser.profile(phone)
    const small = await bob.newPage()
    await register(small, server.url, "bob", "Bob")
    const width = await small.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(width[0] <= width[1], `the page is wider than the phone: ${width}`)
  } finally {
    await browser.close()
    await server.stop()
  }
})
