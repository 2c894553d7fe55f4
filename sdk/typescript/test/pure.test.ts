import assert from "node:assert/strict"
import { test } from "node:test"
import { codes } from "../src/codes_gen.js"
import { dm, kindOf, peerOf } from "../src/conv.js"
import { digestOf } from "../src/digest.js"
import { SkeinError, actionOf, errorOfClose } from "../src/errors.js"
import { IdSource, fromBase64, fromUuid, toBase64, toUuid } from "../src/ids.js"

test("codes: what to do is told by the range, also of numbers that are not known", () => {
  assert.equal(actionOf(codes.rate_limited), "retry")
  assert.equal(actionOf(4199), "retry")
  assert.equal(actionOf(4700), "stop")
  assert.equal(actionOf(4899), "fix")
  assert.equal(errorOfClose(4600, "")?.code, "replaced")
  assert.equal(errorOfClose(4650, "")?.action, "stop")
  assert.equal(errorOfClose(1006, ""), undefined)
  assert.equal(new SkeinError({ code: "offline" }).action, undefined)
})

test("ids: base64 and UUIDs, each greater than the one before, by the server's clock", () => {
  const id = "AZZbPE1ecAGAAAAAAAAAAQ=="
  assert.equal(toUuid(id), "01965b3c-4d5e-7001-8000-000000000001")
  assert.equal(fromUuid(toUuid(id)), id)
  for (let n = 0; n < 20; n++) {
    const b = crypto.getRandomValues(new Uint8Array(n))
    assert.equal(toBase64(b), Buffer.from(b).toString("base64"))
    assert.deepEqual(fromBase64(toBase64(b)), b)
  }
  const source = new IdSource(() => 1_760_000_000_000)
  const many = Array.from({ length: 5000 }, () => toUuid(source.next()))
  assert.deepEqual([...new Set(many)].sort(), many)
  source.setServerTime(1_600_000_000_000)
  const ms = parseInt(toUuid(source.next()).replace(/-/g, "").slice(0, 12), 16)
  assert.equal(ms, 1_600_000_000_000)
})

test("conversations by their ids", () => {
  assert.equal(kindOf("dm:ann:bob"), "dm")
  assert.equal(kindOf("dm:bob:ann"), "invalid")
  assert.equal(kindOf("grp:x"), "group")
  assert.equal(kindOf("grp:"), "invalid")
  assert.equal(dm("bob", "ann"), "dm:ann:bob")
  assert.equal(peerOf("dm:ann:bob", "ann"), "bob")
  assert.equal(peerOf("dm:ann:ann", "ann"), "")
})

test("the digest of nothing is 0, and that of two is their sum", () => {
  assert.equal(digestOf([]), "0")
  const a = BigInt(digestOf([["dm:ann:bob", 3]]))
  const b = BigInt(digestOf([["grp:g", 9]]))
  assert.equal(digestOf([["dm:ann:bob", 3], ["grp:g", 9]]), String((a + b) % (1n << 64n)))
})
