/*
 * Drives the client through the scenarios of sdk/conformance: commands come on stdin and are answered on stdout,
 * with the client's events among the answers, a JSON object a line. It knows the SDK and nothing of
 * the scenarios.
 */
import { createInterface } from "node:readline"
import { WebSocket } from "ws"
import { Client, SkeinError, type Message, type Method, type WebSocketConstructor } from "../src/index.js"
import { fromBase64, toBase64 } from "../src/ids.js"
import { protobuf } from "../src/protobuf/index.js"
import { FileStore } from "./filestore.js"

interface Command {
  id: number
  do: string
  url?: string
  store?: string
  codec?: string
  token?: string
  device?: string
  random?: number
  pipeline?: number
  conversation?: string
  text?: string
  type?: string
  fallback?: string
  data?: string
  extra?: Record<string, string>
  mentions?: string[]
  reply_to?: number
  seq?: number | string
  before?: number | string
  limit?: number
  message?: string
  users?: string[]
  on?: boolean
  method?: string
  request?: object
  key?: string
}

type Reply = Record<string, unknown>

const tell = (line: Reply): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

let client: Client | undefined
let store: FileStore | undefined
let token = ""

function start(c: Command): void {
  token = c.token ?? ""
  const random = c.random ?? 0
  store = new FileStore(c.store ?? "")
  client = new Client({
    url: c.url ?? "", getToken: () => token, store, device: { id: c.device ?? "", class: "DEVICE_CLASS_OTHER", name: "conformance" },
    WebSocket: WebSocket as unknown as WebSocketConstructor, random: () => random, ...(c.codec === protobuf.protocol ? { codec: protobuf } : {}), pipeline: c.pipeline ?? 1,
  })
  listen(client)
}

function listen(c: Client): void {
  for (const name of ["message", "sent", "changed"] as const) c.on(name, (m) => tell({ event: name, ...shown(m) }))
  c.on("failed", (e) => tell({ event: "failed", ...shown(e.message) }))
  c.on("recalled", (e) => tell({ event: "recalled", conversation: e.conversation, seq: e.seq }))
  c.on("group", (e) => tell({ event: "group", conversation: e.conversation, type: e.type.toLowerCase() }))
  c.on("account", (e) => e.type.startsWith("CONTACT_") && tell({ event: "contact", type: e.type.toLowerCase() }))
  c.on("gap", (e) => tell({ event: "gap", ...e }))
  c.on("gone", (e) => tell({ event: "gone", ...e }))
  c.on("reset", () => tell({ event: "reset" }))
  c.on("receipt", (e) => tell({ event: "receipt", ...e }))
  c.on("myState", (e) => tell({ event: "my_state", conversation: e.conversation, revision: e.revision }))
  c.on("typing", (e) => tell({ event: "typing", ...e }))
  c.on("signal", (e) => tell({ event: "signal", ...e, data: toBase64(e.data) }))
  c.on("presence", (e) => tell({ event: "presence", user: e.user, online: e.online }))
  c.on("state", (e) => tell({ event: "state", state: e.state, ...code(e.error) }))
}

/** The code, where there is one that a server says. */
function code(e: SkeinError | undefined): Reply {
  return e === undefined || e.number === 0 ? {} : { code: e.code }
}

function shown(m: Message): Reply {
  return {
    conversation: m.conversation, seq: m.seq, message: m.id, sender: m.sender, own: m.own, status: m.status, type: m.type, text: m.text,
    data: m.data === undefined ? "" : toBase64(m.data), fallback: m.fallback, extra: m.extra, recalled: m.recalled, reply_to: m.replyTo,
    edits: m.edits, code: m.error?.code ?? "",
  }
}

async function carryOut(c: Command): Promise<Reply> {
  if (c.do === "start") {
    start(c)
    return {}
  }
  const k = client
  if (k === undefined) throw new Error("the client is not started")
  const v = (): ReturnType<Client["conversation"]> => k.conversation(c.conversation ?? "")
  switch (c.do) {
    case "stop":
      await k.close()
      await store?.close()
      return {}
    case "send":
      return { message: (await v().post(c.text ?? "", options(c))).id }
    case "read":
      await v().markRead(Number(c.seq ?? 0))
      return {}
    case "view":
      return await view(k, c.conversation ?? "")
    case "history":
      return { messages: (await v().history(Number(c.before ?? 0), c.limit ?? 50)).filter((m) => m.kind === "message").map(shown) }
    case "thread": {
      const { thread: t, replies, next } = await v().thread(Number(c.seq ?? 0), Number(c.before ?? 0), c.limit ?? 50)
      return { root: { ...shown(t.root), replies: t.root.replies?.count ?? 0 }, replies: replies.map(shown), next, unread: t.unread, follows: t.follows, kept: t.kept }
    }
    case "call":
      return { response: await k.call((c.method ?? "") as Method, (c.request ?? {}) as never, c.key ? { key: c.key } : {}) }
    case "list":
      return { conversations: k.conversations.getSnapshot().map((s) => s.id) }
    case "outbox":
      return { messages: k.outbox.getSnapshot().map(shown) }
    case "status": {
      const s = k.state.getSnapshot()
      return { state: s.state, ...code(s.error) }
    }
    case "reconnect":
      k.reconnect()
      return {}
    case "token":
      token = c.token ?? ""
      return {}
    case "retry":
      void k.retry(c.message ?? "").catch(() => undefined) // `failed` tells of it
      return {}
    case "discard":
      await k.discard(c.message ?? "")
      return {}
    case "watch":
      await k.watchPresence(c.users ?? [])
      return {}
    case "background":
      k.setBackground(c.on ?? false)
      return {}
    case "typing":
      v().typing()
      return {}
    case "signal":
      v().signal(c.type ?? "", fromBase64(c.data ?? ""))
      return {}
  }
  throw new SkeinError({ code: "unsupported", message: c.do })
}

function options(c: Command): NonNullable<Parameters<ReturnType<Client["conversation"]>["post"]>[1]> {
  return {
    ...(c.type ? { type: c.type } : {}), ...(c.fallback ? { fallback: c.fallback } : {}), ...(c.data ? { data: fromBase64(c.data) } : {}),
    ...(c.extra ? { extra: c.extra } : {}), ...(c.reply_to ? { replyTo: c.reply_to } : {}), ...(c.mentions ? { mentions: c.mentions } : {}),
  }
}

async function view(k: Client, id: string): Promise<Reply> {
  const v = k.conversation(id)
  await v.load()
  const s = v.summary.getSnapshot()
  if (s === undefined) return { known: false }
  const { revision, pinned = false, draft = "", clearedBelow = 0, unread = false } = s.mine
  return {
    known: true, messages: v.messages.getSnapshot().filter((m) => m.kind === "message" && m.status !== "pending" && m.status !== "failed").map(shown),
    unread: s.unread, read: s.read, title: s.title, member: s.member, peer_received: s.peerReceived, peer_read: s.peerRead,
    mine: { revision, pinned, draft, cleared_below: clearedBelow, unread },
  }
}

function failure(e: unknown): Reply {
  if (!(e instanceof SkeinError)) return { code: "failed", message: String(e) }
  return { code: e.code === "connection_lost" ? "unknown" : e.code, message: e.message }
}

async function answer(c: Command): Promise<void> {
  try {
    tell({ ...(await carryOut(c)), id: c.id })
  } catch (e) {
    tell({ id: c.id, error: failure(e) })
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line) as Command
  if (c.do === "history" || c.do === "thread" || c.do === "call") void answer(c) // they wait for the server; the others do not
  else await answer(c)
}
await client?.close()
process.exit(0)
