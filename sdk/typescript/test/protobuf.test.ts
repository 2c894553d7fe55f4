import assert from "node:assert/strict"
import { readFileSync, readdirSync } from "node:fs"
import { test } from "node:test"
import { fromBinary, toJson } from "@bufbuild/protobuf"
import { decode } from "../src/codec.js"
import { protobuf } from "../src/protobuf/index.js"
import { client } from "../src/protobuf/schema.js"
import type { ClientFrame } from "../src/wire.js"

const dir = new URL("../../../../proto/vectors/", import.meta.url)

interface Vector { json: object; hex: string }

const vectors = (of: string): [string, Vector][] =>
  readdirSync(dir).filter((f) => f.startsWith(of)).map((f) => [f, JSON.parse(readFileSync(new URL(f, dir), "utf8")) as Vector])
const bytes = (hex: string): ArrayBuffer => new Uint8Array(Buffer.from(hex, "hex")).buffer

test("golden vectors of what a server says: from protobuf they are what they are from JSON", () => {
  let n = 0
  for (const [name, v] of vectors("server_")) {
    let want: unknown
    try {
      want = decode(JSON.stringify(v.json))
    } catch {
      assert.throws(() => protobuf.decode(bytes(v.hex)), RangeError, name) // a number that JavaScript cannot hold
      continue
    }
    assert.deepEqual(protobuf.decode(bytes(v.hex)), want, name)
    n++
  }
  assert.ok(n > 50, `${n} vectors`)
})

test("golden vectors of what a client says: in protobuf they say the same", () => {
  const means = (b: Uint8Array): unknown => toJson(client, fromBinary(client, b))
  for (const [name, v] of vectors("client_")) {
    const b = protobuf.encode(v.json as ClientFrame)
    assert.ok(typeof b !== "string")
    assert.equal(b.length, v.hex.length / 2, name) // the order of fields is the writer's
    assert.deepEqual(means(b), means(Buffer.from(v.hex, "hex")), name)
  }
})

test("what is no frame is refused", () => {
  for (const data of ["{}", bytes("ffff"), undefined]) assert.throws(() => protobuf.decode(data))
})
