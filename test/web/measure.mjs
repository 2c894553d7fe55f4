// Figures of the web app in Chromium, as JSON on the standard output; nothing is asserted, and the machine should be quiet.
//   node test/web/measure.mjs [load] [send] [scroll] [memory] [cold] [--messages N] [--minutes N] [--rate N]
//     [--conversations N] [--each N]
// Without a name all are measured. docs/performance.md has figures, and says what they mean.
import { existsSync } from "node:fs"
import { availableParallelism, cpus, loadavg } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Browser, desktop } from "./browser.mjs"
import { befriend, composer, dm, enter, message, open } from "./people.mjs"
import { Server } from "./server.mjs"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: "string", default: "10000" },
    minutes: { type: "string", default: "5" }, rate: { type: "string", default: "10" },
    conversations: { type: "string", default: "500" }, each: { type: "string", default: "1000" },
  },
})
const set = Object.fromEntries(Object.entries(values).map(([k, v]) => [k, Number(v)]))
const round = (n, digits = 1) => Number(n.toFixed(digits))
const quantile = (all, q) => [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * q))]
const log = (...what) => console.error(new Date().toISOString().slice(11, 19), ...what)

/** Runs in the page before its own code: notes what Chromium tells of painting, shifts and long tasks. */
function observe() {
  const seen = { fcp: 0, lcp: 0, cls: 0, tbt: 0, longest: 0 }
  globalThis.seen = seen
  const on = (type, f) => new PerformanceObserver((l) => l.getEntries().forEach(f)).observe({ type, buffered: true })
  on("paint", (e) => { if (e.name === "first-contentful-paint") seen.fcp = e.startTime })
  on("largest-contentful-paint", (e) => (seen.lcp = e.startTime))
  on("layout-shift", (e) => { if (!e.hadRecentInput) seen.cls += e.value })
  on("longtask", (e) => {
    seen.tbt += Math.max(0, e.duration - 50)
    seen.longest = Math.max(seen.longest, e.duration)
  })
  // When the first conversation of the list, and the first message, stood in the document.
  const look = () => {
    for (const [name, what] of [["list", "[data-pane] a[href^='/c/']"], ["messages", "article[data-seq]"]]) {
      if (seen[name] === undefined && document.querySelector(what) !== null) seen[name] = performance.now()
    }
    if (seen.list === undefined || seen.messages === undefined) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}

const settled = async (page, ms = 2500) => {
  await page.waitForTimeout(ms) // what the page does after its first paint belongs to it
  return page.evaluate(() => globalThis.seen)
}

/** Logs in in a new profile; the page is at the list. */
async function comes(browser, server, username) {
  const profile = await browser.profile(desktop)
  await profile.addInitScript(observe)
  const page = await profile.newPage()
  await enter(page, server.url, username)
  await page.getByRole("heading", { name: "Chats" }).waitFor({ timeout: 60_000 })
  return { profile, page, cdp: await profile.newCDPSession(page) }
}

/** Bytes that come over the network from now on; the answer tells how many they were. */
async function counting(cdp) {
  let http = 0
  let socket = 0
  cdp.on("Network.loadingFinished", (e) => (http += e.encodedDataLength))
  cdp.on("Network.webSocketFrameReceived", (e) => (socket += e.response.payloadData.length))
  await cdp.send("Network.enable")
  return () => ({ http, socket })
}

/** Messages of a conversation, by copies of a hundred. */
async function fill(server, token, source, to, n) {
  for (let done = 0; done < n; ) {
    const part = source.slice(0, n - done)
    await server.call("MessageService/ForwardMessages", { conversation: to, messages: part }, token)
    done += part.length
  }
}

async function sources(server, token, conversation) {
  const words = "the light over the river was grey and the geese went south again while we had tea and talked about nothing much".split(" ")
  const all = []
  for (let i = 0; i < 100; i++) {
    const text = Array.from({ length: 3 + ((i * 7919) % 30) }, (_, j) => words[(i * 31 + j * 17) % words.length]).join(" ")
    const { seq } = await server.call("MessageService/SendMessage", { conversation, content: { type: "text", text } }, token)
    all.push({ conversation, seq })
  }
  return all
}

/** The session of an earlier visit of ann's, as the app keeps it. */
async function signedIn(server, device) {
  const { tokens } = await server.call("AccountService/Login", { username: "ann", password: "correct horse battery", stayLoggedIn: true, device: { id: device, class: "DEVICE_CLASS_WEB" } })
  return { user: tokens.user, username: "ann", session: tokens.session, accessToken: tokens.accessToken, accessExpiresAtMs: Number(tokens.accessExpiresAtMs), refreshToken: tokens.refreshToken }
}

/** The median of each figure of several runs. */
const median = (all) => Object.fromEntries(Object.keys(all[0]).map((k) => [k, round(quantile(all.map((x) => x[k] ?? 0), 0.5), k === "cls" ? 4 : 1)]))

/** First load, and a reload from the service worker's cache, of a conversation: medians of five. */
async function load(server, browser, ann, bob) {
  const chat = dm(ann.user, bob.user)
  const out = {}
  for (const throttle of [1, 4]) {
    const runs = { first: [], reload: [] }
    for (let i = 0; i < 5; i++) {
      const profile = await browser.profile(desktop)
      await profile.addInitScript(observe)
      // The session of an earlier visit, and nothing else: no cache, no service worker, no database.
      const session = await signedIn(server, `load-${throttle}-${i}`)
      await profile.addInitScript(([s, d]) => {
        localStorage.setItem("skein.session", s)
        localStorage.setItem("skein.device", d)
      }, [JSON.stringify(session), `load-${throttle}-${i}`])
      const page = await profile.newPage()
      const cdp = await profile.newCDPSession(page)
      await cdp.send("Emulation.setCPUThrottlingRate", { rate: throttle })
      const bytes = await counting(cdp)
      await page.goto(`${server.url}/c/${chat}`)
      await composer(page).waitFor({ timeout: 60_000 })
      runs.first.push({ ...(await settled(page)), ...bytes() })
      await page.evaluate(() => navigator.serviceWorker.ready)
      await page.waitForTimeout(1500)
      const again = await counting(await profile.newCDPSession(page))
      await page.reload()
      await composer(page).waitFor({ timeout: 60_000 })
      runs.reload.push({ ...(await settled(page)), ...again() })
      await profile.close()
    }
    out[`cpu ${throttle}x`] = { first: median(runs.first), reload: median(runs.reload) }
  }
  return out
}

/** From the key to one's own bubble, and to the tick that says that it is stored. */
async function send(server, browser, ann, bob) {
  const { page, profile } = await comes(browser, server, "ann")
  await open(page, server.url, dm(ann.user, bob.user))
  await page.waitForTimeout(2000)
  const times = await page.evaluate(async () => {
    const area = document.querySelector("textarea")
    const value = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set
    const times = { bubble: [], tick: [] }
    const region = document.querySelector("[role=region]")
    for (let i = 0; i < 200; i++) {
      const text = `measured ${Math.random()}`
      value.call(area, text)
      area.dispatchEvent(new Event("input", { bubbles: true }))
      await new Promise((r) => setTimeout(r, 30))
      const at = performance.now()
      let bubble = 0
      const done = new Promise((resolve) => {
        const look = () => {
          const row = [...region.querySelectorAll("article")].at(-1)
          if (!row?.textContent.includes(text)) return
          bubble ||= performance.now() - at
          if (row.querySelector("[aria-label=Sent], [aria-label=Delivered], [aria-label=Read]") === null) return
          watch.disconnect()
          resolve(performance.now() - at)
        }
        const watch = new MutationObserver(look)
        watch.observe(region, { childList: true, subtree: true, characterData: true, attributes: true })
      })
      area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", bubbles: true, cancelable: true }))
      const tick = await done
      if (i >= 20) {
        times.bubble.push(bubble)
        times.tick.push(tick)
      }
    }
    return times
  })
  await profile.close()
  const of = (all) => ({ p50: round(quantile(all, 0.5)), p99: round(quantile(all, 0.99)), max: round(Math.max(...all)) })
  return { messages: times.tick.length, "enter to bubble, ms": of(times.bubble), "enter to tick, ms": of(times.tick) }
}

/** Scrolls up through a long conversation, 60 px a frame, and tells which frames were late. */
async function scroll(server, browser, ann, bob) {
  const { group } = await server.call("GroupService/CreateGroup", { name: "Long", members: [bob.user] }, ann.token)
  const id = group.conversation
  await fill(server, ann.token, await sources(server, ann.token, dm(ann.user, bob.user)), id, set.messages)
  await server.call("MessageService/MarkRead", { conversation: id, seq: String(set.messages) }, ann.token)
  const { page, profile, cdp } = await comes(browser, server, "ann")
  await open(page, server.url, id)
  await page.locator("article[data-seq]").last().waitFor()
  await page.waitForTimeout(2000)
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" })
  const cpu = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]))
  const before = await cpu()
  const frames = await page.evaluate(async () => {
    const at = document.querySelector("[role=region]")
    const frames = []
    let last = await new Promise(requestAnimationFrame)
    for (let i = 0; i < 1200; i++) {
      at.scrollTop -= 60
      const now = await new Promise(requestAnimationFrame)
      frames.push(now - last)
      last = now
    }
    return frames
  })
  const after = await cpu()
  const { longest } = await page.evaluate(() => globalThis.seen)
  const rows = await page.locator("article[data-seq]").count()
  await profile.close()
  const per = (name) => round((1000 * (after[name] - before[name])) / frames.length, 2)
  return {
    messages: set.messages, frames: frames.length, "over 17.5 ms": frames.filter((f) => f > 17.5).length, "over 34 ms": frames.filter((f) => f > 34).length, "frame p50, ms": round(quantile(frames, 0.5)),
    "frame p99, ms": round(quantile(frames, 0.99)), "longest task, ms": round(longest), "cpu a frame, ms": { all: per("TaskDuration"), script: per("ScriptDuration"), layout: per("LayoutDuration"), style: per("RecalcStyleDuration") }, "rows in the document": rows,
  }
}

