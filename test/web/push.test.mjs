// What a push does in a real service worker (SPEC §14): the worker is given payloads as Chromium gives it those that it
// decrypted; in the last test those that the server sent to the subscription that the app made.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser } from "./browser.mjs"
import { dm, logIn, message as shownMessage } from "./people.mjs"
import { PushService, subscribed } from "./pushservice.mjs"
import { Server, until } from "./server.mjs"

let server, browser, service
before(async () => {
  service = await PushService.open()
  server = await Server.open(["accounts.dm_policy=everyone", "push.allow=127.0.0.0/8", "push.wait=2s", "push.contact=mailto:a@example.com"], { SSL_CERT_FILE: service.certificate })
  browser = await Browser.open()
})
after(async () => {
  // Pages of playwright are private windows, which cannot subscribe; Chromium says so by itself.
  if (browser) browser.faults = browser.faults.filter((f) => !f.includes("Push API in incognito mode"))
  await browser?.close()
  await server?.stop()
  await service?.close()
})

/** Logs in, in a page whose service worker runs; push(data) gives the worker a payload, shown() is what it shows. */
async function wokenPage(username, subscription) {
  const context = await browser.profile()
  if (subscription !== undefined) await context.addInitScript(subscribed, subscription)
  await context.grantPermissions(["notifications"], { origin: server.url })
  const page = await context.newPage()
  const sent = [] // what it sends to the server
  page.on("websocket", (ws) => ws.on("framesent", ({ payload }) => sent.push(payload)))
  const cdp = await context.newCDPSession(page)
  let registrationId
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => (registrationId = registrations.find((r) => !r.isDeleted)?.registrationId ?? registrationId))
  await cdp.send("ServiceWorker.enable")
  await logIn(page, server.url, username)
  await page.evaluate(() => navigator.serviceWorker.ready)
  await until("the worker is known", () => registrationId)
  const push = (data) => cdp.send("ServiceWorker.deliverPushMessage", { origin: server.url, registrationId, data: typeof data === "string" ? data : JSON.stringify(data) })
  const shown = () => page.evaluate(async () => {
    const r = await navigator.serviceWorker.getRegistration("/")
    return (await r.getNotifications()).map((n) => ({ title: n.title, body: n.body, tag: n.tag, seq: n.data.seq }))
  })
  return { context, page, push, shown, sent }
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

test("what the server sends is decrypted with the subscription's keys, shown by the worker, and opened by a click; none of what is muted or was received", async () => {
  const [eve, fay, gil] = [await server.register("eve", "Eve"), await server.register("fay", "Fay"), await server.register("gil", "Gil")]
  const [chat, other] = [dm(eve.user, fay.user), dm(fay.user, gil.user)]
  const says = async (who, conversation, text) => Number((await server.call("MessageService/SendMessage", { conversation, content: { type: "text", text } }, who.token)).seq)
  /** Resolves with all that was pushed since n, once there is something. */
  const pushed = async (n) => {
    await until("the server pushes", () => service.told.length > n, 20_000).catch((e) => assert.fail(`${e.message}; refused: ${service.wrong}`))
    return service.told.slice(n).map(({ text }) => JSON.parse(text)).map(({ type, conversation, seq, name, text, more }) => ({ type, conversation, seq: Number(seq), name, text, more: more ?? 0 }))
  }
  const { context, page, push, shown, sent } = await wokenPage("fay", service.subscription)
  const { key } = await server.call("PushService/GetPushKey", {}, fay.token)
  await page.waitForFunction((key) => globalThis.pushKey === key, key)

  // Received by the app: nobody is woken for it. Then the app is closed; another page of the server stays.
  const received = await says(eve, chat, "while she looks")
  const acknowledges = (frame) => [chat, `"received":`, `"${received}"`].every((part) => String(frame).includes(part))
  await until("the app acknowledges it", () => sent.some(acknowledges)).catch((e) => assert.fail(`${e.message}: ${sent}`))
  await page.goto(`${server.url}/api/docs`)
  const muted = await says(gil, other, "to be muted")
  const first = await pushed(0)
  assert.deepEqual(first, [{ type: "message", conversation: other, seq: muted, name: "Gil", text: "to be muted", more: 0 }])

  await server.call("MessageService/SetMyState", { conversation: other, mutedUntilMs: String(Date.now() + 3_600_000) }, fay.token)
  await says(gil, other, "muted")
  const seq = await says(eve, chat, "the geese are back")
  assert.deepEqual(await pushed(1), [{ type: "message", conversation: chat, seq, name: "Eve", text: "the geese are back", more: 0 }], "none of the muted one, none of what was received")
  assert.equal(service.told[1].key, key, "signed with the key for which the app subscribed")

  const isShown = () => until("it is shown", async () => {
    await push(service.told[1].text)
    return await until("soon", async () => (await shown()).length === 1, 2000).catch(() => false) // DevTools give none to a worker that just starts
  }, 20_000)
  await isShown()
  assert.deepEqual(await shown(), [{ title: "Eve", body: "the geese are back", tag: `c:${chat}`, seq }])

  // No window of the app is open, so it opens one (which a browser allows to a person's click alone, so that here it says where).
  const [worker] = context.serviceWorkers()
  const click = () => worker.evaluate(async () => {
    const [notification] = await self.registration.getNotifications()
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification }))
  })
  await worker.evaluate(() => (self.clients.openWindow = async (path) => ((self.opened = path), null)))
  await click()
  await until("a window is opened", () => worker.evaluate((path) => self.opened === path, `/c/${chat}`))
  await isShown()

  // A window of the app that is loading yet, and does not hear what it is told.
  const app = await context.newPage()
  await app.goto(server.url)
  await click()
  await app.waitForURL((u) => decodeURIComponent(u.pathname) === `/c/${chat}`)
  await shownMessage(app, "the geese are back").waitFor()
  await until("the click takes it away", async () => (await shown()).length === 0)
})

