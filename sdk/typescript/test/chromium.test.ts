import { after, before, test } from "node:test"
import { openChromium } from "./chromium.js"
import type { Desk } from "./desk.js"
import { cutOff, leaderEnds, secondRefused, stores } from "./inpage.js"

let desk: Desk

before(async () => {
  desk = await openChromium()
}, { timeout: 90_000 })

after(() => desk?.close())

test("in Chromium, two tabs post 500 messages; the leading one is closed in the middle: each is stored once", { timeout: 180_000 }, (t) => leaderEnds(desk, "closed", t))

test("in Chromium, two tabs post 500 messages; the leading one is crashed in the middle: each is stored once", { timeout: 180_000 }, (t) => leaderEnds(desk, "crashed", t))

test("in Chromium, a second client on a store is refused, in another tab too; the first goes on", { timeout: 120_000 }, () => secondRefused(desk))

test("in Chromium, IndexedDB keeps what a store is given, and serves one client", { timeout: 120_000 }, () => stores(desk))

test("in Chromium, a page whose connections are cut after any number of bytes: what it posts is stored once, in its order", { timeout: 120_000 }, (t) => cutOff(desk, t))