/** The heap of a page in a group in which much is said, over some minutes, after each of which garbage is collected. */
async function memory(server, browser, ann, bob) {
  const { group } = await server.call("GroupService/CreateGroup", { name: "Busy", members: [bob.user] }, ann.token)
  const { page, profile, cdp } = await comes(browser, server, "ann")
  await open(page, server.url, group.conversation)
  await page.bringToFront()
  const heap = []
  const began = Date.now()
  let said = 0
  let over = false
  const talking = (async () => {
    while (!over) {
      const wait = began + (1000 * said) / set.rate - Date.now()
      if (wait > 0) await new Promise((r) => setTimeout(r, wait))
      await server.call("MessageService/SendMessage", { conversation: group.conversation, content: { type: "text", text: `${++said}: the geese went south again` } }, bob.token)
    }
  })()
  const every = Math.max(10_000, (set.minutes * 60_000) / 20)
  while (Date.now() - began < set.minutes * 60_000) {
    await page.waitForTimeout(every)
    await cdp.send("HeapProfiler.collectGarbage")
    const { usedSize } = await cdp.send("Runtime.getHeapUsage")
    const { nodes } = await cdp.send("Memory.getDOMCounters")
    heap.push({ at: (Date.now() - began) / 60_000, mb: usedSize / 1e6, nodes })
    log(`${round(heap.at(-1).at)} min: ${round(heap.at(-1).mb, 2)} MB, ${nodes} nodes, ${said} messages`)
  }
  over = true
  await talking
  await message(page, `${said}:`).waitFor({ timeout: 30_000 })
  await profile.close()
  const half = heap.slice(Math.floor(heap.length / 2)) // the first half fills windows and caches
  const mean = (f) => half.reduce((n, x) => n + f(x), 0) / half.length
  const [x, y] = [mean((p) => p.at), mean((p) => p.mb)]
  const slope = half.reduce((n, p) => n + (p.at - x) * (p.mb - y), 0) / half.reduce((n, p) => n + (p.at - x) ** 2, 0)
  return { minutes: set.minutes, messages: said, "heap, MB": { first: round(heap[0].mb, 2), last: round(heap.at(-1).mb, 2) }, "slope of the second half, KB a minute": round(1000 * slope), "nodes, last": heap.at(-1).nodes }
}

