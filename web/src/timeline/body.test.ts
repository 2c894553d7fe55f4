import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { bodyOf, isUpload, shownSize } from "./body.js"

const dir = new URL("../../../proto/vectors/content/", import.meta.url)

test("every example of the catalogue is shown as what it is; others by their fallback", () => {
  for (const file of readdirSync(dir)) {
    const { content } = JSON.parse(readFileSync(new URL(file, dir), "utf8")) as { content: { type: string; text?: string; fallback?: string } }
    const body = bodyOf({ type: content.type, text: content.text ?? "", fallback: content.fallback ?? "", media: [] })
    if (content.type === "custom" || content.type.includes(".")) expect(body).toEqual({ t: "unknown", fallback: content.fallback })
    else expect(body.t, file).toBe(content.type)
  }
})

test("a body that is not as the table says is shown by its fallback", () => {
  for (const text of ["", "x", "[]", "{}", '{"media":1,"mime":"a"}', '{"latitude":99,"longitude":0}', '{"question":"?","options":[]}']) {
    for (const type of ["image", "location", "poll", "merged", "card"]) expect(bodyOf({ type, text, fallback: "f", media: [] }), `${type} ${text}`).toEqual({ t: "unknown", fallback: "f" })
  }
})

test("what the server measured counts", () => {
  const media = [{ id: "A", mime: "image/png", bytes: 5, width: 20, height: 10, blurhash: "b" }]
  const body = bodyOf({ type: "image", text: '{"media":"A","mime":"text/html","bytes":1,"width":9999,"height":1}', fallback: "", media })
  expect(body).toMatchObject({ t: "image", about: { mime: "image/png", width: 20, height: 10, blurhash: "b" } })
})

test("sizes, and whose upload", () => {
  expect(shownSize(1280, 960)).toEqual({ width: 360, height: 270 })
  expect(shownSize(10, 10)).toEqual({ width: 64, height: 48 })
  expect(shownSize(0, 0)).toEqual({ width: 240, height: 180 })
  expect(isUpload("ABCDEFGHIJKLMNOPQRSTUVWXYZ")).toBe(true)
  expect(isUpload("https://media.example/a.jpg")).toBe(false)
})
