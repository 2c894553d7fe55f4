import { newRecord } from "../src/conv.js"
import { Client, MemoryStore, type Entry, type IndexedDBStore, type Op, type Store } from "../src/index.js"

/*
 * What is asked of stores. It runs in Node (store.test.ts) and in pages (inpage.ts), and so names nothing of either.
 */

/** How a place compares. */
export interface Check {
  same(got: unknown, want: unknown): void
  /** Fails unless it is rejected with that code. */
  refused(p: Promise<unknown>, code: string): Promise<void>
}

const entry = (seq: number, conversation = "grp:a"): Entry => ({ conversation, seq, storedAtMs: seq, count: seq, target: 0, amended: 0 })
const feed = (n: number): Op => ({ op: "feed", item: { n, kind: "entry", conversation: "grp:a", from: 0, seq: n, by: "", outbox: 0 } })

/** A store keeps what it is given, also for the next one on the same place. */
export async function keeps(open: () => Store, check: Check): Promise<void> {
  let s = open()
  check.same(await s.load(), { meta: undefined, conversations: [], outbox: [], feed: [], threads: [] })
  const rec = newRecord("grp:a", 0)
  const send = { conversation: "grp:a", id: "x", content: { type: "text", text: "hi" } }
  const record = { n: 1, state: "pending" as const, send, madeAtMs: 5, seq: 0, code: "", number: 0, reason: "" }
  await s.apply([
    { op: "conversation", record: rec }, ...[3, 1, 2].map((n): Op => ({ op: "entry", entry: entry(n) })), { op: "entry", entry: entry(1, "grp:b") },
    { op: "outbox", record: { ...record, n: 2 } }, { op: "outbox", record }, feed(1), feed(2), feed(3),
  ])
  await s.apply([{ op: "forget", conversation: "grp:a", below: 2 }, { op: "outboxDelete", n: 2 }, { op: "handled", n: 2 }, { op: "entry", entry: { ...entry(3), amended: 9 } }])
  if (!(s instanceof MemoryStore)) { // the others are there again
    await s.close()
    s = open()
  }
  const snap = await s.load()
  check.same(snap.conversations.map((r) => ({ ...newRecord("", 0), ...r })), [rec]) // undefined may be absent
  check.same(snap.outbox, [record])
  check.same(snap.feed.map((f) => f.n), [3])
  check.same((await s.entries("grp:a")).map((e) => [e.seq, e.amended]), [[2, 0], [3, 9]])
  const thread = { root: entry(1), last: 3, follows: true, unread: 1, read: 2 }
  const kept = { conversation: "grp:a", root: 1, thread, replies: [entry(2), entry(3)], before: 2, stale: false, used: 1 }
  const more = { ...kept, replies: [entry(3)], before: 3, stale: true, used: 2 }
  await s.apply([kept, { ...kept, root: 9 }, { ...kept, conversation: "grp:b" }].map((t): Op => ({ op: "thread", record: t })))
  await s.apply([{ op: "thread", record: more }, { op: "threadForget", conversation: "grp:a", root: 9 }, { op: "threadForget", conversation: "grp:c", root: 9 }, { op: "forget", conversation: "grp:b", below: 99 }])
  if (!(s instanceof MemoryStore)) {
    await s.close()
    s = open()
  }
  check.same((await s.load()).threads, [more, { ...kept, conversation: "grp:b" }])
  await s.apply([{ op: "reset" }])
  check.same((await s.load()).threads, [])
  check.same((await s.load()).conversations, [])
  check.same(await s.entries("grp:b"), [])
  check.same((await s.load()).outbox.length, 1)
  await s.close()
}

/** Opens the store from one of three tabs, or from where there are no locks. */
export type OpenFrom = (tab: 0 | 1 | 2 | "without locks", o?: { takeOver: boolean }) => IndexedDBStore

/** A store serves one client: the second is refused, and one that takes over has the first one's writes fail. */
export async function servesOne(open: OpenFrom, check: Check): Promise<void> {
  const taken = "store_taken"
  const one = open(0)
  await one.load()
  await one.apply([feed(1)])
  await check.refused(open(1).load(), taken)
  const c = new Client({ url: "ws://x/ws", getToken: () => "t", store: open(1), WebSocket: class {} as never })
  await check.refused(c.connected(), taken)
  check.same(c.state.getSnapshot().error?.code, taken)
  await one.apply([feed(2)])

  const next = open(2, { takeOver: true })
  check.same((await next.load()).feed.length, 2)
  await check.refused(one.apply([feed(3)]), taken)
  await next.apply([feed(4)])
  next.release()
  await check.refused(next.apply([feed(5)]), taken)
  const last = open(1)
  check.same((await last.load()).feed.map((f) => f.n), [1, 2, 4])

  const without = open("without locks")
  await without.load()
  await check.refused(last.apply([feed(6)]), taken)
  await without.wipe()
  await check.refused(without.apply([feed(7)]), taken)
  check.same((await without.load()).feed, [])
}

/** How pages compare: all that is told here is plain. */
export const pageCheck: Check = {
  same: (got, want) => {
    if (plain(got) !== plain(want)) throw new Error(`${plain(got)}, not ${plain(want)}`)
  },
  refused: (p, code) => p.then(
    () => Promise.reject(new Error(`it is not refused with ${code}`)),
    (e: unknown) => pageCheck.same((e as { code?: string }).code, code),
  ),
}

/** JSON with the keys in one order. */
function plain(v: unknown): string {
  return JSON.stringify(v, (_, x: unknown) => (x !== null && typeof x === "object" && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort(([a], [b]) => (a < b ? -1 : 1))) : x)) ?? "undefined"
}
