import { due, earliest, named, type Core, type State } from "./core.js"
import { SkeinError, errorOf } from "./errors.js"
import { handle } from "./handle.js"
import { marksSoon, repeatMarks } from "./marks.js"
import { oldestInFlight, release, renewIds, requeue } from "./outbox.js"
import { wantPulls } from "./pull.js"
import { serverIs } from "./perish.js"
import { planRenewal, renew } from "./renew.js"
import { Socket } from "./socket.js"
import { newSync, reset, sendPing } from "./sync.js"
import type { Device, ServerFrame, Sync, Welcome } from "./wire.js"

/** The connection: SPEC §3, §9. */

/** How long a request may be unanswered while others are answered. */
const patience = 30_000
/** Bounds token, connect and greeting. */
const dialTimeout = 15_000
/** How long the server may be silent while it owes an answer. */
const answerWithin = 15_000
/** Different tokens refused in a row before the client stops. */
const maxRejections = 3

export function setState(k: Core, state: State, error?: SkeinError, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  if (k.state === state && error === undefined) return
  k.state = state
  if (state !== "connecting") k.stateError = error // while connecting it is still why there is none
  k.changedViews.add("")
  k.tell("state", { state, error, ...more })
  if (state === "connected" || state === "stopped") {
    const waiting = [...k.waiters]
    k.waiters.clear()
    k.after((failed) => waiting.forEach((w) => w(failed ?? error)))
  }
}

export function startDial(k: Core): void {
  if (k.dialing !== 0 || k.link !== undefined) return
  setState(k, "connecting")
  const attempt = (k.dialing = k.nextNumber())
  k.dialEndsAt = k.o.now() + dialTimeout
  const sync = newSync(k)
  k.toldBackground = k.background
  const mine = (f: () => void) => (): void => {
    if (k.dialing === attempt) f()
  }
  void tokenOf(k).then(
    (token) => k.post([], mine(() => greet(k, attempt, token, sync))),
    (e: unknown) => k.post([], mine(() => failed(k, tokenError(e), true))),
  )
}

export async function tokenOf(k: Core): Promise<string> {
  return await k.o.getToken(k.rejected)
}

function tokenError(e: unknown): SkeinError {
  return e instanceof SkeinError ? e : new SkeinError({ code: "offline", message: `token: ${String(e)}`, cause: e })
}

/** Connects, says Hello and waits for the Welcome; from then on the socket is the link. */
function greet(k: Core, attempt: number, token: string, sync: Sync): void {
  k.token = token
  let socket: Socket
  const current = (f: () => void) => (): void => {
    if (k.greeting === socket || k.link === socket) f()
  }
  try {
    socket = new Socket(k.o.WebSocket, k.o.url, k.o.codec, {
      open: () => {
        if (k.dialing !== attempt) return
        const device = { id: k.meta.device, ...k.o.device }
        socket.send({
          hello: { versionMin: 1, versionMax: 1, token, device, client: k.o.client, sync, idleMs: k.o.idleMs, background: k.background },
        })
        k.toldBackground = k.background
      },
      frame: (f) => k.post(named(k, f), current(() => inbound(k, socket, f, sync))),
      end: (e) => k.post([], current(() => ended(k, socket, e ?? new SkeinError({ code: "offline", message: "the connection ended" })))),
    })
    k.greeting = socket
  } catch (e) {
    failed(k, e instanceof SkeinError ? e : new SkeinError({ code: "offline", message: String(e), cause: e }))
  }
}

function inbound(k: Core, socket: Socket, f: ServerFrame, sync: Sync): void {
  if (k.link === socket) {
    handle(k, f)
    heard(k)
    return
  }
  if (f.welcome !== undefined) welcome(k, socket, f.welcome, sync)
  else if (f.error !== undefined) failed(k, errorOf(f.error))
  else if (f.kick !== undefined) failed(k, errorOf(f.kick.error), false, { by: f.kick.by, atMs: f.kick.atMs })
  else if (f.goAway !== undefined) failed(k, new SkeinError({ code: "going_away", retryAfterMs: f.goAway.retryAfterMs ?? 0 }))
}

function ended(k: Core, socket: Socket, e: SkeinError): void {
  if (k.link === socket) lost(k, e)
  else failed(k, e)
}

