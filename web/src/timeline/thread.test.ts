import { expect, test, vi } from "vitest"
import type { Message, Thread } from "@skein-im/client"
import type { ChatClient } from "@skein-im/react"
import { threadRows } from "./rows.js"
import { message } from "./testing.js"
import { ThreadStore } from "./thread.js"

const reply = (seq: number, more: Partial<Message> = {}): Message => message(seq, { thread: 1, ...more })

/** A conversation whose thread is all that `said` has, in pages of 50, and what its client hears. */
class World {
  said: Message[] = []
  asked: number[] = []
  kept = false
  private readonly heard = new Map<string, (e: object) => void>()
  readonly client = {
    state: { getSnapshot: () => ({ state: "connected" }) },
    on: (name: string, f: (e: object) => void) => (this.heard.set(name, f), () => this.heard.delete(name)),
    conversation: () => ({
      thread: async (_seq: number, before: number, limit: number) => {
        this.asked.push(before)
        const all = before > 0 ? this.said.filter((m) => m.seq < before) : this.said
        const replies = all.slice(-limit)
        const thread: Thread = { root: this.root(), last: this.said.at(-1)?.seq ?? 0, follows: false, unread: 0, read: 0, kept: this.kept }
        return { thread, replies, next: all.length > replies.length ? replies[0]!.seq : 0 }
      },
      setMyState: async () => undefined,
    }),
  } as unknown as ChatClient

  root(): Message {
    return message(1, { replies: { count: this.said.length, lastAtMs: 1 } })
  }

  tell(name: string, e: object): void {
    this.heard.get(name)?.({ conversation: "grp:a", ...e })
  }
}

test("what is heard of a thread is put in its place; what was missed is read again", async () => {
  vi.useFakeTimers()
  const w = new World()
  w.said = Array.from({ length: 60 }, (_, i) => reply(i + 2))
  const store = new ThreadStore(w.client, "grp:a", 1)
  const off = store.subscribe(() => undefined)
  const seqs = (): number[] => store.getSnapshot().replies.map((m) => m.seq)
  await vi.advanceTimersByTimeAsync(0)
  expect([seqs().length, seqs()[0], store.getSnapshot().more]).toEqual([50, 12, true])
  await store.older()
  expect([seqs().length, seqs()[0], store.getSnapshot().more]).toEqual([60, 2, false])

  const say = (m: Message): void => {
    w.said.push(m)
    w.tell("thread", { root: 1, seq: m.seq, message: m })
    w.tell("changed", w.root())
  }
  say(reply(70))
  await vi.advanceTimersByTimeAsync(1000)
  expect([seqs().at(-1), w.asked.length, store.getSnapshot().thread?.unread]).toEqual([70, 2, 1])

  w.said = w.said.filter((m) => m.seq !== 70)
  w.tell("thread", { root: 1, seq: 70, message: undefined })
  w.tell("changed", w.root())
  await vi.advanceTimersByTimeAsync(1000)
  expect([seqs().length, w.asked]).toEqual([60, [0, 12, 71]])

  w.said.push(reply(80)) // its push was lost: the root alone tells it
  w.tell("changed", w.root())
  await vi.advanceTimersByTimeAsync(1000)
  expect([seqs().length, seqs()[0], seqs().at(-1)]).toEqual([61, 2, 80])

  w.said.push(...Array.from({ length: 70 }, (_, i) => reply(100 + i))) // more than a page: what is between is not left out
  w.tell("state", { state: "connected" })
  await vi.advanceTimersByTimeAsync(1000)
  expect([seqs().length, seqs()[0], store.getSnapshot().more]).toEqual([50, 120, true])
  off()
  vi.useRealTimers()
})

test("what came from what is kept is read of the server, if the connection was there again before it came", async () => {
  vi.useFakeTimers()
  const w = new World()
  w.said = [reply(2)]
  w.kept = true
  const store = new ThreadStore(w.client, "grp:a", 1)
  const off = store.subscribe(() => undefined)
  await vi.advanceTimersByTimeAsync(0)
  expect([store.getSnapshot().thread?.kept, store.getSnapshot().replies.length]).toEqual([true, 1])
  w.kept = false
  w.said.push(reply(3))
  await vi.advanceTimersByTimeAsync(1000)
  expect([store.getSnapshot().thread?.kept, store.getSnapshot().replies.length, w.asked]).toEqual([false, 2, [0, 0]])
  off()
  vi.useRealTimers()
})

test("a day stands once above the root of a thread and its replies", () => {
  const kinds = (replies: Message[]): string[] => threadRows(message(1), replies, -1).map((r) => r.kind)
  expect(kinds([reply(2), reply(3)])).toEqual(["date", "message", "replies", "message", "message"])
  expect(kinds([reply(2, { atMs: message(1).atMs + 86_400_000 })])).toEqual(["date", "message", "replies", "date", "message"])
})
