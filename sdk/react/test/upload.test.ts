import { act, cleanup, renderHook } from "@testing-library/react"
import { afterEach, expect, test } from "vitest"
import { Uploads, useUpload } from "../src/index.js"
import { until } from "./world.js"

afterEach(cleanup)

/** A tus server of one upload, which takes parts while it is told to. */
function tus(): { fetch: typeof fetch; go: (parts: number) => void; refuse: boolean } {
  let offset = 0
  let length = 0
  let allowed = 0
  let waiting: (() => void)[] = []
  const world = {
    refuse: false,
    go: (parts: number) => {
      allowed += parts
      waiting.forEach((f) => f())
      waiting = []
    },
    fetch: (async (_url: unknown, init?: RequestInit) => {
      const headers = new Headers(init?.headers)
      if (world.refuse) return new Response(JSON.stringify({ code: "too_large", message: "no" }), { status: 413 })
      if (init?.method === "POST") {
        length = Number(headers.get("upload-length"))
        return new Response(null, { status: 201, headers: { location: "/media/uploads/UP" } })
      }
      if (init?.method === "HEAD") return new Response(null, { headers: { "upload-offset": String(offset), "upload-length": String(length) } })
      while (allowed === 0) {
        await new Promise<void>((done, fail) => {
          waiting.push(done)
          init?.signal?.addEventListener("abort", () => fail(new DOMException("aborted", "AbortError")))
        })
      }
      allowed--
      offset += (init?.body as Blob).size
      return new Response(null, { status: 204, headers: { "upload-offset": String(offset) } })
    }) as typeof fetch,
  }
  return world
}

const file = (bytes: number) => new Blob([new Uint8Array(bytes)])

test("progress is told, a pause stops it, and it goes on to its end", async () => {
  const server = tus()
  const { result } = renderHook(() => useUpload({ url: "ws://fake/ws", getToken: () => "t", fetch: server.fetch }))
  let key = 0
  let done: Promise<string> = Promise.resolve("")
  act(() => void ({ key, done } = result.current.add(file(600 << 10), { name: "a.bin" })))
  server.go(1)
  await until(() => expect(result.current.uploads[0]).toMatchObject({ name: "a.bin", state: "running", sent: 256 << 10, size: 600 << 10 }))
  act(() => result.current.pause(key))
  expect(result.current.uploads[0]?.state).toBe("paused")
  server.go(9)
  act(() => result.current.resume(key))
  await until(() => expect(result.current.uploads[0]).toMatchObject({ state: "done", sent: 600 << 10, id: "UP" }))
  expect(await done).toBe("UP")
  act(() => result.current.remove(key))
  expect(result.current.uploads).toEqual([])
})

test("a refusal is its state, and it can be tried again", async () => {
  const server = tus()
  server.refuse = true
  const { result } = renderHook(() => useUpload({ url: "ws://fake/ws", getToken: () => "t", fetch: server.fetch }))
  act(() => void result.current.add(file(10)))
  await until(() => expect(result.current.uploads[0]).toMatchObject({ state: "failed", error: { code: "too_large" } }))
  server.refuse = false
  server.go(9)
  act(() => result.current.resume(result.current.uploads[0]!.key))
  await until(() => expect(result.current.uploads[0]).toMatchObject({ state: "done", error: undefined }))
})

test("uploads of a component end with it; those made outside go on", async () => {
  const server = tus()
  const source = { url: "ws://fake/ws", getToken: () => "t", fetch: server.fetch }
  const own = renderHook(() => useUpload(source))
  let done: Promise<string> = Promise.resolve("")
  act(() => void ({ done } = own.result.current.add(file(10))))
  own.unmount()
  await expect(done).rejects.toMatchObject({ code: "closed" })
  const outside = new Uploads(source)
  const shown = renderHook(() => useUpload(outside))
  act(() => void ({ done } = shown.result.current.add(file(10))))
  shown.unmount()
  server.go(9)
  expect(await done).toBe("UP")
  expect(outside.getSnapshot()[0]?.state).toBe("done")
})
