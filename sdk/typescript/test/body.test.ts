import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { bodyOf, isUpload, shownSize } from "../src/content/index.js"

const dir = new URL("../../../../proto/vectors/content/", import.meta.url)

test("every example of the catalogue is shown as what it is; others by their fallback", () => {
  for (const file of readdirSync(dir)) {
    const { content } = JSON.parse(readFileSync(new URL(file, dir), "utf8")) as { content: { type: string; text?: string; fallback?: string } }
    const body = bodyOf({ type: content.type, text: content.text ?? "", fallback: content.fallback ?? "", media: [] })
    if (content.type === "custom" || content.type.includes(".")) assert.deepEqual(body, { t: "unknown", fallback: content.fallback })
    else assert.equal(body.t, content.type, file)
  }
})

test("a body that is not as the table says is shown by its fallback", () => {
  for (const text of ["", "x", "[]", "{}", '{"media":1,"mime":"a"}', '{"latitude":99,"longitude":0}', '{"question":"?","options":[]}']) {
    for (const type of ["image", "location", "poll", "merged", "card"]) assert.deepEqual(bodyOf({ type, text, fallback: "f", media: [] }), { t: "unknown", fallback: "f" }, `${type} ${text}`)
  }
})

test("what the server measured counts", () => {
  const media = [{ id: "A", mime: "image/png", bytes: 5, width: 20, height: 10, blurhash: "b" }]
  const body = bodyOf({ type: "image", text: '{"media":"A","mime":"text/html","bytes":1,"width":9999,"height":1}', fallback: "", media })
  assert.ok(body.t === "image")
  const { mime, bytes, width, height, blurhash } = body.about
  assert.deepEqual({ mime, bytes, width, height, blurhash }, { mime: "image/png", bytes: 5, width: 20, height: 10, blurhash: "b" })
})

test("sizes, and whose upload", () => {
  assert.deepEqual(shownSize(1280, 960), { width: 360, height: 270 })
  assert.deepEqual(shownSize(10, 10), { width: 64, height: 48 })
  assert.deepEqual(shownSize(0, 0), { width: 240, height: 180 })
  assert.equal(isUpload("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), true)
  assert.equal(isUpload("https://media.example/a.jpg"), false)
})
