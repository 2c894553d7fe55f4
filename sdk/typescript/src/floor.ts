import { begin, after, theirs, type Conv } from "./conv.js"
import type { Core } from "./core.js"
import { askWhatIsLeft } from "./perish.js"
import { wantPull } from "./pull.js"
import { applyEarly } from "./stretch.js"
import type { Window } from "./store.js"
import type { ServerFrame } from "./wire.js"
import { trimThreads } from "./threads.js"
import { dropOutside } from "./windows.js"

/*
 * What is not kept any more (SPEC §4.33) lies up to the floor of its conversation, which the server tells as it
 * rises, and in each state of the conversation. The greatest that was told counts: what says less was made before.
 */

/** Takes the floor of a conversation as it rises. Of one that is not known, what the server will say of it has the floor. */
export function onFloor(k: Core, f: NonNullable<ServerFrame["floor"]>): void {
  const cv = k.convs.get(f.conversation ?? "")
  if (cv === undefined || f.seq <= cv.floor) return
  cv.floor = f.seq
  cv.floorCount = f.count
  sink(k, cv)
}

/** Takes the floor that a state told, which is applied. Where the server had not noticed what is known here, its windows and what it says is unread are cut. */
export function takeFloor(k: Core, cv: Conv, seq: number): void {
  if (seq < cv.floor) {
    sink(k, cv)
  } else if (seq > cv.floor) {
    cv.floor = seq
    cv.floorCount = undefined
  }
}

/** Takes away what lies up to the floor: from the windows, from what is unread, and from what is shown and stored. */
function sink(k: Core, cv: Conv): void {
  const r = cv.rec
  const at = cv.floor
  if (begin(r) > at) return
  const inside = theirs(r, at, at) > 0
  let between = 0 // messages behind the windows that go
  let behind = 0 // those right behind the floor
  const kept: Window[] = []
  for (const w of r.earlier) {
    if (w.until <= at) {
      between += w.hidden
      if (w.until === at) behind = w.hidden
    } else kept.push({ ...w, first: Math.max(w.first, at + 1) })
  }
  r.earlier = kept
  r.first = Math.max(r.first, at + 1)
  const [recalled, mentions] = [r.recalled, r.mentions].map((all) => all.filter((seq) => seq > at)) as [number[], number[]]
  const passed = r.recalled.length - recalled.length
  // Those without a name lie behind the last one that has one.
  let sure = (r.recalledMore === 0 || recalled.length > 0) && (r.mentionsMore === 0 || mentions.length > 0)
  r.recalled = recalled
  r.mentions = mentions
  if (r.read < at) {
    if (inside && cv.floorCount !== undefined) {
      r.readCount = Math.max(r.readCount, cv.floorCount + behind)
    } else {
      r.readCount += between + passed // until the server has told
      sure = false
    }
  } else sure = true
  dropOutside(k, cv, at)
  trimThreads(k, cv)
  cv.forgetEarly(after(r, r.high))
  k.touch(cv, true)
  applyEarly(k, cv, false)
  wantPull(k, cv)
  if (!sure) askWhatIsLeft(k, cv)
}
