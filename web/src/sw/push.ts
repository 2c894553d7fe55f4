/*
 * What arrives by push (SPEC §14): a notification for each conversation, the newest message of it; a click opens it; what
 * was read elsewhere is taken away. Nothing is shown of a conversation that is open before the user's eyes.
 */

import { apart } from "./apart.js"

declare const self: ServiceWorkerGlobalScope

interface Told {
  type: string
  conversation: string
  seq: number
  storedAtMs: number
  name: string
  title: string
  content: string
  text: string
  more: number
}

/** What a notification keeps for the click, and for whoever takes it away. */
export interface Shown {
  conversation: string
  seq: number
}

const tagOf = (conversation: string): string => `c:${conversation}`
export const pathOf = (conversation: string): string => `/c/${conversation}`

/** What a push says; undefined for what this version does not know. */
export function read(text: string): Told | undefined {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof raw !== "object" || raw === null) return undefined
  const field = (name: string): unknown => (raw as Record<string, unknown>)[name]
  const words = (name: string): string => (typeof field(name) === "string" ? (field(name) as string) : "")
  const seq = Number(field("seq"))
  const conversation = words("conversation")
  if (!/^[A-Za-z0-9_:-]{1,200}$/.test(conversation) || !Number.isSafeInteger(seq) || seq < 1) return undefined
  return {
    type: words("type"), conversation, seq, storedAtMs: Number(field("storedAtMs") ?? 0), name: words("name"), title: words("title"),
    content: words("content"), text: words("text"), more: Number(field("more") ?? 0),
  }
}

const english = {
  message: "New message", more: (n: number): string => (n === 1 ? "1 more message" : `${n} more messages`),
  image: "Picture", file: "File", voice: "Voice message", video: "Video", location: "Location", card: "Contact", poll: "Poll", sticker: "Sticker", merged: "Forwarded messages",
}
type Words = typeof english
const chinese: Words = {
  message: "新消息", more: (n) => `还有 ${n} 条消息`,
  image: "图片", file: "文件", voice: "语音消息", video: "视频", location: "位置", card: "名片", poll: "投票", sticker: "贴纸", merged: "转发的消息",
}
export const wordsFor = (language: string): Words => (/^zh\b/i.test(language) ? chinese : english)

/** What is shown of a message. */
export function looks(m: Told, w: Words): { title: string; body: string } {
  const kind = Object.hasOwn(w, m.content) ? w[m.content as keyof Words] : undefined
  const said = m.text !== "" ? m.text : typeof kind === "string" ? kind : w.message
  const line = m.title !== "" && m.name !== "" ? `${m.name}: ${said}` : said
  return { title: m.title || m.name || "Skein", body: m.more > 0 ? `${line}\n${w.more(m.more)}` : line }
}

const seqOf = (n: Notification): number => (n.data as Shown | null)?.seq ?? 0

async function arrived(m: Told): Promise<void> {
  const tag = tagOf(m.conversation)
  if (m.type === "message" && (await isSeen(m.conversation))) return
  const before = await self.registration.getNotifications({ tag })
  if (m.type === "close") {
    for (const n of before) if (seqOf(n) <= m.seq) n.close()
    return
  }
  if (m.type !== "message" || before.some((n) => seqOf(n) > m.seq)) return
  const { title, body } = looks(m, wordsFor(self.navigator.language))
  const data: Shown = { conversation: m.conversation, seq: m.seq }
  await self.registration.showNotification(title, {
    body, tag, data, icon: "/icons/192.png", badge: "/icons/192.png",
    // The same message once more makes no sound, a newer one does.
    renotify: before.length > 0 && before.every((n) => seqOf(n) < m.seq), ...(m.storedAtMs > 0 ? { timestamp: m.storedAtMs } : {}),
  } as NotificationOptions)
}

/** The app's windows. Others of the origin, as a file or the API's documents, would not answer to what they are told. */
const windows = async (): Promise<readonly WindowClient[]> =>
  (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).filter((c) => !apart.test(new URL(c.url).pathname))

/** Whether a conversation is open before the user's eyes. The pages say so: the address that a worker sees is the one a page began with. */
async function isSeen(conversation: string): Promise<boolean> {
  const answers = await Promise.all((await windows()).map((c) => asked(c, { type: "skein.seen", path: pathOf(conversation) })))
  return answers.includes(true)
}

/** Whether the page says yes. One that stands still, or that is loading yet, says nothing. */
function asked(c: WindowClient, what: { type: string; path: string }, withinMs = 1500): Promise<boolean> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    setTimeout(() => resolve(false), withinMs)
    port1.onmessage = (e) => resolve(e.data === true)
    c.postMessage(what, [port2])
  })
}

/**
 * So long a page may take to answer a click, in ms. A busy one gets its time: to navigate loads it anew, and what it
 * uploads is lost. One that cannot be navigated has less: browsers let a worker open a window shortly after the click
 * alone, some for one second.
 */
const answersWithin = { controlled: 5000, other: 700 }

/** Opens a conversation in a window that is there, which goes there by itself or is navigated; or in a new one. */
async function open(conversation: string): Promise<void> {
  const path = pathOf(conversation)
  const all = await windows()
  const one = all.find((c) => c.focused) ?? all.find((c) => c.visibilityState === "visible") ?? all[0]
  if (one !== undefined && (await shows(one, path))) return
  await self.clients.openWindow(path).catch(() => undefined)
}

/** Whether a window shows the path, in front where the browser lets it be. */
async function shows(c: WindowClient, path: string): Promise<boolean> {
  const front = (): Promise<unknown> => c.focus().catch(() => undefined)
  // In front a page that the browser froze wakes, and answers. But a click is good for one window, to focus or to open:
  // one that this worker does not control cannot be navigated, and is focused when it has answered.
  const controlled = (await self.clients.matchAll({ type: "window" })).some((own) => own.id === c.id)
  const focused = controlled ? front() : undefined
  if (await asked(c, { type: "skein.open", path }, controlled ? answersWithin.controlled : answersWithin.other)) {
    await (focused ?? front())
    return true
  }
  const navigated = await c.navigate(path).then(() => true, () => false)
  await focused
  return navigated
}

/** One after the other, as they came: what closes a notification never overtakes what shows it. */
let last: Promise<void> = Promise.resolve()

self.addEventListener("push", (e) => {
  const m = e.data === null ? undefined : read(e.data.text())
  if (m === undefined) return
  last = last.catch(() => undefined).then(() => arrived(m))
  e.waitUntil(last)
})

self.addEventListener("notificationclick", (e) => {
  e.notification.close()
  const shown = e.notification.data as Shown | null
  if (shown !== null) e.waitUntil(open(shown.conversation))
})

// The browser has another subscription: who is logged in tells the server.
self.addEventListener("pushsubscriptionchange", (e) => {
  ;(e as ExtendableEvent).waitUntil(windows().then((all) => { for (const c of all) c.postMessage({ type: "skein.subscribe" }) }))
})
