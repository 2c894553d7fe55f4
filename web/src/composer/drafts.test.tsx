// @vitest-environment happy-dom
import { SkeinError } from "@skein-im/client"
import { act, type ReactNode } from "react"
import { afterEach, expect, it, vi } from "vitest"
import { cleanup, fakeClient, show, summary, Value } from "../testing/fake.js"
import { type Draft, useDraft } from "./drafts.js"

afterEach(async () => {
  await cleanup()
  localStorage.clear()
  vi.useRealTimers()
})

const dm = "dm:bob:me"
const holding = (draft: string | undefined) => (draft === undefined ? [] : [summary(dm, { mine: { revision: 1, draft } })])

/**
 * A browser in front of a server that has a draft (undefined: nothing is known of the conversation). What the server is
 * told waits in a queue until answered: as over a connection that is slow, or not there.
 */
function browser(draft: string | undefined, thread = 0) {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  const { client, conversations } = fakeClient({ me: "me", conversations: holding(draft) })
  const asked: { draft: string; done: () => void; fail: (e: unknown) => void }[] = []
  const told: string[] = []
  Object.assign(client, { state: new Value({ state: "connected", error: undefined }) })
  Object.assign(client.conversation(dm), {
    setMyState: ({ draft }: { draft: string }) => new Promise<void>((done, fail) => asked.push({ draft, done, fail })),
  })
  let d: Draft | undefined
  const Composer = (): ReactNode => {
    d = useDraft(dm, thread)
    return <p>{d.text}</p>
  }
  const has = (draft: string | undefined) => act(async () => conversations.set(holding(draft)))
  /** The server has what it was asked for first; the view says so before the answer. */
  const answer = async (): Promise<void> => {
    const a = asked.shift()
    if (a === undefined) throw new Error("nothing was asked")
    told.push(a.draft)
    await has(a.draft)
    await act(async () => a.done())
  }
  return {
    open: () => show(<Composer />, client), close: cleanup, has, answer, told,
    /** The server got it, and the answer did not come any more. */
    unanswered: () => told.push(asked.shift()?.draft ?? "nothing was asked"),
    /** The answer alone. */
    late: () => act(async () => { const a = asked.shift(); told.push(a?.draft ?? "nothing was asked"); a?.done() }),
    fail: (e: unknown) => act(async () => asked.shift()?.fail(e)),
    all: async () => { while (asked.length > 0) await answer() },
    asked: () => asked.map((a) => a.draft),
    write: (text: string) => act(async () => d?.set(text)),
    clear: () => act(async () => d?.clear()),
    sent: (text: string) => act(async () => d?.sent(text)),
    restore: (text: string) => act(async () => d?.restore(text)),
    pause: (ms = 1500) => act(async () => { await vi.advanceTimersByTimeAsync(ms) }),
    now: () => d?.text,
  }
}

it("does not come back when it was sent without a connection, and is told once there is one", async () => {
  const b = browser("see you")
  await b.open()
  expect(b.now()).toBe("see you")
  await b.clear()
  expect(b.now()).toBe("")
  await b.close()
  await b.open()
  expect(b.now()).toBe("")
  await b.all()
  expect(b.told).toEqual(["", ""]) // once more after it was opened again: whether the server heard was not known
  expect(Object.keys(localStorage)).toEqual([])
  await b.has("see you") // the same words again, on another device
  expect(b.now()).toBe("see you")
})

it("takes what another device wrote since", async () => {
  const b = browser("see you")
  await b.open()
  await b.clear()
  await b.close()
  await b.has("or not")
  await b.open()
  expect(b.now()).toBe("or not")
  expect(b.asked()).toEqual([""]) // what was asked then, and nothing since
  expect(Object.keys(localStorage)).toEqual([])
})

it("is told at once with a connection, after a pause while it is written, and not where the server has it", async () => {
  const b = browser("see you")
  await b.open()
  await b.clear()
  expect(b.asked()).toEqual([""])
  await b.all()
  await b.write("s")
  await b.write("so")
  expect(b.asked()).toEqual([])
  await b.pause()
  expect(b.asked()).toEqual(["so"])
  await b.all()
  expect(Object.keys(localStorage)).toEqual([])
  await b.clear()
  await b.all()
  await b.write("hello")
  await b.clear() // sent before the server was told of it
  expect(b.asked()).toEqual([])
  expect(Object.keys(localStorage)).toEqual([])
})

