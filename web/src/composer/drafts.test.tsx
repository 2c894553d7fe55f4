// @vitest-environment happy-dom
import { act, type ReactNode } from "react"
import { afterEach, expect, it } from "vitest"
import { cleanup, fakeClient, show, summary, Value } from "../testing/fake.js"
import { type Draft, useDraft } from "./drafts.js"

afterEach(async () => {
  await cleanup()
  localStorage.clear()
})

const dm = "dm:bob:me"
const holding = (draft: string) => [summary(dm, { mine: { revision: 1, draft } })]

/** A browser in front of a server that has a draft. `now` is what is being written, `server` what the server has. */
function browser(draft: string) {
  const state = new Value<{ state: string; error: undefined }>({ state: "connected", error: undefined })
  const { client, conversations } = fakeClient({ me: "me", conversations: holding(draft) })
  Object.assign(client, { state })
  const told: string[] = []
  Object.assign(client.conversation(dm), {
    setMyState: async ({ draft }: { draft: string }) => {
      if (state.getSnapshot().state !== "connected") throw new Error("no connection")
      told.push(draft)
      conversations.set(holding(draft))
    },
  })
  let d: Draft | undefined
  const Composer = (): ReactNode => {
    d = useDraft(dm, 0)
    return <p>{d.text}</p>
  }
  const connect = (to: boolean) => act(async () => state.set({ state: to ? "connected" : "connecting", error: undefined }))
  const elsewhere = (draft: string) => act(async () => conversations.set(holding(draft)))
  const clear = () => act(async () => d?.clear())
  return { open: () => show(<Composer />, client), close: cleanup, connect, elsewhere, clear, told, now: () => d?.text }
}

it("does not come back when it was sent without a connection, and is told once there is one", async () => {
  const b = browser("see you")
  await b.open()
  expect(b.now()).toBe("see you")
  await b.connect(false)
  await b.clear()
  expect(b.now()).toBe("")
  await b.close()
  await b.open()
  expect(b.now()).toBe("")
  expect(b.told).toEqual([])
  await b.connect(true)
  expect(b.told).toEqual([""])
  await b.elsewhere("see you") // the same words again, on another device
  expect(b.now()).toBe("see you")
})

it("takes what another device wrote since", async () => {
  const b = browser("see you")
  await b.open()
  await b.connect(false)
  await b.clear()
  await b.elsewhere("or not")
  expect(b.now()).toBe("or not")
  await b.close()
  await b.open()
  expect(b.now()).toBe("or not")
  await b.connect(true)
  expect(b.told).toEqual([])
})

it("is told at once with a connection", async () => {
  const b = browser("see you")
  await b.open()
  await b.clear()
  expect(b.told).toEqual([""])
  expect(Object.keys(localStorage)).toEqual([])
})
