// @vitest-environment happy-dom
import { afterEach, expect, it } from "vitest"
import type { Message } from "@skein-im/client"
import type { Contact } from "../people/book.js"
import { cleanup, fakeClient, show, shown, summary } from "../testing/fake.js"
import { message } from "./testing.js"
import { Timeline } from "./Timeline.js"

afterEach(cleanup)

const users = [{ id: "ann", displayName: "Ann Lee" }, { id: "bob", displayName: "Bob Ray" }, { id: "me", displayName: "Me" }]
const timeline = async (messages: readonly Message[], unread = 0, contacts: readonly Contact[] = []): Promise<HTMLElement> => {
  const { client } = fakeClient({ me: "me", users, contacts, messages, conversations: [summary("grp:a", { title: "Geese", head: messages.length, high: messages.length, low: 1, read: messages.length - unread, unread })] })
  return show(<Timeline conversation="grp:a" />, client, "/c/grp:a")
}
const articles = (at: HTMLElement): string[] => [...at.querySelectorAll("article")].map((a) => (a.textContent ?? "").replace(/\s+/g, " "))

it("shows messages by their senders, as the reader calls them, with ticks of one's own", async () => {
  const contacts = [{ user: users[0], state: "CONTACT_STATE_CONTACT", remark: "Annie" }] as Contact[]
  const at = await timeline([message(1), message(2, { sender: "bob" }), message(3, { sender: "me", own: true, status: "read" }), message(4, { recalled: true, type: "", text: "" })], 0, contacts)
  const [ann, bob, own, gone] = articles(at)
  expect(ann).toMatch(/^Annie.*m1/)
  expect(bob).toMatch(/^Bob Ray.*m2/)
  expect(own).toMatch(/^m3/)
  expect(at.querySelectorAll("article")[2]?.querySelector("[role=img]")?.getAttribute("aria-label")).toBe("Read")
  expect(gone).toContain("Message deleted")
  expect(at.textContent).toContain("This is the beginning of what you can read here.")
})

it("says what happened in words, and where unread messages begin", async () => {
  const at = await timeline([message(1, { kind: "event", sender: "ann", event: { type: "EVENT_TYPE_GROUP_RENAMED", text: "Swans" } as Message["event"] }), message(2), message(3, { sender: "bob" })], 1)
  await shown(() => (at.textContent ?? "").includes("renamed"))
  expect(at.textContent).toMatch(/Ann Lee.* renamed the group to “Swans”/)
  const line = at.querySelector("[role=separator]")
  expect(line?.textContent).toBe("Unread")
  expect(line?.compareDocumentPosition(at.querySelectorAll("article")[1]!)).toBe(Node.DOCUMENT_POSITION_FOLLOWING)
})

it("stands a text of an attacker there as text", async () => {
  const evil = "<img src=x onerror=alert(1)> [x](javascript:alert(2))"
  const at = await timeline([message(1, { text: evil })])
  expect(articles(at)[0]).toContain("<img src=x onerror=alert(1)>")
  expect(at.querySelectorAll("article img, article a")).toHaveLength(0)
})
