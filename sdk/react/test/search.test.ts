import { act } from "@testing-library/react"
import { expect, test } from "vitest"
import { useSearch } from "../src/index.js"
import { hook, until, world, type Server } from "./world.js"

const method = "skein.v1.MessageService/SearchMessages"

function library(s: Server): void {
  s.on(method, ({ query = "", cursor = "" }) => {
    const found = ["a", "b"].map((x) => ({ entry: { conversation: "grp:g", seq: "1", content: { type: "text", text: `${query} ${cursor}${x}` } } }))
    return { found: found as never, complete: true, ...(cursor === "" ? { next: "2" } : {}) }
  })
}
const texts = (found: readonly { entry?: { content?: { text?: string } } }[]) => found.map((f) => f.entry?.content?.text)

test("keys that follow each other are one question, and pages follow", async () => {
  const w = await world(library)
  const search = hook(w, (query: string) => useSearch({ query }, { debounceMs: 20 }), "")
  expect(search.result.current.state).toBe("idle")
  for (const q of ["g", "go", "goose "]) search.rerender(q)
  expect(search.result.current.state).toBe("searching")
  await until(() => expect(search.result.current.state).toBe("done"))
  expect(w.server.calls(method).map((r) => r.query)).toEqual(["goose"])
  expect(search.result.current.more).toBe(true)
  act(() => search.result.current.loadMore())
  act(() => search.result.current.loadMore())
  await until(() => expect(search.result.current.more).toBe(false))
  expect(texts(search.result.current.found)).toEqual(["goose a", "goose b", "goose 2a", "goose 2b"])
  search.rerender("")
  expect(search.result.current).toMatchObject({ state: "idle", found: [] })
})

test("an answer that comes after another question is not shown", async () => {
  const w = await world(library)
  const answers: (() => void)[] = []
  const take = w.server.take.bind(w.server)
  w.server.take = (s, f) => (f.call === undefined ? take(s, f) : void answers.push(() => take(s, f)))
  const search = hook(w, (query: string) => useSearch({ query }, { debounceMs: 0 }), "old")
  await until(() => expect(answers).toHaveLength(1))
  search.rerender("new")
  await until(() => expect(answers).toHaveLength(2))
  act(() => answers[1]!())
  await until(() => expect(texts(search.result.current.found)).toEqual(["new a", "new b"]))
  answers[0]!()
  const behind = w.client.call(method, { query: "barrier" }) // its answer comes after the late one
  await until(() => expect(answers).toHaveLength(3))
  answers[2]!()
  await act(() => behind)
  expect(texts(search.result.current.found)).toEqual(["new a", "new b"])
})

test("a refusal is told, and the next try can succeed", async () => {
  const w = await world((s) =>
    s.on(method, () => {
      throw { code: "invalid_argument", field: "query", message: "too long" }
    }),
  )
  const search = hook(w, () => useSearch({ query: "x" }, { debounceMs: 0 }), undefined)
  await until(() => expect(search.result.current.state).toBe("failed"))
  expect(search.result.current.error).toMatchObject({ code: "invalid_argument", field: "query" })
  library(w.server)
  act(() => search.result.current.retry())
  await until(() => expect(search.result.current.state).toBe("done"))
})
