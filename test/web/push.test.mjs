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
  let all = []
  /**
   * Gives the worker a payload until what is shown is so: DevTools give none to a worker that just starts, and a repeat
   * changes nothing.
   */
  const gives = async (what, data, fits) => {
    await until(what, async () => {
      await push(data)
      for (let i = 0; i < 40; i++) {
        all = await shown()
        if (fits(all)) return true
        await new Promise((r) => setTimeout(r, 50))
      }
    }, 20_000).catch((e) => assert.fail(`${e.message}: ${JSON.stringify(all)}`))
  }
  const is = (...seqs) => (ns) => ns.map((n) => n.seq).sort().join() === seqs.join()

  await gives("it is shown", message(5), (ns) => is(5)(ns) && ns[0].title === "Ann" && ns[0].body === "hello" && ns[0].tag === `c:${chat}`)
  await gives("the newer one is", message(7, { text: "three", more: 2 }), (ns) => is(7)(ns) && ns[0].body === "three\n2 more messages")
  await push(message(6, { text: "late" }))
  await push("no JSON")
  await push({ type: "from a later version", conversation: chat, seq: "9" })
  await push({ type: "close", conversation: chat, seq: "6" })
  const geese = { type: "message", conversation: "grp:geese", seq: "3", name: "Cyd", title: "Geese", content: "image" }
  await gives("a group's is shown beside it", geese, (ns) => is(3, 7)(ns) && ns.some((n) => n.title === "Geese" && n.body === "Cyd: Picture"))
  await gives("that of the group is taken away", { type: "close", conversation: "grp:geese", seq: "3" }, is(7))
  await gives("nothing is told of who wants no text", { type: "message", conversation: "grp:hidden", seq: "1" }, (ns) => is(1, 7)(ns) && ns.some((n) => n.title === "Skein" && n.body === "New message"))
  await gives("it is taken away", { type: "close", conversation: "grp:hidden", seq: "1" }, is(7))

  const [worker] = context.serviceWorkers()
  await worker.evaluate(async () => {
    const [notification] = await self.registration.getNotifications()
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification }))
  })
  await page.waitForURL((u) => decodeURIComponent(u.pathname) === `/c/${chat}`)
  await until("the click takes it away", async () => (await shown()).length === 0).catch(async (e) => assert.deepEqual(await shown(), [], e.message))
  // It is open before the user's eyes: nothing is shown. What is of another conversation is.
  await page.bringToFront()
  await push(message(8))
  await gives("the other one alone is shown", { ...geese, seq: "4" }, is(4))
})

test("a notification of what was read while a page was there is taken away", async () => {
  const [cyd, dan] = [await server.register("cyd", "Cyd"), await server.register("dan", "Dan")]
  const chat = `dm:${[cyd.user, dan.user].sort().join(":")}`
  const { seq } = await server.call("MessageService/SendMessage", { conversation: chat, content: { type: "text", text: "hello" } }, cyd.token)
  const { push, shown } = await wokenPage("dan")
  await until("it is shown", async () => {
    await push({ type: "message", conversation: chat, seq, name: "Cyd", content: "text", text: "hello" })
    return await until("soon", async () => (await shown()).length === 1, 2000).catch(() => false) // a repeat that comes late would show it anew
  })
  await server.call("MessageService/MarkRead", { conversation: chat, seq }, dan.token)
  await until("it is taken away", async () => (await shown()).length === 0)
})
