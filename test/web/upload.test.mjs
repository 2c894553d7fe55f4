// An upload whose connection is cut in the middle goes on where it was: what arrives is whole, and little goes twice.
import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { befriend, dm, logIn, message, open } from "./people.mjs"
import { Link, Server, until } from "./server.mjs"

let server, browser, link, ann, bob, page
const directory = mkdtempSync(join(tmpdir(), "skein-upload-"))

before(async () => {
  server = await Server.open()
  browser = await Browser.open()
  link = await Link.open(server)
  ann = await server.register("ann", "Ann")
  bob = await server.register("bob", "Bob")
  await befriend(server, ann, bob)
  page = await (await browser.profile()).newPage()
  await logIn(page, link.url, "ann")
  await open(page, link.url, dm(ann.user, bob.user))
})

after(async () => {
  await browser?.close()
  await link?.close()
  await server?.stop()
  rmSync(directory, { recursive: true, force: true })
})

test("cut in the middle, and resumed", async (t) => {
  const body = randomBytes(6 << 20)
  const file = join(directory, "geese.bin")
  writeFileSync(file, body)
  const before = link.sent
  link.cutAfter(body.length / 2)
  await page.locator("input[type=file]").first().setInputFiles(file)
  await page.getByRole("dialog").getByRole("button", { name: /^Send/ }).click()
  await until("the connection is cut", () => !link.whole, 20_000)
  const bar = page.getByRole("progressbar", { name: "geese.bin" })
  const part = Number(await bar.getAttribute("aria-valuenow"))
  assert.ok(part < 100, `${part} %: it was over already`)
  link.mend()
  await message(page, "geese.bin").getByRole("img", { name: /Sent|Delivered|Read/ }).waitFor({ timeout: 45_000 })
  const all = link.sent - before
  t.diagnostic(`${body.length} bytes in the file, ${all} sent in all: ${((100 * all) / body.length - 100).toFixed(1)} % more; ${part} % were known to be safe at the cut`)
  assert.ok(all < 1.8 * body.length, `${all} bytes were sent for ${body.length}`)
  const said = (await server.stored(dm(ann.user, bob.user), bob.token)).find((e) => e.content?.type === "file")
  const { media } = JSON.parse(said.content.text)
  const got = await fetch(`${server.url}/media/${media}?conversation=${said.conversation}&seq=${said.seq}`, { headers: { authorization: `Bearer ${bob.token}` } })
  assert.equal(got.status, 200, await got.clone().text().then((s) => s.slice(0, 200)))
  const hash = (b) => createHash("sha256").update(b).digest("hex")
  assert.equal(hash(Buffer.from(await got.arrayBuffer())), hash(body), "what arrived is another file")
})
