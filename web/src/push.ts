import type { ChatClient, Response } from "@skein-im/client"
import { preference } from "./preferences.js"
import { fromBase64url, sameBytes, toBase64url } from "./settings/base64url.js"

/** Notifications of a browser that shows no page of the app: the page's side. What arrives is in sw/push.ts. */

/** Whether this browser is to be woken, if it is allowed to show notifications. */
export const wanted = preference("push", "on", ["on", "off"])

export type Settings = NonNullable<Response<"skein.v1.PushService/GetPushSettings">["settings"]>

/** Whether this browser can be woken at all. */
export const canPush = (): boolean => "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis

const registration = (): Promise<ServiceWorkerRegistration | undefined> => navigator.serviceWorker.getRegistration()

/** Has this browser be woken, or not any more, as the user wants. To be called at each start: where all is so already it changes nothing. */
export async function settle(client: ChatClient): Promise<void> {
  const r = canPush() ? await registration() : undefined
  if (r === undefined) return
  const now = await r.pushManager.getSubscription()
  if (Notification.permission !== "granted" || wanted.get() === "off") {
    if (now === null) return
    await now.unsubscribe()
    await client.call("skein.v1.PushService/DeletePushSubscription", {})
    return
  }
  const { key } = await client.call("skein.v1.PushService/GetPushKey", {})
  const bytes = fromBase64url(key ?? "")
  // One that was made for another key: the server has a new one.
  if (now !== null && !sameBytes(now.options.applicationServerKey, bytes)) await now.unsubscribe()
  const s = await r.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes })
  await client.call("skein.v1.PushService/SetPushSubscription", { endpoint: s.endpoint, p256dh: toBase64url(s.getKey("p256dh")), auth: toBase64url(s.getKey("auth")) })
}

/** Takes away the notifications of what is read by now. */
export async function closeRead(read: (conversation: string) => number): Promise<void> {
  const r = "serviceWorker" in navigator ? await registration() : undefined
  for (const n of (await r?.getNotifications()) ?? []) {
    const shown = n.data as { conversation?: string; seq?: number } | null
    if (shown?.conversation !== undefined && (shown.seq ?? 0) <= read(shown.conversation)) n.close()
  }
}

/** Whoever logs out leaves neither notifications nor a browser that is woken for them. */
export async function leavePush(): Promise<void> {
  const r = "serviceWorker" in navigator ? await registration() : undefined
  for (const n of (await r?.getNotifications()) ?? []) n.close()
  await (await r?.pushManager?.getSubscription())?.unsubscribe()
}

/** Hears what the service worker asks of a page: open that, subscribe anew, is that before the user's eyes? Returns what ends it. */
export function hearWorker(open: (path: string) => void, subscribe: () => void): () => void {
  if (!("serviceWorker" in navigator)) return () => undefined
  const hear = (e: MessageEvent): void => {
    const m = e.data as { type?: string; path?: string } | null
    if (m?.type === "skein.open" && /^\/c\/[A-Za-z0-9_:-]{1,200}$/.test(m.path ?? "")) {
      open(m.path ?? "")
      e.ports[0]?.postMessage(true)
    }
    if (m?.type === "skein.subscribe") subscribe()
    if (m?.type === "skein.seen") {
      const at = decodeURIComponent(location.pathname)
      e.ports[0]?.postMessage(document.visibilityState === "visible" && (at === m.path || at.startsWith(`${m.path}/`)))
    }
  }
  navigator.serviceWorker.addEventListener("message", hear)
  return () => navigator.serviceWorker.removeEventListener("message", hear)
}
