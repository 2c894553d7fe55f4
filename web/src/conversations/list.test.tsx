// @vitest-environment happy-dom
import { afterEach, expect, it } from "vitest"
import { act } from "react"
import type { Contact } from "../people/book.js"
import { cleanup, fakeClient, show, shown, summary, Value } from "../testing/fake.js"
import { message } from "../timeline/testing.js"
import { ConversationList } from "./ConversationList.js"

afterEach(cleanup)

const contact = (id: string, more: Partial<Contact> = {}): Contact => ({ user: { id, displayName: id === "bob" ? "Bob Ray" : id }, state: "CONTACT_STATE_CONTACT", changedAtMs: String(Date.now()), ...more }) as Contact
const lines = (at: HTMLElement): string[] => [...at.querySelectorAll("a[href^='/c/']")].map((a) => (a.textContent ?? "").replace(/\s+/g, " "))

it("shows conversations with what was said last, what is unread, drafts, and the reader's own names", async () => {
  const { client, conversations } = fakeClient({
    me: "me", users: [{ id: "bob", displayName: "Bob Ray" }, { id: "ann", displayName: "Ann Lee" }], contacts: [contact("bob", { remark: "Bobby" })],
    conversations: [
      summary("grp:a", { title: "Geese", last: message(3, { text: "see **you** there" }), lastAtMs: Date.now(), head: 3, unread: 2 }),
      summary("dm:bob:me", { last: message(1, { conversation: "dm:bob:me", sender: "bob", text: "hello" }), lastAtMs: 5, head: 1, mine: { revision: 1, pinned: true } }),
      summary("dm:ann:me", { last: message(1, { conversation: "dm:ann:me", sender: "ann" }), lastAtMs: 4, head: 1, mine: { revision: 1, draft: "not yet" } }),
    ],
  })
  const at = await show(<ConversationList selected={undefined} />, client)
  const [first, second, third] = lines(at)
  expect(first).toMatch(/^Bobby.*hello/)
  expect(second).toMatch(/^Geese.*Ann Lee: see you there/)
  expect(third).toMatch(/^Ann Lee.*Draft: not yet$/)
  await act(async () => conversations.set([summary("grp:a", { title: "Swans", lastAtMs: 9, head: 3 })]))
  expect(lines(at).at(-1)).toMatch(/^Swans/)
})

it("stands requests and new contacts above the conversations", async () => {
  const { client } = fakeClient({
    me: "me", users: [{ id: "cyd", displayName: "cyd" }, { id: "eve", displayName: "eve" }, { id: "bob", displayName: "Bob Ray" }], contacts: [contact("eve", { state: "CONTACT_STATE_ASKS_ME" }), contact("bob"), contact("cyd")],
    conversations: [summary("dm:cyd:me", { last: message(1, { conversation: "dm:cyd:me", sender: "cyd" }), lastAtMs: 5, head: 1 })],
  })
  const at = await show(<ConversationList selected={undefined} />, client)
  await shown(() => at.querySelector("a[href='/people']") !== null)
  expect(at.querySelector("a[href='/people']")?.textContent).toMatch(/eve.*wants to add you as a contact/)
  expect(lines(at)).toEqual([expect.stringMatching(/^Bob Ray.*You are now contacts\. Say hello\.$/), expect.stringMatching(/^cyd/)])
})

it("says nothing of an empty list before the first answer, although it is known whose it is", async () => {
  const { client } = fakeClient({ me: "me", conversations: [] })
  const state = new Value<{ state: string; error: undefined }>({ state: "connecting", error: undefined })
  Object.assign(client, { state })
  const at = await show(<ConversationList selected={undefined} />, client)
  expect(at.querySelector("[aria-busy=true]")).not.toBeNull()
  expect(at.textContent).not.toMatch(/No conversations yet|Find people/)
  await act(async () => state.set({ state: "connected", error: undefined }))
  await shown(() => /No conversations yet|Find people/.test(at.textContent ?? ""))
  await act(async () => state.set({ state: "waiting", error: undefined }))
  expect(at.querySelector("[aria-busy=true]")).toBeNull()
})

it("says what an empty list is for", async () => {
  const at = await show(<ConversationList selected={undefined} />, fakeClient({ me: "me", conversations: [] }).client)
  await shown(() => /No conversations yet|Find people/.test(at.textContent ?? ""))
  expect(at.textContent).toMatch(/No conversations yet|Find people/)
})
