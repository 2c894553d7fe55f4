import assert from "node:assert/strict"
import { test } from "node:test"
import { SkeinError, type EventMap } from "../src/index.js"
import { login, next, shown, withServer } from "./server.js"

test("threads: what is said in them, what the root tells, following and reading", { timeout: 60_000 }, async () => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = client(a.options)
    const bob = client(b.options)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const hers = ann.conversation(id)
    const his = bob.conversation(id)
    if (his.summary.getSnapshot() === undefined) await next(bob, "group", (e) => e.conversation === id)
    const heard = next(bob, "message")
    const root = await hers.send("who comes?")
    await heard
    await his.markRead()

    const told: EventMap["thread"][] = []
    bob.on("thread", (e) => told.push(e))
    const waiting: number[] = []
    const off = hers.messages.subscribe(() => waiting.push(ann.outbox.getSnapshot().filter((m) => m.thread === root.seq).length))
    const own = next(ann, "thread")
    const counted = next(bob, "changed", (m) => m.seq === root.seq)
    const first = await hers.send("I do", { thread: root.seq })
    assert.deepEqual([first.thread, first.kind, first.status], [root.seq, "message", "sent"])
    assert.ok(waiting.includes(1), "while it is not stored it is in the outbox")
    off()
    assert.deepEqual([(await own).root, (await own).message?.text], [root.seq, "I do"])
    assert.equal((await counted).replies?.count, 1)
    await shown(ann, id, (ms) => ms.some((m) => m.seq === root.seq && m.replies?.count === 1)) // an ack does not tell it
    for (const c of [hers, his]) assert.ok(!c.messages.getSnapshot().some((m) => m.text === "I do"), "a reply is not among the messages")
    assert.deepEqual(told.map((e) => [e.root, e.seq, e.message?.text, e.message?.thread]), [[root.seq, first.seq, "I do", root.seq]])
    assert.equal(his.summary.getSnapshot()?.unread, 0)
    assert.equal(his.summary.getSnapshot()?.last?.seq, root.seq)

    const again = next(ann, "changed", (m) => m.replies?.count === 2)
    const second = await his.send("so do I", { thread: root.seq })
    assert.ok(((await again).replies?.lastAtMs ?? 0) > 0)
    const read = await hers.thread(root.seq)
    assert.deepEqual(read.replies.map((m) => [m.text, m.own, m.thread]), [["I do", true, root.seq], ["so do I", false, root.seq]])
    assert.deepEqual([read.thread.root.text, read.thread.last, read.thread.follows, read.thread.unread, read.next], ["who comes?", second.seq, true, 1, 0])
    const page = await hers.thread(second.seq, 0, 1) // by a reply, and with more before it
    assert.deepEqual([page.replies.map((m) => m.seq), page.thread.root.seq], [[second.seq], root.seq])
    assert.deepEqual((await hers.thread(root.seq, page.next, 1)).replies.map((m) => m.seq), [first.seq])

    await hers.setMyState({ thread: { root: String(root.seq), read: String(second.seq) } })
    await hers.setMyState({ thread: { root: String(root.seq), follow: false } })
    const { threads, next: more } = await hers.threads()
    assert.deepEqual(threads.map((t) => [t.root.seq, t.unread, t.follows, t.root.replies?.count]), [[root.seq, 0, false, 2]])
    assert.equal(more, "")

    const changed = next(bob, "thread", (e) => e.seq === first.seq && e.message === undefined)
    await hers.edit(first.seq, "I do, too")
    await changed
    assert.equal((await his.thread(root.seq)).replies[0]?.text, "I do, too")
    const fewer = next(bob, "changed", (m) => m.replies?.count === 1)
    const takenBack = next(bob, "thread", (e) => e.seq === first.seq && e.message === undefined)
    await hers.recall(first.seq)
    await fewer
    await takenBack
    assert.deepEqual((await his.thread(root.seq)).replies.map((m) => m.text), ["so do I"])

    // One that stands in both.
    const inMain = next(bob, "message", (m) => m.text === "everybody")
    const inThread = next(bob, "thread", (e) => e.message?.text === "everybody")
    const both = await hers.send("everybody", { thread: root.seq, alsoInMain: true })
    assert.deepEqual([both.thread, both.alsoInMain, both.replies], [root.seq, true, undefined])
    assert.deepEqual([(await inMain).seq, (await inThread).seq, (await inMain).thread, (await inMain).replies], [both.seq, both.seq, root.seq, undefined])
    for (const c of [ann, bob]) await shown(c, id, (ms) => ms.some((m) => m.seq === both.seq && m.alsoInMain) && ms.some((m) => m.seq === root.seq && m.replies?.count === 2))
    assert.equal(his.summary.getSnapshot()?.unread, 1)
    assert.deepEqual((await his.thread(both.seq)).replies.map((m) => m.text), ["so do I", "everybody"])
    await hers.recall(both.seq)
    await shown(bob, id, (ms) => ms.some((m) => m.seq === both.seq && m.recalled) && ms.some((m) => m.seq === root.seq && m.replies?.count === 1))
    assert.equal(his.summary.getSnapshot()?.unread, 0)
    await assert.rejects(hers.send("x", { alsoInMain: true }), (e) => e instanceof SkeinError && e.code === "invalid_argument")
    await assert.rejects(hers.send("x", { thread: 99 }), (e) => e instanceof SkeinError && e.code === "not_found")
    assert.deepEqual(ann.outbox.getSnapshot().map((m) => [m.thread, m.status]), [[99, "failed"]])
    assert.ok(!hers.messages.getSnapshot().some((m) => m.status === "failed"))
  })
})