test("a click is told to the open page, which goes there; one that does not answer is navigated in the end; where that is refused a window opens", async () => {
  const [hal, ida] = [await server.register("hal", "Hal"), await server.register("ida", "Ida")]
  const chat = dm(hal.user, ida.user)
  await server.call("MessageService/SendMessage", { conversation: chat, content: { type: "text", text: "over here" } }, hal.token)
  const { context, page } = await wokenPage("ida")
  // Before the app's own: a page that is deaf hears nothing of the worker.
  await context.addInitScript(() => navigator.serviceWorker.addEventListener("message", (e) => globalThis.deaf && e.stopImmediatePropagation()))
  const [worker] = context.serviceWorkers()
  await worker.evaluate(() => {
    const { navigate } = WindowClient.prototype
    self.did = []
    WindowClient.prototype.navigate = function (path) {
      self.did.push({ navigate: path, after: Date.now() - self.clicked })
      return self.refuses ? Promise.reject(new TypeError("refused")) : navigate.call(this, path)
    }
    self.clients.openWindow = async (path) => (self.did.push({ open: path, after: Date.now() - self.clicked }), null)
  })
  /** Clicks on a notification, in a page that was just loaded; resolves once something came of it, with what the worker did. */
  const clicks = async ({ deaf, refuses }, so) => {
    await page.goto(server.url)
    await page.getByRole("heading", { name: "Chats" }).waitFor()
    await until("the page hears the worker", () => worker.evaluate(async () => {
      const [c] = await self.clients.matchAll({ type: "window" })
      return await new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve(true)
        setTimeout(() => resolve(false), 500)
        c?.postMessage({ type: "skein.seen", path: "/" }, [port2])
      })
    }))
    await page.evaluate((deaf) => Object.assign(globalThis, { deaf, same: true }), deaf)
    await worker.evaluate(async ({ refuses, chat }) => {
      Object.assign(self, { refuses, did: [] })
      await self.registration.showNotification("Hal", { tag: `c:${chat}`, data: { conversation: chat, seq: 1 } })
      const [notification] = await self.registration.getNotifications({ tag: `c:${chat}` })
      self.clicked = Date.now()
      self.dispatchEvent(new NotificationEvent("notificationclick", { notification }))
    }, { refuses, chat })
    const did = () => worker.evaluate(() => self.did)
    await until("something comes of it", async () => so(await did())).catch(async (e) => assert.fail(`${e.message}: ${JSON.stringify(await did())}, ${page.url()}`))
    return await did()
  }
  const path = `/c/${chat}`
  const there = () => decodeURIComponent(new URL(page.url()).pathname) === path
  const same = () => page.evaluate(() => globalThis.same === true)

  assert.deepEqual(await clicks({ deaf: false, refuses: false }, there), [])
  await shownMessage(page, "over here").waitFor()
  await new Promise((r) => setTimeout(r, 6000)) // beyond the time in which it may answer
  assert.deepEqual([await worker.evaluate(() => self.did), await same()], [[], true], "the page that answered is neither navigated nor loaded anew")

  const [navigated, ...more] = await clicks({ deaf: true, refuses: false }, there)
  assert.deepEqual([navigated.navigate, more], [path, []])
  assert.ok(navigated.after >= 4900, `navigated after ${navigated.after} ms: it may have been busy, and its uploads are lost`)
  await shownMessage(page, "over here").waitFor()

  const did = await clicks({ deaf: true, refuses: true }, (did) => did.length > 1)
  assert.deepEqual(did.map(({ navigate, open }) => ({ navigate, open })), [{ navigate: path, open: undefined }, { navigate: undefined, open: path }])
  assert.equal(await same(), true)
})
