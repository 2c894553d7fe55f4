import { useEffect, useSyncExternalStore } from "react"
import type { ChatClient, Response, SkeinError } from "@skein-im/client"
import { errorFrom, useClient, useProfiles, type Profiles } from "@skein-im/react"

/*
 * The user's contacts, requests and blocks: read once, then what changed since, whenever the feed tells of a change. All
 * rooms look at the same book.
 */

export type Contact = NonNullable<Response<"skein.v1.ContactService/ListContacts">["contacts"]>[number]

export interface Book {
  contacts: ReadonlyMap<string, Contact>
  remarks: ReadonlyMap<string, string>
  state: "loading" | "ready" | "failed"
  error: SkeinError | undefined
}

/** Puts a page of changes into the list; who is in it no more is taken out. */
export function withChanges(list: ReadonlyMap<string, Contact>, changes: readonly Contact[]): ReadonlyMap<string, Contact> {
  const all = new Map(list)
  for (const c of changes) {
    if (c.state === "CONTACT_STATE_NONE" && c.blocked !== true) all.delete(c.user.id)
    else all.set(c.user.id, c)
  }
  return all
}

/** The remarks of a list; the map that was there before, if it says the same. */
export function remarksOf(list: ReadonlyMap<string, Contact>, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const all = new Map<string, string>()
  for (const [id, c] of list) if (c.remark) all.set(id, c.remark)
  return all.size === before.size && [...all].every(([id, remark]) => before.get(id) === remark) ? before : all
}

export type Shelf = "contacts" | "asksMe" | "asked" | "blocked"

/** Where somebody stands in the list; blocked before all else. */
export function shelfOf(c: Contact): Shelf | undefined {
  if (c.blocked === true) return "blocked"
  switch (c.state) {
    case "CONTACT_STATE_CONTACT":
      return "contacts"
    case "CONTACT_STATE_ASKS_ME":
      return "asksMe"
    case "CONTACT_STATE_ASKED":
      return "asked"
    default:
      return undefined
  }
}

class ContactBook {
  private book: Book = { contacts: new Map(), remarks: new Map(), state: "loading", error: undefined }
  private revision = "0"
  private reading = false
  private again = false
  private readonly listeners = new Set<() => void>()

  constructor(private readonly client: ChatClient, private readonly profiles: Profiles) {
    client.on("account", ({ type }) => {
      if (type.startsWith("CONTACT_")) this.read()
    })
    client.on("reset", () => {
      this.revision = "0"
      this.read()
    })
    this.read()
  }

  readonly getSnapshot = (): Book => this.book
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  private set(change: Partial<Book>): void {
    this.book = { ...this.book, ...change }
    for (const f of [...this.listeners]) f()
  }

  /** Reads what changed; asked meanwhile it reads once more. */
  readonly read = (): void => {
    this.again = true
    if (this.reading) return
    this.reading = true
    void this.run().finally(() => (this.reading = false))
  }

  private async run(): Promise<void> {
    while (this.again) {
      this.again = false
      try {
        await this.pages()
        this.set({ state: "ready", error: undefined })
      } catch (e) {
        this.set({ state: this.book.state === "ready" ? "ready" : "failed", error: errorFrom(e) })
      }
    }
  }

  private async pages(): Promise<void> {
    let since = this.revision
    let list = since === "0" ? new Map<string, Contact>() : this.book.contacts
    let revision = ""
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const r: Response<"skein.v1.ContactService/ListContacts"> = await this.client.call("skein.v1.ContactService/ListContacts", { limit: 500, cursor, since })
      if (r.reset === true) {
        list = new Map()
        since = "0"
        revision = ""
      }
      list = new Map(withChanges(list, r.contacts ?? []))
      this.profiles.put((r.contacts ?? []).map((c) => c.user))
      // Of the whole list the first page's revision counts, of changes the last one's.
      if (since !== "0" || revision === "") revision = r.revision ?? "0"
      cursor = r.next || undefined
    }
    this.revision = revision
    this.set({ contacts: list, remarks: remarksOf(list, this.book.remarks) })
  }
}

const books = new WeakMap<ChatClient, ContactBook>()

function useContactBook(): ContactBook {
  const client = useClient()
  const profiles = useProfiles()
  let b = books.get(client)
  if (b === undefined) books.set(client, (b = new ContactBook(client, profiles)))
  return b
}

/** The book, and how to read it again: after a change of the user's own, or a failure. */
export function useBook(): Book & { read: () => void } {
  const b = useContactBook()
  const book = useSyncExternalStore(b.subscribe, b.getSnapshot)
  useEffect(() => {
    if (book.state === "failed") b.read()
    // once for who enters
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [b])
  return { ...book, read: b.read }
}

/** Somebody's place in the book; undefined: they are not in it, or it is not read yet. */
export function useContact(user: string | undefined): Contact | undefined {
  const b = useContactBook()
  return useSyncExternalStore(b.subscribe, () => (user === undefined ? undefined : b.getSnapshot().contacts.get(user)))
}

/** What the user calls their contacts, where that is not what those call themselves. Another map whenever one of them changes. */
export function useRemarks(): ReadonlyMap<string, string> {
  const b = useContactBook()
  return useSyncExternalStore(b.subscribe, () => b.getSnapshot().remarks)
}

/** Whether the book was read at least once: before that, who is not in it may be in it all the same. */
export function useBookKnown(): boolean {
  const b = useContactBook()
  return useSyncExternalStore(b.subscribe, () => b.getSnapshot().state === "ready")
}

/** How many ask to be a contact, and wait for an answer. */
export function useAsking(): number {
  const b = useContactBook()
  return useSyncExternalStore(b.subscribe, () => [...b.getSnapshot().contacts.values()].filter((c) => shelfOf(c) === "asksMe").length)
}
