import { act, renderHook } from "@testing-library/react"
import { expect, test, vi } from "vitest"
import { useAction, useClient, useConnection, useConversation, useConversations, useEvent, useMessages, usePresence, usePresences, useReactions, useSend, useTyping, useUnread } from "../src/index.js"
import { hook, until, world } from "./world.js"

const chat = "dm:ann:bob"
const said = (conversation: string, text: string) => ({ conversation, sender: "bob", content: { type: "text", text } })

test("a hook outside of the provider says so", () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => undefined)
  expect(() => renderHook(() => useClient())).toThrow("outside of SkeinProvider")
  quiet.mockRestore()
})

test("the connection, the list and the unread count follow the client", async () => {
  const w = await world((s) => s.store(said(chat, "one")))
  const list = hook(w, () => ({ state: useConnection().state, all: useConversations(), one: useConversation(chat), unread: useUnread() }), undefined)
  expect(list.result.current.state).toBe("connected")
  expect(list.result.current.all.map((c) => c.id)).toEqual([chat])
  expect(list.result.current.one?.peer).toBe("bob")
  expect(list.result.current.unread).toEqual({ messages: 1, mentions: 0, conversations: 1 })
  act(() => w.server.push(w.server.store(said("grp:g", "two"))))
  await until(() => expect(list.result.current.all.map((c) => c.id)).toEqual(["grp:g", chat]))
  expect(list.result.current.unread.conversations).toBe(2)
  await act(() => w.client.close())
  expect(list.result.current.state).toBe("closed")
})

test("what was selected renders again only when it changed", async () => {
  const w = await world((s) => [s.store(said(chat, "one")), s.store(said("grp:g", "two"))])
  let renders = 0
  const groups = hook(w, () => (renders++, useConversations((all) => all.filter((c) => c.kind === "group"))), undefined)
  const before = { renders, list: groups.result.current }
  const heard = new Promise((done) => w.client.on("message", done))
  act(() => w.server.push(w.server.store({ ...said("dm:ann:cara", "three"), sender: "cara" })))
  await act(() => heard)
  expect(renders).toBe(before.renders)
  groups.rerender(undefined)
  expect(groups.result.current).toBe(before.list)
})

test("messages are shown, older ones on demand; a message is sent and shown at once", async () => {
  const w = await world((s) => Array.from({ length: 30 }, (_, i) => s.store(said(chat, `m${i + 1}`))))
  const { result } = hook(w, () => ({ ...useMessages(chat), ...useSend(chat) }), undefined)
  await until(() => expect(result.current.messages.length).toBeGreaterThan(0))
  expect(result.current.complete).toBe(false)
  let came = 0
  await act(async () => void (came = await result.current.loadOlder(50)))
  expect(came).toBe(29)
  expect(result.current.messages.map((m) => m.text)).toEqual(Array.from({ length: 30 }, (_, i) => `m${i + 1}`))
  expect(result.current.loading).toBe(false)
  await act(async () => void (await result.current.send("hello")))
  await until(() => expect(result.current.messages.at(-1)).toMatchObject({ text: "hello", status: "sent", own: true }))
  expect(result.current.pending).toEqual([])
})

test("who types is shown until their message comes, or for six seconds", async () => {
  const w = await world((s) => s.store(said(chat, "one")))
  const typing = hook(w, () => useTyping(chat), undefined)
  act(() => w.server.tell({ typing: { conversation: chat, user: "bob" } }))
  await until(() => expect(typing.result.current.users).toEqual(["bob"]))
  act(() => w.server.push(w.server.store(said(chat, "two"))))
  await until(() => expect(typing.result.current.users).toEqual([]))
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    w.server.tell({ typing: { conversation: chat, user: "bob" } })
    await act(() => vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0)))
    await act(() => new Promise((done) => setImmediate(done)))
    expect(typing.result.current.users).toEqual(["bob"])
    await act(() => vi.advanceTimersByTimeAsync(6000))
    expect(typing.result.current.users).toEqual([])
  } finally {
    vi.useRealTimers()
  }
  typing.result.current.typing()
  await until(() => expect(w.server.frames.some((f) => f.typing?.conversation === chat)).toBe(true))
})

test("all components' users are watched in one list, which shrinks as they go", async () => {
  const w = await world()
  const lists = () => w.server.frames.flatMap((f) => (f.watchPresence === undefined ? [] : [[...f.watchPresence.users].sort()]))
  const both = hook(w, () => [usePresence("bob"), usePresences(["bob", "cara"])] as const, undefined)
  const more = hook(w, () => usePresence("dan"), undefined)
  await until(() => expect(lists().at(-1)).toEqual(["bob", "cara", "dan"]))
  act(() => w.server.tell({ presence: { user: "bob", online: true, lastSeenAtMs: 0 } }))
  await until(() => expect(both.result.current[0]).toEqual({ online: true, lastSeenAtMs: 0 }))
  expect([...both.result.current[1].keys()]).toEqual(["bob"])
  expect(more.result.current).toBeUndefined()
  both.unmount()
  await until(() => expect(lists().at(-1)).toEqual(["dan"]))
})

test("a reaction is shown at once, and taken back when it is refused", async () => {
  const w = await world((s) => s.store({ ...said(chat, "one"), reactions: [{ reaction: "👍", count: 1, users: ["bob"] }] }))
  const reactions = hook(w, () => useReactions(useMessages(chat).messages[0]!), undefined)
  let refuse: () => void = () => undefined
  w.server.on("skein.v1.MessageService/ReactToMessage", () => {
    refuse()
    throw { code: "permission_denied" }
  })
  const refused = new Promise<void>((done) => (refuse = done))
  let toggled: Promise<void> = Promise.resolve()
  act(() => void (toggled = reactions.result.current.toggle("👍")))
  expect(reactions.result.current.reactions).toEqual([{ reaction: "👍", count: 2, users: ["bob", "ann"], mine: true }])
  await act(() => refused)
  await act(() => toggled)
  expect(reactions.result.current.reactions).toEqual([{ reaction: "👍", count: 1, users: ["bob"] }])
  expect(reactions.result.current.error?.code).toBe("permission_denied")
})

test("an action tells that it runs, and why it failed; after unmount nothing", async () => {
  const { result } = renderHook(() => useAction(async (n: number) => (n < 0 ? Promise.reject(new Error("too small")) : n * 2)))
  let r: number | undefined
  await act(async () => void (r = await result.current.run(4)))
  expect(r).toBe(8)
  await act(async () => void (r = await result.current.run(-1)))
  expect(r).toBeUndefined()
  expect(result.current.error).toMatchObject({ code: "internal", message: "too small" })
  act(() => result.current.clear())
  expect(result.current.error).toBeUndefined()
})

test("an event reaches the latest listener, and none after the component", async () => {
  const w = await world()
  const heard: string[] = []
  const events = hook(w, (name: string) => useEvent("message", (m) => heard.push(`${name} ${m.text}`)), "first")
  events.rerender("second")
  act(() => w.server.push(w.server.store(said(chat, "one"))))
  await until(() => expect(heard).toEqual(["second one"]))
  events.unmount()
  const again = new Promise((done) => w.client.on("message", done))
  w.server.push(w.server.store(said(chat, "two")))
  await again
  expect(heard).toHaveLength(1)
})
