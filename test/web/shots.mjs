// Pictures of the app for docs/screens: node shots.mjs [DIRECTORY]. It wants fonts for Chinese and emojis
// (Debian: fonts-wqy-zenhei, fonts-noto-color-emoji).
import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Browser, desktop, phone } from "./browser.mjs"
import { dm } from "./people.mjs"
import { Server } from "./server.mjs"

const into = process.argv[2] ?? fileURLToPath(new URL("../../docs/screens", import.meta.url))
mkdirSync(into, { recursive: true })
const server = await Server.open()
const browser = await Browser.open()
try {
  execFileSync(process.execPath, [fileURLToPath(new URL("fill.mjs", import.meta.url)), server.url], { stdio: "inherit" })
  const enter = async (options, username = "mira") => {
    const profile = await browser.profile(options)
    const page = await profile.newPage()
    await page.goto(`${server.url}/login`)
    await page.locator("input").first().fill(username)
    await page.locator("input[type=password]").fill("correct horse")
    await page.locator("form button[type=submit]").click()
    await page.locator("nav a, [data-pane]").first().waitFor()
    await page.waitForTimeout(1500)
    return page
  }
  const shot = (page, name) => page.waitForTimeout(800).then(() => page.screenshot({ path: `${into}/${name}.png` }))
  const big = { ...desktop, viewport: { width: 1360, height: 850 } }
  const to = async (page, name) => {
    await page.locator("a[href^='/c/']").filter({ hasText: name }).first().click()
    await page.locator("article[data-seq]").last().waitFor()
  }
  // One device of a class at a time is connected: each login sends the one before away.
  const small = await enter({ ...phone, colorScheme: "light" })
  await shot(small, "phone-list")
  await to(small, "Saturday hike")
  await shot(small, "phone")
  const chinese = await enter({ ...big, locale: "zh-CN", colorScheme: "light" })
  await to(chinese, "Saturday hike")
  await shot(chinese, "zh-CN")
  const page = await enter({ ...big, colorScheme: "light" })
  await to(page, "Saturday hike")
  await shot(page, "light")
  await page.emulateMedia({ colorScheme: "dark" })
  await to(page, "Release")
  await shot(page, "dark")
  await page.emulateMedia({ colorScheme: "light" })
  await page.goto(`${page.url()}/details`)
  await shot(page, "details")
  await page.goto(`${server.url}/settings/privacy`)
  await shot(page, "settings")
  await page.goto(`${server.url}/`)
  await to(page, "Lena Novak")
  await server.kill()
  await page.waitForTimeout(2500)
  await shot(page, "offline")
  await server.start()
  const nobody = await (await browser.profile(big)).newPage()
  await nobody.goto(`${server.url}/register`)
  await nobody.locator("input").nth(0).fill("Noa Lind")
  await nobody.locator("input").nth(1).fill("noa")
  await nobody.locator("input").nth(2).fill("correct horse battery")
  await shot(nobody, "register")
  await nobody.locator("form button[type=submit]").click()
  await nobody.getByRole("heading", { name: "Chats" }).waitFor()
  await shot(nobody, "empty")
  // Somebody asks to be her contact, and she looks up somebody else.
  const call = (method, body, token) => server.call(method, body, token)
  const { tokens: ida } = await call("AccountService/Register", { username: "ida", password: "correct horse battery", device: { id: "ida", class: "DEVICE_CLASS_OTHER" } })
  await call("UserService/UpdateProfile", { displayName: "Ida Berg" }, ida.accessToken)
  const user = await nobody.evaluate(() => JSON.parse(localStorage.getItem("skein.session")).user)
  await call("ContactService/RequestContact", { user, message: "We met at the lake, remember?" }, ida.accessToken)
  const { tokens: mira } = await call("AccountService/Login", { username: "mira", password: "correct horse", device: { id: "shots", class: "DEVICE_CLASS_OTHER" } })
  await nobody.goto(`${server.url}/c/${dm(user, mira.user)}`)
  await nobody.getByRole("link", { name: /wants to add you/ }).waitFor()
  await shot(nobody, "strangers")
} finally {
  await browser.close().catch((e) => console.error(e.message))
  await server.stop()
}
