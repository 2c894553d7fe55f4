// What a push does in a real service worker (SPEC §14): the worker is given payloads as Chromium gives it those that it
// decrypted. (That the server's bodies decrypt: internal/push TestVectorOfRFC8291 and test/e2e TestPush.)
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { logIn } from "./people.mjs"
import { Server, until } from "./server.mjs"

let server, browser
before(async () => {
  server = await Server.open(["accounts.dm_policy=everyone"])
  browser = await Browser.open()
})
after(async () => {
  // Pages of playwright are private windows, which cannot subscribe; Chromium says so by itself.
  if (browser) browser.faults = browser.faults.filter((f) => !f.includes("Push API in incognito mode"))
  await browser?.close()
  await server?.stop()
})

/** Logs in, in a page whose service worker runs; push(data) gives the worker a payload, shown() is what it shows. */
async function wokenPage(username) {
  const context = await browser.profile()
  await context.grantPermissions(["notifications"], { origin: server.url })
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  let registrationId
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => (registrationId = registrations.find((r) => !r.isDeleted)?.registrationId ?? registrationId))
  await cdp.send("ServiceWorker.enable")
  await logIn(page, server.url, username)
  await page.evaluate(() => navigator.serviceWorker.ready)
  await until("the worker is known", () => registrationId)
  const push = (data) => cdp.send("ServiceWorker.deliverPushMessage", { origin: server.url, registrationId, data: typeof data === "string" ? data : JSON.stringify(data) })
  const shown = () => page.evaluate(async () => {
    const r = await navigator.serviceWorker.ready
    return (await r.getNotifications()).map((n) => ({ title: n.title, body: n.body, tag: n.tag, seq: n.data.seq }))
  })
  return { context, page, push, shown }
}

test("a push is shown, a newer one takes its place, a read elsewhere takes it away, a click opens it", async () => {
  const [ann, bob] = [await server.register("ann", "Ann"), await server.register("bob", "Bob")]
  const chat = `dm:${[ann.user, bob.user].sort().join(":")}`
  await server.call("MessageService/SendMessage", { conversation: chat, content: { type: "text", text: "hello" } }, ann.token)
  const { context, page, push, shown } = await wokenPage("bob")
  const message = (seq, more = {}) => ({ type: "message", conversation: chat, seq: String(seq), name: "Ann", content: "text", text: "hello", ...more })
  const one = async (what, fits) => await until(what, async () => {
    const all = await shown()
    return all.length === 1 && fits(all[0]) && all[0]
  })

  await until("it is shown", async () => {
    await push(message(5)) // a worker that is not active yet gets none; a repeat is the same
    return (await shown()).length > 0
  })
  await one("it is shown once", (n) => n.title === "Ann" && n.body === "hello" && n.tag === `c:${chat}`)
  await push(message(7, { text: "three", more: 2 }))
  await one("the newer one is", (n) => n.seq === 7 && n.body === "three\n2 more messages")
  await push(message(6, { text: "late" }))
  await push("no JSON")
  await push({ type: "from a later version", conversation: chat, seq: "9" })
  await push({ type: "close", conversation: chat, seq: "6" })
  await push({ type: "message", conversation: "grp:geese", seq: "3", name: "Cyd", title: "Geese", content: "image" })
  await until("a group's is shown beside it", async () => (await shown()).some((n) => n.title === "Geese" && n.body === "Cyd: Picture"))
  assert.deepEqual((await shown()).map((n) => n.seq).sort(), [3, 7])
  await push({ type: "close", conversation: "grp:geese", seq: "3" })
  await one("that of the group is taken away", (n) => n.seq === 7)
  await push({ type: "message", conversation: "grp:hidden", seq: "1" })
  await until("nothing is told of who wants no text", async () => (await shown()).some((n) => n.title === "Skein" && n.body === "New message"))
  await until("it is taken away", async () => {
    await push({ type: "close", conversation: "grp:hidden", seq: "1" })
    return (await shown()).map((n) => n.seq).join() === "7"
  })

  const [worker] = context.serviceWorkers()
  await worker.evaluate(async () => {
    const [notification] = await self.registration.getNotifications()
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification }))
  })
  await page.waitForURL((u) => decodeURIComponent(u.pathname) === `/c/${chat}`)
  await until("the click takes it away", async () => (await shown()).length === 0)
  // It is open before the user's eyes: nothing is shown. What is of another conversation is.
  await page.bringToFront()
  await push(message(8))
  await push({ type: "message", conversation: "grp:geese", seq: "4", title: "Geese", name: "Cyd", text: "honk", content: "text" })
  await one("the other one alone is shown", (n) => n.title === "Geese")
})

test("a notification of what was read while a page was there is taken away", async () => {
  const [cyd, dan] = [await server.register("cyd", "Cyd"), await server.register("dan", "Dan")]
  const chat = `dm:${[cyd.user, dan.user].sort().join(":")}`
  const { seq } = await server.call("MessageService/SendMessage", { conversation: chat, content: { type: "text", text: "hello" } }, cyd.token)
  const { push, shown } = await wokenPage("dan")
  await push({ type: "message", conversation: chat, seq, name: "Cyd", content: "text", text: "hello" })
  await until("it is shown", async () => (await shown()).length === 1)
  await server.call("MessageService/MarkRead", { conversation: chat, seq }, dan.token)
  await until("it is taken away", async () => (await shown()).length === 0)
})
