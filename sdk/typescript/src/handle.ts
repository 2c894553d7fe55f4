import { take } from "./apply.js"
import { onResult } from "./call.js"
import { onError, onGoAway } from "./connect.js"
import type { Core } from "./core.js"
import { errorOf } from "./errors.js"
import { onFloor } from "./floor.js"
import { fromBase64 } from "./ids.js"
import { onReceipt } from "./marks.js"
import { onMyState } from "./mine.js"
import { onAck, onSendError } from "./outbox.js"
import { onRange } from "./pull.js"
import { onRenewed } from "./renew.js"
import { onDelta, onHeads, onPong, onPosition, onResync } from "./sync.js"
import type { ServerFrame } from "./wire.js"

/** A frame after the Welcome. One that is not known is ignored, SPEC §1.4. */
export function handle(k: Core, f: ServerFrame): void {
  if (f.sendAck !== undefined) onAck(k, f.sendAck)
  else if (f.sendError !== undefined) onSendError(k, f.sendError)
  else if (f.push !== undefined) {
    take(k, f.push.entries ?? [])
    onPosition(k, f.push.position ?? "")
  } else if (f.receipt !== undefined) onReceipt(k, f.receipt)
  else if (f.myState !== undefined) onMyState(k, f.myState)
  else if (f.syncDelta !== undefined) onDelta(k, f.syncDelta)
  else if (f.range !== undefined) onRange(k, f.range)
  else if (f.result !== undefined) onResult(k, f.result)
  else if (f.pong !== undefined) onPong(k, f.pong)
  else if (f.ping !== undefined) k.send({ pong: {} })
  else if (f.heads !== undefined) onHeads(k, f.heads.heads ?? [])
  else if (f.floor !== undefined) onFloor(k, f.floor)
  else if (f.resync !== undefined) onResync(k)
  else if (f.renewed !== undefined) onRenewed(k, f.renewed.tokenExpiresAtMs)
  else if (f.goAway !== undefined) onGoAway(k, f.goAway.retryAfterMs ?? 0)
  else if (f.error !== undefined) onError(k, errorOf(f.error))
  else if (f.kick !== undefined) onError(k, errorOf(f.kick.error), { by: f.kick.by, atMs: f.kick.atMs })
  else passing(k, f)
}

function passing(k: Core, f: ServerFrame): void {
  const { typing, signal, presence, part, announcements } = f
  if (announcements !== undefined) k.tell("announcements", announcements.announcements ?? [])
  if (typing !== undefined) k.tell("typing", { conversation: typing.conversation ?? "", user: typing.user ?? "" })
  if (signal !== undefined) {
    const data = fromBase64(signal.data ?? "")
    k.tell("signal", { conversation: signal.conversation ?? "", user: signal.user ?? "", type: signal.type ?? "", data })
  }
  if (presence !== undefined) {
    k.tell("presence", { user: presence.user ?? "", online: presence.online ?? false, lastSeenAtMs: presence.lastSeenAtMs ?? 0 })
  }
  if (part !== undefined) {
    const { conversation = "", user = "", seq, replaced = 0, offset = 0, text = "" } = part
    k.tell("part", { conversation, user, seq, replaced, offset, text })
  }
}
