// The page of all components: each of them is there, has a size, and breaks nothing, in light, dark, from right to left and at 200 %.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { after, before, test } from "node:test"
import { Browser, desktop } from "./browser.mjs"
import { register } from "./people.mjs"
import { Server } from "./server.mjs"

let server, browser, page

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  page = await (await browser.profile(desktop)).newPage()
  await register(page, server.url, "ann", "Ann Lee")
  await page.goto(`${server.url}/dev/gallery`)
  await page.getByRole("heading", { name: "Components" }).waitFor()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

test("every component of ui stands in the gallery", () => {
  const read = (path) => readFileSync(new URL(`../../web/src/${path}`, import.meta.url), "utf8")
  const exported = [...read("ui/index.ts").matchAll(/^export \{([^}]*)\}/gm)].flatMap((m) => m[1].split(",")).map((n) => n.trim()).filter((n) => /^[A-Z]\w*$/.test(n) && n !== "Toasts")
  const gallery = read("dev/Gallery.tsx")
  assert.ok(exported.length > 20, exported.join())
  assert.deepEqual(exported.filter((n) => !gallery.includes(`<${n}`)), [], "not in the gallery")
})

test("each part has a picture of its own, in every look", async (t) => {
  const parts = page.locator("section[aria-label]:has(> h2)")
  const looks = {
    light: () => page.getByRole("button", { name: "Light", exact: true }).click(),
    dark: () => page.getByRole("button", { name: "Dark", exact: true }).click(),
    "right to left": () => page.getByRole("switch", { name: "Right to left" }).click(),
    large: () => page.getByRole("switch", { name: "200 %" }).click(),
  }
  let shot = 0
  for (const [look, set] of Object.entries(looks)) {
    await set()
    const n = await parts.count()
    assert.ok(n >= 12, `${n} parts`)
    for (let i = 0; i < n; i++) {
      const part = parts.nth(i)
      const name = await part.getAttribute("aria-label")
      const box = await part.boundingBox()
      assert.ok(box !== null && box.width > 100 && box.height > 20, `${name}, ${look}: ${JSON.stringify(box)}`)
      const picture = await part.screenshot({ animations: "disabled" })
      assert.ok(picture.length > 700, `${name}, ${look}: nothing is painted`)
      shot++
    }
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(wide[0] <= wide[1], `${look}: the page is wider than its window: ${wide}`)
  }
  t.diagnostic(`${shot} pictures`)
})