const sdk = fileURLToPath(new URL("../../sdk/typescript/dist/src/", import.meta.url))

/** A page of the server's origin that has the SDK and nothing else. */
async function bare(profile, server) {
  const page = await profile.newPage()
  await page.route("**/fill/**", (route) => {
    const { pathname } = new URL(route.request().url())
    return route.fulfill({ path: sdk + pathname.slice("/fill/".length), contentType: "text/javascript" })
  })
  await page.goto(`${server.url}/livez`) // a page that did not come from there may not connect to this machine
  return page
}

/** Has the device's store hold all of these conversations, by the SDK, as if the user had scrolled through each. */
async function keep(profile, server, session, device, conversations) {
  const page = await bare(profile, server)
  await page.evaluate(async ([s, id, all]) => {
    const { shared } = await import("/fill/tabs/index.js")
    const client = shared({
      name: `skein-${s.user}`, url: `${location.origin.replace("http", "ws")}/ws`, getToken: () => Promise.resolve(s.accessToken),
      device: { id, class: "DEVICE_CLASS_WEB" }, client: "skein-web",
    })
    await client.connected()
    const patiently = async (f) => {
      for (;;) {
        try {
          return await f()
        } catch (e) {
          // A conversation is not found before the page of the first Sync that has it has come.
          if (!["rate_limited", "overloaded", "not_found"].includes(e.code)) throw e
          await new Promise((done) => setTimeout(done, e.retryAfterMs || 200))
        }
      }
    }
    for (const c of all) {
      const conversation = client.conversation(c)
      await patiently(() => conversation.load())
      while ((await patiently(() => conversation.loadOlder(200))) > 0);
    }
    await client.close()
  }, [session, device, conversations])
  await page.close()
}

