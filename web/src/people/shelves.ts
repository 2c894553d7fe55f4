import { shelfOf, type Contact, type Shelf } from "./book.js"

/* What rooms make of the book: its shelves in order, who is new on them, who is found. */

/** What the user calls somebody: by the remark, else as they call themselves. "" if neither is known. */
export function calledIn(c: Contact): string {
  return c.remark || c.user.displayName || c.user.username || ""
}

/** Those of one shelf, by name; the newest request first. */
export function onShelf(list: ReadonlyMap<string, Contact>, shelf: Shelf, locale: string): Contact[] {
  const all = [...list.values()].filter((c) => shelfOf(c) === shelf)
  if (shelf === "asksMe" || shelf === "asked") return all.sort((a, b) => Number(b.changedAtMs ?? 0) - Number(a.changedAtMs ?? 0))
  const { compare } = new Intl.Collator(locale, { sensitivity: "base", numeric: true })
  return all.sort((a, b) => compare(calledIn(a), calledIn(b)) || (a.user.id < b.user.id ? -1 : 1))
}

const plain = (s: string): string => s.normalize("NFKC").toLocaleLowerCase()

/** Whether a remark, a name, the user name or a tag has a word that begins so. */
export function fits(c: Contact, query: string): boolean {
  const q = plain(query.trim())
  if (q === "") return true
  const texts = [c.remark ?? "", c.user.displayName, c.user.username ?? "", ...(c.tags ?? [])].map(plain)
  return texts.some((text) => text.startsWith(q) || text.split(/[\s._-]+/u).some((w) => w.startsWith(q)))
}

/** All tags that are used, each once, by name. */
export function tagsOf(list: ReadonlyMap<string, Contact>, locale: string): string[] {
  const all = new Set([...list.values()].filter((c) => shelfOf(c) === "contacts").flatMap((c) => c.tags ?? []))
  return [...all].sort(new Intl.Collator(locale).compare)
}

/** Whom the user had asked, and who are contacts now. */
export function accepted(before: ReadonlyMap<string, Contact>, now: ReadonlyMap<string, Contact>): Contact[] {
  return [...now.values()].filter((c) => shelfOf(c) === "contacts" && before.get(c.user.id)?.state === "CONTACT_STATE_ASKED")
}

/** A new contact stands in the list so long, if nothing is said. */
const newMs = 7 * 86_400_000
const mostNew = 3

/** Contacts of the last days with whom there is no conversation, the newest first. */
export function newContacts(contacts: readonly Contact[], begun: ReadonlySet<string>, nowMs: number): string[] {
  return contacts
    .filter((c) => c.state === "CONTACT_STATE_CONTACT" && c.blocked !== true && c.user.deleted !== true && !begun.has(c.user.id) && nowMs - Number(c.changedAtMs ?? 0) < newMs)
    .sort((a, b) => Number(b.changedAtMs ?? 0) - Number(a.changedAtMs ?? 0))
    .slice(0, mostNew)
    .map((c) => c.user.id)
}
