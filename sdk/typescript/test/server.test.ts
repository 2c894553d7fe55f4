import assert from "node:assert/strict"
import { test } from "node:test"
import { SkeinError, type Message } from "../src/index.js"
import { ids, login, next, shown, withServer } from "./server.js"

test("two clients and a server: messages, marks, amendments, calls", { timeout: 60_000 }, async () => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = client(a.options)
    const bob = client(b.options)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const there = ann.conversation(id)
    if (bob.conversation(id).summary.getSnapshot() === undefined) await next(bob, "group", (e) => e.conversation === id)

    const seen: string[] = []
    const off = there.messages.subscribe(() => seen.push(there.messages.getSnapshot().map((m) => m.status).join()))
    const heard = next(bob, "message")
    const sent = await there.send("hello")
    assert.equal(sent.status, "sent")
    assert.ok(seen.some((x) => x.includes("pending")), "it is shown at once")
    off()
    const got = await heard
    assert.equal(got.text, "hello")
    assert.equal(got.sender, a.user)
    assert.equal(bob.conversation(id).summary.getSnapshot()?.unread, 1)
    await bob.conversation(id).markRead()
    assert.equal(bob.conversation(id).summary.getSnapshot()?.unread, 0)

    const edited = next(bob, "changed", (m) => m.edits === 1)
    await there.edit(sent.seq, "hello, Bob")
    assert.equal((await edited).text, "hello, Bob")
    const reacted = next(ann, "changed", (m: Message) => m.reactions.length === 1)
    await bob.conversation(id).react(sent.seq, "👍")
    assert.deepEqual((await reacted).reactions.map((r) => [r.reaction, r.mine]), [["👍", false]])
    const recalled = next(bob, "recalled")
    await there.recall(sent.seq)
    assert.equal((await recalled).seq, sent.seq)

    await assert.rejects(ann.conversation("grp:none").send("x"), (e) => e instanceof SkeinError && e.code === "not_found" && e.action === "fix")
    assert.equal(ann.outbox.getSnapshot()[0]?.status, "failed")
    await assert.rejects(ann.call("skein.v1.GroupService/GetGroup", { conversation: "grp:none" }), (e) => e instanceof SkeinError && e.code === "not_found")
  })
})

test("polls, pins, one's own state, forwards, what is scheduled", { timeout: 60_000 }, async () => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = client(a.options)
    const bob = client(b.options)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const there = ann.conversation(id)
    if (bob.conversation(id).summary.getSnapshot() === undefined) await next(bob, "group", (e) => e.conversation === id)
    const his = bob.conversation(id)

    for (const anonymous of [false, true]) {
      const asked = next(bob, "message", (m) => m.poll !== undefined)
      const poll = await there.send(JSON.stringify({ question: "Which?", options: [{ id: "a", text: "green" }, { id: "b", text: "black" }] }), {
        type: "poll", fallback: "Which?", poll: { options: [{ id: "a" }, { id: "b" }], anonymous },
      })
      assert.deepEqual((await asked).poll?.options?.map((o) => o.id), ["a", "b"])
      const voted = next(ann, "changed", (m) => m.seq === poll.seq && m.poll?.voters === 1)
      await his.vote(poll.seq, ["b"])
      assert.deepEqual((await voted).poll?.options?.map((o) => [o.votes ?? 0, o.mine ?? false]), [[0, false], [1, false]])
      await shown(bob, id, (ms) => ms.some((m) => m.seq === poll.seq && m.poll?.options?.[1]?.mine === true))
      const over = next(bob, "changed", (m) => m.seq === poll.seq && (m.poll?.endedAtMs ?? 0) > 0)
      await there.endPoll(poll.seq)
      await over
      await assert.rejects(his.vote(poll.seq, ["a"]), SkeinError)
    }

    const rule = await there.send("rule")
    await shown(bob, id, (ms) => ms.some((m) => m.seq === rule.seq)) // who fetches it later has it pinned at once, and sees no change
    const pinned = next(bob, "changed", (m) => m.pinned !== undefined)
    await there.pin(rule.seq)
    assert.deepEqual([(await pinned).seq, (await pinned).pinned?.user], [rule.seq, a.user])
    const { entries } = await bob.call("skein.v1.MessageService/ListPins", { conversation: id })
    assert.deepEqual(entries?.map((e) => e.seq), [String(rule.seq)])
    const unpinned = next(bob, "changed", (m) => m.seq === rule.seq && m.pinned === undefined)
    await there.pin(rule.seq, true)
    await unpinned

    await there.setMyState({ pinned: true, folder: "work", draft: "later" })
    const mine = there.summary.getSnapshot()?.mine
    assert.deepEqual([mine?.pinned, mine?.folder, mine?.draft], [true, "work", "later"])
    assert.equal(his.summary.getSnapshot()?.mine.pinned, undefined, "nobody else's")
    await his.deleteForMe(rule.seq)
    assert.ok(!his.messages.getSnapshot().some((m) => m.seq === rule.seq))
    assert.ok(there.messages.getSnapshot().some((m) => m.seq === rule.seq))

    const other = (await ann.call("skein.v1.GroupService/CreateGroup", { name: "Coffee", members: [b.user] })).group?.conversation ?? ""
    const forwarded = next(bob, "message", (m) => m.conversation === other && m.forward !== undefined)
    await ann.call("skein.v1.MessageService/ForwardMessages", { conversation: other, messages: [{ conversation: id, seq: String(rule.seq), id: ids.next() }] })
    assert.deepEqual([(await forwarded).text, (await forwarded).forward?.sender], ["rule", a.user])

    const later = (text: string): { conversation: string; id: string; content: { type: string; text: string } } => ({ conversation: other, id: ids.next(), content: { type: "text", text } })
    const kept = later("tomorrow")
    const day = String(ann.serverTimeMs() + 86_400_000)
    await ann.call("skein.v1.MessageService/ScheduleMessage", { message: kept, atMs: day })
    const { scheduled } = await ann.call("skein.v1.MessageService/ListScheduled", {})
    assert.deepEqual(scheduled?.map((x) => [x.message?.content?.text, x.atMs]), [["tomorrow", day]])
    const came = next(bob, "message", (m) => m.text === "now")
    await ann.call("skein.v1.MessageService/ChangeScheduled", { id: kept.id, message: { ...kept, content: { type: "text", text: "now" } }, atMs: String(ann.serverTimeMs()) })
    assert.equal((await came).sender, a.user)
    await assert.rejects(ann.call("skein.v1.MessageService/CancelScheduled", { id: kept.id }), SkeinError)
  })
})
