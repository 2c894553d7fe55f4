import assert from "node:assert/strict"
import { test } from "node:test"
import type { ClientOptions, Message } from "../src/index.js"
import { Cutter } from "./cutter.js"
import { login, next, shown, withServer } from "./server.js"

const texts = (ms: readonly Message[]): string[] => ms.filter((m) => m.kind === "message").map((m) => m.text)

/** Byte counts that end within the handshake, the Hello, its answer, a Send, its ack, a push, and beyond some of each. */
const counts = [1, 97, 211, 400, 701, 997, 1303, 1601, 1907, 2203, 2503, 3001, 3701, 4507, 6007]
const perCount = 3

test("connections that are cut after any number of bytes: each message is there once, in one order for both", { timeout: 60_000 }, async (t) => {
  await withServer(async (s, client) => {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const cutter = new Cutter(Number(new URL(s.http).port))
    const url = `ws://127.0.0.1:${await cutter.listen()}/ws`
    const through = (o: ClientOptions): ClientOptions => ({ ...o, url, random: () => 0 })
    const ann = client(through(a.options))
    const bob = client(through(b.options))
    try {
      await Promise.all([ann.connected(), bob.connected()])
      const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
      const id = group?.conversation ?? ""
      if (bob.conversation(id).summary.getSnapshot() === undefined) await next(bob, "group", (e) => e.conversation === id)
      const told = new Map([[ann, [] as string[]], [bob, [] as string[]]])
      for (const [c, all] of told) for (const name of ["message", "sent"] as const) c.on(name, (m) => all.push(m.text))

      const wanted: string[] = []
      for (const k of counts) {
        cutter.after = k
        cutter.drop()
        const sent: Promise<Message>[] = []
        for (let n = 0; n < perCount; n++) {
          for (const [name, c] of [["ann", ann], ["bob", bob]] as const) {
            wanted.push(`${name} ${k} ${n}`)
            const { stored } = await c.conversation(id).post(`${name} ${k} ${n}`)
            sent.push(stored)
          }
        }
        await Promise.race([cutter.cut(6), Promise.all(sent)]) // of the larger counts one is enough for all that there is to say
        cutter.after = 0
        cutter.drop()
        ann.reconnect()
        bob.reconnect()
        await Promise.all(sent)
      }
      for (const c of [ann, bob]) await shown(c, id, (ms) => texts(ms).length >= wanted.length && ms.every((m) => m.status !== "pending"))
      const order = texts(ann.conversation(id).messages.getSnapshot())
      assert.deepEqual(texts(bob.conversation(id).messages.getSnapshot()), order, "one order for both")
      assert.deepEqual([...order].sort(), [...wanted].sort(), "each once")
      for (const name of ["ann", "bob"]) {
        assert.deepEqual(order.filter((x) => x.startsWith(name)), wanted.filter((x) => x.startsWith(name)), `${name}'s in the order in which they were written`)
      }
      for (const all of told.values()) assert.deepEqual(all, order, "told once, in that order")
      assert.ok(cutter.cuts > 2 * counts.length, `${cutter.cuts} cuts`)
      t.diagnostic(`${cutter.cuts} cuts, ${wanted.length} messages`)
    } finally {
      await cutter.close()
    }
  })
})