it("of another device is shown, and gone when it is sent there, also while another conversation is open here", async () => {
  const b = browser("from the phone")
  await b.open()
  expect(b.now()).toBe("from the phone")
  await b.close()
  await b.has("from the phone, longer")
  await b.open()
  expect(b.now()).toBe("from the phone, longer")
  await b.close()
  await b.has("")
  await b.open()
  expect(b.now()).toBe("")
})

it("that was sent before the conversation was known does not come back with it", async () => {
  const b = browser(undefined)
  await b.open()
  await b.write("hello")
  await b.clear()
  expect(b.asked()).toEqual([])
  await b.has("hello")
  expect(b.now()).toBe("")
  await b.all()
  expect(b.told).toEqual([""])
  expect(Object.keys(localStorage)).toEqual([])
})

it("stays where the conversation is not known any more, until it is", async () => {
  const b = browser("half a thought")
  await b.open()
  await b.has(undefined)
  expect(b.now()).toBe("half a thought")
  await b.has("half a thought")
  expect(b.now()).toBe("half a thought")
  expect(b.asked()).toEqual([])
})

it("whose end the server knows, but this browser not that it does, suppresses no later one", async () => {
  const b = browser("ok")
  await b.open()
  await b.clear()
  b.unanswered()
  await b.close()
  await b.has("")
  await b.open()
  expect(b.now()).toBe("")
  await b.has("ok") // later, on another device
  expect(b.now()).toBe("ok")
  expect(b.asked()).toEqual([])
})

it("is not what was told before, and what was told last is what the server has", async () => {
  const b = browser("")
  await b.open()
  await b.write("see")
  await b.pause()
  await b.write("see you")
  await b.pause()
  expect(b.asked()).toEqual(["see"]) // one at a time
  await b.answer()
  expect(b.now()).toBe("see you")
  expect(b.asked()).toEqual(["see you"])
  await b.write("see you soon")
  await b.answer()
  expect(b.now()).toBe("see you soon")
  await b.pause()
  await b.all()
  expect(b.told).toEqual(["see", "see you", "see you soon"])
  expect(b.now()).toBe("see you soon")
  expect(Object.keys(localStorage)).toEqual([])
})

it("of another device is shown that was written after this one was told, before the answer came", async () => {
  const b = browser("see you")
  await b.open()
  await b.clear()
  await b.has("")
  await b.has("one more thing")
  expect(b.now()).toBe("") // it may be of before
  await b.late()
  expect(b.now()).toBe("one more thing")
  expect(b.asked()).toEqual([])
  expect(Object.keys(localStorage)).toEqual([])
})

it("that was sent while the server was being told of it does not come back after a reload", async () => {
  const b = browser("")
  await b.open()
  await b.write("hello")
  await b.pause()
  await b.clear()
  b.unanswered()
  await b.close()
  await b.has("hello")
  await b.open()
  expect(b.now()).toBe("")
  await b.all()
  expect(b.told).toEqual(["hello", ""])
})

it("is told again where the server had no time, and stays in this browser where it does not want it", async () => {
  const b = browser("")
  await b.open()
  await b.write("hello")
  await b.pause()
  await b.fail(new SkeinError({ code: "rate_limited", retryAfterMs: 3000 }))
  expect(b.asked()).toEqual([])
  await b.pause(10_000)
  expect(b.asked()).toEqual(["hello"])
  await b.fail(new SkeinError({ code: "not_found" }))
  await b.pause(60_000)
  expect(b.asked()).toEqual([])
  await b.close()
  await b.open()
  expect(b.now()).toBe("hello")
})

it("of a message that was refused stands before what was written since", async () => {
  const b = browser("")
  await b.open()
  await b.restore("first")
  expect(b.now()).toBe("first")
  await b.write("second")
  await b.restore("first")
  expect(b.now()).toBe("first\nsecond")
})

it("of which a part was sent keeps what was written behind it", async () => {
  const b = browser("")
  await b.open()
  await b.write("hello, and much more")
  await b.sent("hello,")
  expect(b.now()).toBe("and much more")
  expect(b.asked()).toEqual(["and much more"])
  await b.sent("something else")
  expect(b.now()).toBe("and much more")
  await b.sent("and much more")
  expect(b.now()).toBe("")
  await b.all()
  expect(b.told).toEqual(["and much more", ""])
})

it("of a thread stays in this browser", async () => {
  const b = browser("of the conversation", 7)
  await b.open()
  expect(b.now()).toBe("")
  await b.write("a reply")
  await b.pause()
  await b.close()
  await b.open()
  expect(b.now()).toBe("a reply")
  await b.clear()
  expect(b.asked()).toEqual([])
  expect(Object.keys(localStorage)).toEqual([])
})
