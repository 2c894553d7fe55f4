import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { test } from "node:test"
import { decode, encode, encodeServer } from "../src/codec.js"
import type { ClientFrame, ServerFrame } from "../src/wire.js"

const dir = new URL("../../../../proto/vectors/", import.meta.url)

interface Vector { direction: string; json: object }

/** The same, whatever the order of the fields. */
function sorted(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(sorted)
  if (typeof v !== "object" || v === null) return v
  return Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, x]) => [k, sorted(x)]))
}

/** Vectors whose numbers a JavaScript number cannot hold: refused, not rounded. */
const large = new Set<string>()

test("golden vectors of what a server says: read and written again they are the same", () => {
  let n = 0
  for (const name of readdirSync(dir).filter((f) => f.startsWith("server_"))) {
    const v = JSON.parse(readFileSync(new URL(name, dir), "utf8")) as Vector
    let f: ServerFrame
    try {
      f = decode(JSON.stringify(v.json))
    } catch (e) {
      assert.ok(e instanceof RangeError && /9007199254740993|18446744073709551615/.test(JSON.stringify(v.json)), `${name}: ${String(e)}`)
      large.add(name)
      continue
    }
    assert.deepEqual(sorted(JSON.parse(encodeServer(f))), sorted(v.json), name)
    n++
  }
  assert.ok(n > 50, `${n} vectors`)
  assert.ok(large.size > 0 && large.size < 12, `refused: ${[...large].join(", ")}`)
})

test("golden vectors of what a client says: numbers of 64 bits are text", () => {
  for (const name of readdirSync(dir).filter((f) => f.startsWith("client_"))) {
    const v = JSON.parse(readFileSync(new URL(name, dir), "utf8")) as Vector
    assert.deepEqual(sorted(JSON.parse(encode(v.json as ClientFrame))), sorted(v.json), name)
  }
  assert.equal(encode({ read: { conversation: "grp:a", seq: 7 } }), '{"read":{"conversation":"grp:a","seq":"7"}}')
})

test("null is absent, numbers are taken, what is no number is refused", () => {
  assert.deepEqual(decode('{"receipt":{"conversation":"grp:a","received":null,"read":5}}').receipt, { conversation: "grp:a", received: 0, read: 5, readCount: 0 })
  assert.throws(() => decode('{"receipt":{"read":"x"}}'), RangeError)
  assert.throws(() => decode("[]"), TypeError)
  assert.deepEqual(decode('{"later":{"a":1}}'), { later: { a: 1 } })
})
