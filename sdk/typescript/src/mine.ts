import type { Conv } from "./conv.js"
import type { Core } from "./core.js"
import { requestSync } from "./sync.js"
import { takeMarks, trimThreads } from "./threads.js"
import { withoutDeleted } from "./unread.js"
import type { MyState } from "./wire.js"

/** What the user set for themselves in a conversation, here or on another device. SPEC §4.8. */
export function onMyState(k: Core, m: MyState | undefined): void {
  if (!m?.conversation) return
  const cv = k.convs.get(m.conversation)
  if (cv !== undefined) takeMine(k, cv, m, true)
  else if (!k.meta.listing && k.state === "connected") requestSync(k) // it comes with the conversation
}

/** Keeps it, unless something newer is known. ask: what it deletes is not left out of what the server said to be unread. */
export function takeMine(k: Core, cv: Conv, m: MyState | undefined, ask: boolean): void {
  if (m === undefined || m.revision <= (cv.rec.mine?.revision ?? 0)) return
  const more = (m.deleted?.length ?? 0) > 0 && JSON.stringify(m.deleted) !== JSON.stringify(cv.rec.mine?.deleted)
  cv.rec.mine = m
  if (more) withoutDeleted(k, cv, ask)
  takeMarks(k, cv)
  trimThreads(k, cv)
  k.touch(cv, true)
  k.tell("myState", { ...m, conversation: cv.rec.id })
}