function undial(k: Core): void {
  k.dialing = k.dialEndsAt = 0
  k.greeting?.close()
  k.greeting = undefined
}

function failed(k: Core, e: SkeinError, ofToken = false, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  undial(k)
  decide(k, e, ofToken, more)
}

function welcome(k: Core, socket: Socket, w: Welcome, sync: Sync): void {
  if (w.version !== 1) {
    failed(k, new SkeinError({ code: "version_unsupported", message: `the server chose version ${String(w.version)}` }))
    return
  }
  const user = w.user ?? ""
  if (k.meta.user !== "" && k.meta.user !== user) {
    undial(k)
    stop(k, new SkeinError({ code: "other_user", message: "the store belongs to another user" }))
    return
  }
  k.greeting = undefined
  k.dialing = k.dialEndsAt = 0
  k.link = socket
  const now = k.o.now()
  if (k.background !== k.toldBackground) k.send({ background: { on: k.background } })
  k.reason = undefined
  k.goAwayAt = 0
  k.relisted = k.resynced = false
  k.limits = w.limits ?? {}
  k.heartbeat = w.heartbeat ?? {}
  k.rejected = ""
  k.rejections = 0
  k.lastSent = k.lastHeard = k.lastPing = k.awaiting = now
  k.ids.setServerTime(w.serverTimeMs)
  serverIs(k, w.serverTimeMs)
  k.offered = ""
  planRenewal(k, w.tokenExpiresAtMs)
  if (k.meta.user === "") {
    k.meta.user = user
    k.metaDirty = true
  }
  const timeline = w.timeline ?? ""
  if (k.meta.timeline !== "" && k.meta.timeline !== timeline) reset(k, timeline)
  if (k.meta.timeline !== timeline) {
    k.meta.timeline = timeline
    k.metaDirty = true
  }
  k.requests.set(sync.number, { kind: "sync", cold: !sync.position, at: now, tick: k.tick, newest: sync.newest })
  k.syncing = true
  k.base = ""
}

/** The first sync is applied. Nothing less ends the growing of the pauses. */
export function connected(k: Core): void {
  k.attempt = 0
  setState(k, "connected")
  repeatMarks(k)
  k.refusedThreads.clear()
  renewIds(k)
  if (k.watched.length > 0) k.send({ watchPresence: { users: [...k.watched] } })
  wantPulls(k)
}

function heard(k: Core): void {
  k.lastHeard = k.o.now()
  const owed = k.ping !== undefined || k.inflight > 0 || k.requests.size > 0 || k.calls.size > 0
  k.awaiting = owed ? k.lastHeard : 0
}

/** After silence, of either side, but also when heads were not compared for twice that. SPEC §9.1. */
function pingAt(k: Core): number {
  if (k.ping !== undefined || k.state !== "connected") return 0
  const idle = k.heartbeat.idleMs || 30_000
  return earliest(k.lastSent + idle, k.lastHeard + idle, k.lastPing + 2 * idle)
}

/** When the connection counts as dead. */
function answerDeadline(k: Core): number {
  let at = k.awaiting > 0 ? k.awaiting + answerWithin : 0
  if (k.heartbeat.deadMs && k.state === "connected") at = earliest(at, k.lastHeard + k.heartbeat.deadMs)
  for (const r of k.requests.values()) at = earliest(at, r.at + patience)
  const sent = oldestInFlight(k)
  return sent > 0 ? earliest(at, sent + patience) : at
}

export function keepAlive(k: Core, now: number): void {
  if (due(k.dialEndsAt, now)) failed(k, new SkeinError({ code: "offline", message: "the server does not answer" }))
  if (k.link === undefined) return
  if (due(k.goAwayAt, now)) leave(k)
  else if (due(answerDeadline(k), now)) lost(k, new SkeinError({ code: "offline", message: "the server does not answer" }))
  else if (due(pingAt(k), now)) sendPing(k)
  else if (due(k.renewAt, now)) renew(k)
}

export function nextOfConnection(k: Core): number {
  let at = earliest(k.dialEndsAt, k.byeAt, k.byeAt === 0 ? k.closeAt : 0)
  if (k.state === "connected") at = earliest(at, k.goneAskAt)
  if (k.link !== undefined) at = earliest(at, pingAt(k), answerDeadline(k), k.goAwayAt, k.again.at, k.pageAgain.at, k.renewAt)
  return at
}

