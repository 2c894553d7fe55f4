import assert from "node:assert/strict"
import { randomFillSync } from "node:crypto"
import { test } from "node:test"
import { SkeinError, Upload, type UploadOptions } from "../src/index.js"
import { Cutter } from "./cutter.js"
import { ids, login, withServer } from "./server.js"

const content = randomFillSync(Buffer.alloc(5_000_000))
const file = new Blob([content])

test("an upload that is cut, paused, resumed and gone on with by another one has every byte", { timeout: 60_000 }, async (t) => {
  await withServer(async (s, client) => {
    const { options } = await login(s.http, "ann")
    const ann = client(options)
    await ann.connected()
    const cutter = new Cutter(Number(new URL(s.http).port))
    const through: UploadOptions = { url: `ws://127.0.0.1:${await cutter.listen()}/ws`, getToken: options.getToken, name: "data.bin" }
    try {
      cutter.after = 700_000
      const steps: number[] = []
      let stepped: (sent: number) => void = () => undefined
      const first = new Upload(file, {
        ...through,
        onProgress: (sent, size) => {
          assert.equal(size, content.length)
          steps.push(sent)
          stepped(sent)
        },
      })
      await new Promise<void>((resolve) => {
        stepped = (sent) => {
          if (sent < 2_500_000) return
          first.pause()
          resolve()
        }
      })
      assert.ok(cutter.cuts > 1, `${cutter.cuts} cuts`)
      assert.ok(steps.every((sent, i) => i === 0 || sent > steps[i - 1]!), `never back: ${steps.join()}`)
      const at = first.sent
      const cuts = cutter.cuts
      cutter.after = 0
      cutter.drop()
      await ann.call("skein.v1.MediaService/ListStickers", {}) // time passes
      assert.equal(first.sent, at, "nothing moves while it is paused")
      const more = new Promise<void>((resolve) => {
        stepped = () => {
          first.abort()
          resolve()
        }
      })
      first.resume()
      await more
      await assert.rejects(first.done, (e) => e instanceof SkeinError && e.code === "closed")
      assert.ok(first.sent > at && first.sent < content.length)

      const on: number[] = []
      const second = new Upload(file, { ...through, id: first.id, onProgress: (sent) => on.push(sent) })
      assert.equal(await second.done, first.id)
      assert.ok(on[0]! >= first.sent, "it went on where the first one was")
      assert.equal(second.sent, content.length)
      const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Files", members: [] })
      const m = await ann.conversation(group?.conversation ?? "").send("the file", { media: [second.id], id: ids.next() })
      assert.equal(m.media[0]?.id, second.id)
      const r = await fetch(`${s.http}/media/${second.id}`, { headers: { authorization: `Bearer ${await options.getToken("")}` } })
      assert.equal(r.status, 200)
      assert.ok(content.equals(Buffer.from(await r.arrayBuffer())), "every byte")
      t.diagnostic(`${cuts} cuts, ${steps.length + on.length} steps`)
    } finally {
      await cutter.close()
    }
  })
})

test("an upload that the server refuses says why; one that it does not know begins anew", { timeout: 60_000 }, async () => {
  await withServer(async (s) => {
    const { options } = await login(s.http, "ann")
    const to: UploadOptions = { url: options.url, getToken: options.getToken }
    const small = new Blob([new Uint8Array(1000)])
    await assert.rejects(new Upload(small, { ...to, name: "x".repeat(300) }).done, (e) => e instanceof SkeinError && e.action === "fix")
    const asked: string[] = []
    const getToken = (rejected: string): string | Promise<string> => (asked.push(rejected), asked.length === 1 ? "wrong" : options.getToken(rejected))
    assert.match(await new Upload(small, { ...to, getToken }).done, /^.+$/)
    assert.deepEqual(asked, ["", "wrong"])
    await assert.rejects(new Upload(small, { ...to, getToken: () => "wrong" }).done, SkeinError)
    const anew = new Upload(small, { ...to, id: "AAAAAAAAAAAAAAAAAAAAAA" })
    assert.notEqual(await anew.done, "AAAAAAAAAAAAAAAAAAAAAA")
    assert.throws(() => new Upload(new Blob([]), to), SkeinError)
  })
})
