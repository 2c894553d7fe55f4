import { expect, test } from "vitest"
import { shelfOf, withChanges, type Contact } from "./book.js"
import { calledIn, fits, onShelf, newContacts, tagsOf } from "./shelves.js"

const contact = (id: string, more: Partial<Contact> = {}): Contact => ({ user: { id, displayName: id }, state: "CONTACT_STATE_CONTACT", ...more })
const listOf = (...all: Contact[]): ReadonlyMap<string, Contact> => withChanges(new Map(), all)

test("changes replace, and take away who is nobody's contact any more; who is blocked stays", () => {
  const list = listOf(contact("ann"), contact("bob"), contact("cara"))
  const after = withChanges(list, [contact("ann", { remark: "Annie" }), contact("bob", { state: "CONTACT_STATE_NONE" }), contact("cara", { state: "CONTACT_STATE_NONE", blocked: true })])
  expect([...after.keys()]).toEqual(["ann", "cara"])
  expect(calledIn(after.get("ann")!)).toBe("Annie")
  expect(shelfOf(after.get("cara")!)).toBe("blocked")
  expect(list.size).toBe(3)
})

test("contacts stand by what the user calls them, requests by their time", () => {
  const list = listOf(
    contact("1", { user: { id: "1", displayName: "zoe" } }), contact("2", { user: { id: "2", displayName: "Émile" } }), contact("3", { user: { id: "3", displayName: "x" }, remark: "Adam" }),
    contact("4", { state: "CONTACT_STATE_ASKS_ME", changedAtMs: "10" }), contact("5", { state: "CONTACT_STATE_ASKS_ME", changedAtMs: "20" }),
  )
  expect(onShelf(list, "contacts", "en").map(calledIn)).toEqual(["Adam", "Émile", "zoe"])
  expect(onShelf(list, "asksMe", "en").map((c) => c.user.id)).toEqual(["5", "4"])
})

test("somebody is found by the beginning of any of their words, and of tags", () => {
  const c = contact("1", { user: { id: "1", displayName: "Ada Lovelace", username: "ada.king" }, remark: "Countess", tags: ["math"] })
  for (const q of ["", "ada", "LOVE", "king", "count", "math", "ａｄａ"]) expect(fits(c, q), q).toBe(true)
  for (const q of ["da", "x", "lovelace ada"]) expect(fits(c, q), q).toBe(false)
})

test("tags are those of contacts, each once", () => {
  expect(tagsOf(listOf(contact("1", { tags: ["work", "band"] }), contact("2", { tags: ["work"] }), contact("3", { tags: ["x"], blocked: true })), "en")).toEqual(["band", "work"])
})

const day = 86_400_000

test("greets contacts of the last days with whom nothing was said, the newest first", () => {
  const all = [contact("ann", { changedAtMs: String(80 * day) }), contact("bob", { changedAtMs: String(95 * day) }), contact("cyd", { changedAtMs: String(99 * day) }), contact("dan", { changedAtMs: String(98 * day) }), contact("eve", { changedAtMs: String(99 * day), state: "CONTACT_STATE_ASKED" }), contact("fay", { changedAtMs: String(99 * day), blocked: true })]
  expect(newContacts(all, new Set(["dan"]), 100 * day)).toEqual(["cyd", "bob"])
})
