// Accounts in the app: made, kept, entered by two steps and by a provider, connected in one place at a time.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, phone } from "./browser.mjs"
import { authenticator } from "./authenticator.mjs"
import { composer, enter, logIn, register } from "./people.mjs"
import { Provider } from "./provider.mjs"
import { password, Server } from "./server.mjs"

let server, browser, provider

before(async () => {
  provider = await Provider.open()
  server = await Server.open((url) => ({ "http.public_url": url, "accounts.providers": provider.settingsFor(url), "accounts.return_urls": `${url}/login` }))
  browser = await Browser.open()
})

after(async () => {
  await browser?.close()
  await server?.stop()
  await provider?.close()
})

test("an account: made, kept over a reload and without a connection; a phone has room for it", async () => {
  const ann = await browser.profile()
  const page = await ann.newPage()
  await page.goto(`${server.url}/register`)
  await page.getByText("3 to 32 letters, digits, dots, hyphens or underscores.").waitFor()
  await page.getByLabel("Your name").fill("   ")
  await page.getByLabel("User name").fill("ann")
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.getByRole("button", { name: "Create account" }).click()
  await page.getByText("Enter your name.").waitFor()
  await register(page, server.url, "ann", "Ann")
  await page.reload()
  await page.getByRole("heading", { name: "Chats" }).waitFor()
  await ann.setOffline(true)
  await page.reload()
  await page.getByRole("heading", { name: "Chats" }).waitFor()
  await ann.setOffline(false)

  const small = await (await browser.profile(phone)).newPage()
  await register(small, server.url, "bob", "Bob")
  await small.getByRole("button", { name: "Find people" }).waitFor() // the way on stands on the first screen
  const width = await small.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  assert.ok(width[0] <= width[1], `the page is wider than the phone: ${width}`)
})

test("two-step login: password, then a code; a wrong one is refused, a recovery code does", async () => {
  const { token } = await server.register("tom", "Tom")
  const { secret } = await server.call("AccountService/BeginTotp", { password }, token)
  const { recoveryCodes } = await server.call("AccountService/ConfirmTotp", { code: authenticator(secret, -1) }, token)
  const page = await (await browser.profile()).newPage()
  const second = async () => {
    await enter(page, server.url, "tom")
    await page.getByRole("heading", { name: "One more step" }).waitFor()
  }
  const code = async (text) => {
    await page.getByLabel("Code").fill(text)
    await page.getByRole("button", { name: "Log in", exact: true }).click()
  }
  await second()
  await code("000000")
  await page.getByRole("alert").waitFor()
  await code(authenticator(secret, 0))
  await page.getByRole("heading", { name: "Chats" }).waitFor()
  const other = await (await browser.profile()).newPage()
  await enter(other, server.url, "tom")
  await other.getByLabel("Code").fill(recoveryCodes[0])
  await other.getByRole("button", { name: "Log in", exact: true }).click()
  await other.getByRole("heading", { name: "Chats" }).waitFor()
})

test("login by a provider of OpenID Connect: there and back, and the same account again", async () => {
  const come = async () => {
    const page = await (await browser.profile()).newPage()
    await page.goto(`${server.url}/login`)
    await page.getByRole("button", { name: "Continue with Example Corp" }).click()
    await provider.logIn(page, "olga")
    await page.getByRole("heading", { name: "Chats" }).waitFor().catch(async (e) => assert.fail(`${e.message}: ${page.url()}: ${await page.innerText("body")}`))
    assert.equal(new URL(page.url()).search, "", "the code stays in the address")
    return page.evaluate(() => JSON.parse(localStorage.getItem("skein.session")).user)
  }
  const user = await come()
  assert.equal(await come(), user)
})

test("a second browser takes the first one's place, which says so and can take it back", async () => {
  await server.register("kim", "Kim")
  const [first, second] = [await (await browser.profile()).newPage(), await (await browser.profile()).newPage()]
  await logIn(first, server.url, "kim")
  await logIn(second, server.url, "kim")
  await first.getByRole("heading", { name: "Skein is open elsewhere" }).waitFor()
  await first.getByText(/You logged in with .*, so this browser was disconnected/).waitFor()
  await first.getByRole("button", { name: "Use Skein here" }).click()
  await first.getByRole("heading", { name: "Chats" }).waitFor()
  await second.getByRole("heading", { name: "Skein is open elsewhere" }).waitFor()
  assert.equal(await composer(second).count(), 0)
})
