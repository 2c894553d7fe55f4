import type { Core } from "./core.js"
import { kindOf } from "./conv.js"
import { SkeinError } from "./errors.js"
import { messageOf, messageOfOutbox } from "./message.js"
import type { FeedItem } from "./store.js"
import { KIND, feedEvents, groupEvents, type Entry } from "./wire.js"

/** How late it is noted that an event was handled, if nothing else is stored before. */
const noteAfter = 100

/** Tells the program of an event. What it is about is as it is now; an entry that left the window is as it was given. */
export function dispatch(k: Core, item: FeedItem, entry: Entry | undefined): void {
  emit(k, item, entry)
  k.handled = Math.max(k.handled, item.n)
  if (k.handledAt === 0) k.handledAt = k.o.now() + noteAfter
}

/** Everybody who hears events heard those up to n. */
export function heardUpTo(k: Core, n: number): void {
  if (n === k.heardBy) return
  k.post([], () => {
    k.heardBy = n
    if (k.handledAt === 0) k.handledAt = k.o.now() + noteAfter
  })
}

function emit(k: Core, item: FeedItem, given: Entry | undefined): void {
  const { conversation, seq, from, n } = item
  switch (item.kind) {
    case "reset":
      k.events.emit("reset", {}, n)
      return
    case "gap":
      k.events.emit("gap", { conversation, from, to: seq }, n)
      return
    case "gone":
      k.events.emit("gone", { conversation, from, to: seq }, n)
      return
    case "recalled":
      k.events.emit("recalled", { conversation, seq, by: item.by }, n)
      return
    case "failed": {
      const it = [...k.items.values()].find((i) => i.rec.n === item.outbox)
      if (it === undefined) return
      const message = messageOfOutbox(it.rec, k.meta.user)
      k.events.emit("failed", { message, error: message.error ?? new SkeinError({ code: it.rec.code }) }, n)
      return
    }
  }
  const cv = k.convs.get(conversation)
  const e = (cv?.entries === undefined ? undefined : cv.entry(seq)) ?? given
  if (e === undefined || (e.deleted === true && item.kind !== "ack")) return
  if (e.kind === KIND.event) {
    emitEvent(k, e, n)
    return
  }
  if (e.kind !== KIND.message) return
  const m = messageOf(e, k.meta.user, cv?.rec)
  if (item.kind === "ack") k.events.emit("sent", m, n)
  else k.events.emit(item.kind === "changed" ? "changed" : "message", m, n)
}

function emitEvent(k: Core, e: Entry, n: number): void {
  const name = String(e.event?.type ?? "").replace(/^EVENT_TYPE_/, "")
  const told = { by: e.sender ?? "", event: e.event ?? {}, seq: e.seq }
  if (kindOf(e.conversation) === "me") {
    const type = feedEvents.find((t) => t === name)
    if (type !== undefined) k.events.emit("account", { type, ...told }, n)
    return
  }
  const type = groupEvents.find((t) => t === name)
  if (type !== undefined) k.events.emit("group", { conversation: e.conversation, type, ...told }, n)
}