export function onGoAway(k: Core, retryAfterMs: number): void {
  k.goAwayAt = k.o.now() + k.jitter(retryAfterMs)
}

/** An error of no request: ranges other than retry and fix mean that the connection ends. */
export function onError(k: Core, e: SkeinError, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  if (more === undefined && (e.action === "retry" || e.action === "fix")) return
  k.reason = e
  lost(k, e, more)
}

/** Ends the connection and decides how to go on. */
export function lost(k: Core, e: SkeinError, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  if (k.link === undefined) return
  if (k.byeAt > 0) {
    k.die(new SkeinError({ code: "closed" }))
    return
  }
  const why = (k.reason ??= e)
  const final = why.action === "stop" || why.action === "login"
  const at = k.goAwayAt
  dropLink(k, why)
  if (at > 0 && !final) { // announced: the time is settled
    setState(k, "disconnected", new SkeinError({ code: "going_away" }))
    k.retryAt = at
    return
  }
  decide(k, why, false, more)
}

/** The server drains, and nothing holds this client: to a new connection at once. */
function leave(k: Core): void {
  k.send({ bye: {} })
  const e = new SkeinError({ code: "going_away" })
  dropLink(k, e)
  setState(k, "disconnected", e)
  startDial(k)
}

/** Forgets the connection, and everything that waits for it. */
function dropLink(k: Core, e: SkeinError): void {
  k.link?.close()
  k.link = undefined
  k.ping = undefined
  k.awaiting = k.goAwayAt = 0
  k.syncing = false
  for (const c of k.calls.values()) c.done({ lost: new SkeinError({ code: "connection_lost", message: e.message, cause: e }) })
  k.calls.clear()
  const requests = [...k.requests.values()]
  k.requests.clear()
  for (const r of requests) {
    if (r.cv !== undefined && (r.kind === "fill" || r.kind === "newest")) r.cv.pulling = false
    r.done?.(undefined, new SkeinError({ code: "offline", cause: e }))
  }
  k.again = { at: 0, tries: 0, kind: "sync" } // the next Hello syncs
  k.pageAgain = { at: 0, tries: 0, kind: "page" }
  k.asks = []
  requeue(k)
  k.held = [] // the next sync brings them
  k.heldOver = false
}

/** What follows from an error: again, a new token, or stop. The ranges of CODES.md. */
function decide(k: Core, e: SkeinError, ofToken: boolean, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  let wait = k.backoff(k.attempt)
  switch (e.action) {
    case "stop":
    case "fix":
      stop(k, e, more)
      return
    case "login":
      k.rejections++
      if (ofToken || k.token === k.rejected || k.rejections >= maxRejections) {
        stop(k, e, more)
        return
      }
      k.rejected = k.token
      break
    default:
      wait = Math.max(wait, e.retryAfterMs)
  }
  k.attempt++
  setState(k, "disconnected", e, more)
  k.retryAt = k.o.now() + wait
}

export function stop(k: Core, e: SkeinError, more?: { by?: Device | undefined; atMs?: number | undefined }): void {
  setState(k, "stopped", e, more)
  release(k, e)
}

export function redial(k: Core): void {
  if (k.state === "disconnected") startDial(k)
}

/** The network is back, or the user asks: at once. */
export function reconnectNow(k: Core): void {
  if (k.state !== "disconnected" && k.state !== "stopped") return
  k.retryAt = k.attempt = k.rejections = 0
  k.rejected = ""
  startDial(k)
}

/** First what waits is sent, then Bye, then the server closes. */
export function beginClose(k: Core): void {
  if (k.closeAt > 0) return
  k.closeAt = k.o.now() + 2000
  if (k.markDue.size > 0) marksSoon(k, 0)
}

export function closeStep(k: Core, now: number): void {
  if (k.closeAt === 0) return
  const closed = new SkeinError({ code: "closed" })
  if (k.byeAt > 0) {
    if (due(k.byeAt, now)) k.die(closed)
    return
  }
  const idle = ![...k.items.values()].some((i) => i.rec.state === "pending") && k.marksAt === 0
  if (k.state !== "connected") {
    k.urgent = true // what is only in memory
    k.after(() => k.die(closed))
  } else if (due(k.closeAt, now) || idle) {
    k.urgent = true
    k.send({ bye: {} })
    k.byeAt = now + 1000
  }
}