/** How many entries the device's store has. */
async function kept(profile, server, session) {
  const page = await bare(profile, server)
  const n = await page.evaluate((name) => new Promise((resolve, reject) => {
    const open = indexedDB.open(name)
    open.onerror = () => reject(open.error)
    open.onsuccess = () => {
      const count = open.result.transaction("entries").objectStore("entries").count()
      count.onsuccess = () => (open.result.close(), resolve(count.result))
    }
  }), `skein-${session.user}`)
  await page.close()
  return n
}

/** Opening the app of a device that has much: from nothing to the list and to a conversation's messages, medians of five. */
async function cold(server, browser, ann, bob) {
  if (!existsSync(`${sdk}tabs/index.js`)) throw new Error("the SDK is not built: npm run build in sdk/typescript")
  const source = await sources(server, bob.token, dm(ann.user, bob.user))
  const all = []
  const make = async () => {
    while (all.length < set.conversations) {
      const n = all.push("") - 1
      const { group } = await server.call("GroupService/CreateGroup", { name: `Group ${n}`, members: [ann.user], requestId: `group-${n}` }, bob.token)
      all[n] = group.conversation
      await fill(server, bob.token, source, all[n], set.each)
    }
  }
  await Promise.all(Array.from({ length: 4 }, make))
  log(`${all.length} groups of ${set.each} messages`)
  const device = "much"
  const session = await signedIn(server, device)
  const profile = await browser.profile({ ...desktop, bypassCSP: true }) // for the pages that fill the store
  await profile.addInitScript(observe)
  await profile.addInitScript(([s, d]) => {
    if (localStorage.getItem("skein.session") !== null) return // the app may have exchanged it since
    localStorage.setItem("skein.session", s)
    localStorage.setItem("skein.device", d)
  }, [JSON.stringify(session), device])
  for (let i = 0; i < all.length; i += 25) await keep(profile, server, session, device, all.slice(i, i + 25)) // what was opened stays in memory
  const entries = await kept(profile, server, session)
  log(`${entries} entries in IndexedDB`)
  // The device said of each group what it received. Marks have the position of the next entry: until there is one, each
  // opening is told of all of them again, as it is nowhere where people write.
  await server.call("MessageService/SendMessage", { conversation: dm(ann.user, bob.user), content: { type: "text", text: "now all is there" } }, bob.token)
  const runs = []
  for (let i = 0; i < 6; i++) {
    const page = await profile.newPage()
    const bytes = await counting(await profile.newCDPSession(page))
    await page.goto(`${server.url}/c/${all[(i * 97) % all.length]}`)
    await page.waitForFunction(() => globalThis.seen.list !== undefined && globalThis.seen.messages !== undefined, undefined, { timeout: 60_000 })
    const run = { ...(await settled(page)), ...bytes() }
    if (i > 0) runs.push(run) // the first one brings the service worker
    await page.close()
  }
  await profile.close()
  return { conversations: all.length, entries, ...median(runs) }
}

/** A server whose calls wait where it says that they came too often. */
function patient(server) {
  const call = server.call.bind(server)
  server.call = async (...args) => {
    for (;;) {
      try {
        return await call(...args)
      } catch (e) {
        if (!/"(rate_limited|overloaded)"/.test(e.message)) throw e
        await new Promise((done) => setTimeout(done, Number(/"retryAfterMs":"?(\d+)/.exec(e.message)?.[1] ?? 200)))
      }
    }
  }
  return server
}

const all = { load, send, scroll, memory, cold }
const wanted = positionals.length === 0 ? Object.keys(all) : positionals
const out = { at: new Date().toISOString(), cpu: `${availableParallelism()} × ${cpus()[0]?.model}`, "load of the machine before": loadavg().map((n) => round(n)) }
for (const name of wanted) {
  if (!(name in all)) throw new Error(`there is no ${name}; there are ${Object.keys(all).join(", ")}`)
  log(name)
  const server = patient(await Server.open(["gateway.send_rate=100000", "gateway.send_burst=100000", "groups.max_per_user=5000", "groups.max_adds_per_hour=100000", "groups.max_made_per_day=100000", "accounts.device_policy=all"]))
  const browser = await Browser.open()
  try {
    const [ann, bob] = [await server.register("ann", "Ann Lee"), await server.register("bob", "Bob Ray")]
    await befriend(server, ann, bob)
    await server.call("MessageService/SendMessage", { conversation: dm(ann.user, bob.user), content: { type: "text", text: "hello" } }, bob.token)
    out[name] = await all[name](server, browser, ann, bob)
  } finally {
    await browser.chromium.close()
    await server.stop()
  }
}
out["load of the machine after"] = loadavg().map((n) => round(n))
console.log(JSON.stringify(out, null, 2))
