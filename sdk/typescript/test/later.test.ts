import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as after } from "node:timers/promises"
import { SkeinError } from "../src/index.js"
import { toBase64 } from "../src/ids.js"
import { login, next, shown, withServer } from "./server.js"

const refused = (code: string) => (e: unknown): boolean => e instanceof SkeinError && e.code === code

test("what is sent later: listed, changed, moved, cancelled, and sent at its time", { timeout: 60_000 }, async () => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = client(a.options)
    const bob = client(b.options)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const hers = ann.conversation(id)
    const root = await hers.send("who comes?")
    const hour = Date.now() + 3_600_000

    const told = next(ann, "account", (e) => e.type === "SCHEDULED_CHANGED")
    const one = await hers.sendLater(hour, "tomorrow", { thread: root.seq, alsoInMain: true, mentions: [b.user], silent: true, extra: { k: "v" } })
    await told
    const two = await hers.sendLater(hour + 1, "", { type: "x-bytes", data: new Uint8Array([1, 2, 3]), fallback: "three bytes", replyTo: root.seq })
    const all = await ann.scheduled()
    assert.deepEqual(all.map((x) => [x.id, x.atMs, x.state, x.error]), [[one, hour, "waiting", undefined], [two, hour + 1, "waiting", undefined]])
    const { message } = all[0]!
    assert.deepEqual([message.content.text, message.thread, message.alsoInMain, message.mentions, message.silent, message.extra], ["tomorrow", String(root.seq), true, [b.user], true, { k: "v" }])
    assert.deepEqual([all[1]?.message.content.data, all[1]?.message.replyTo], [toBase64(new Uint8Array([1, 2, 3])), String(root.seq)])
    assert.deepEqual(await bob.scheduled(), [])
    assert.equal(await hers.sendLater(hour, "again", { id: two.replace(/.$/, (c) => (c === "0" ? "1" : "0")) }).then((x) => x.length), 36)
    await assert.rejects(hers.sendLater(hour, "other words", { id: one }), refused("id_conflict"))

    await hers.changeLater(two, "other words", {}, hour - 1000)
    await ann.moveScheduled(one, hour + 2000)
    assert.deepEqual((await ann.scheduled()).map((x) => [x.message.content.text, x.atMs]), [["other words", hour - 1000], ["again", hour], ["tomorrow", hour + 2000]])
    await ann.cancelScheduled(one)
    await assert.rejects(ann.cancelScheduled(one), refused("not_found"))

    await ann.moveScheduled(two, Date.now())
    await shown(bob, id, (ms) => ms.some((m) => m.id === two && m.text === "other words"))
    const now = await hers.sendLater(Date.now() - 1000, "at once")
    await shown(bob, id, (ms) => ms.some((m) => m.id === now && m.text === "at once"))
    for (let n = 0; n < 600 && (await ann.scheduled()).length > 1; n++) await after(50) // it is told a moment longer than it is there
    assert.deepEqual((await ann.scheduled()).map((x) => x.message.content.text), ["again"])

    for (const atMs of [NaN, 0.5, Infinity]) await assert.rejects(hers.sendLater(atMs, "x"), refused("invalid_argument"))
    await assert.rejects(hers.sendLater(hour, ""), refused("invalid_argument"))
    await assert.rejects(hers.sendLater(Date.now() + 400 * 86_400_000, "x"), refused("invalid_argument"))
    await assert.rejects(ann.conversation("grp:none").sendLater(hour, "x"), SkeinError)
  })
})
