/*
 * The service worker. It keeps the app's own files, all of one version together, so that the next visit paints without
 * the network, and a page that is open stays whole while the server gets a newer version. Nothing that a user said is
 * in its cache. What arrives by push is in push.ts.
 */

import { apart } from "./apart.js"

declare const self: ServiceWorkerGlobalScope
/** The files of this version, and its name; put here by the build. */
declare const __FILES__: readonly string[]
declare const __VERSION__: string

const prefix = "skein-shell-"
const cacheName = prefix + __VERSION__
const page = "/"
/** Versions whose files are kept: this one, and the one that an open page may still be of. */
const versions = 2

self.addEventListener("install", (e) => {
  e.waitUntil(
    (async () => {
      const cache = await caches.open(cacheName)
      await cache.addAll([page, ...__FILES__].map((f) => new Request(f, { cache: f.startsWith("/assets/") ? "default" : "reload" })))
      await self.skipWaiting()
    })(),
  )
})

self.addEventListener("activate", (e) => {
  e.waitUntil(
    (async () => {
      const names = (await caches.keys()).filter((n) => n.startsWith(prefix) && n !== cacheName) // the oldest first
      for (const n of names.slice(0, Math.max(0, names.length - versions + 1))) await caches.delete(n)
      await self.clients.claim()
    })(),
  )
})

self.addEventListener("fetch", (e) => {
  const { request } = e
  const url = new URL(request.url)
  if (request.method !== "GET" || url.origin !== self.location.origin || apart.test(url.pathname)) return
  if (request.mode === "navigate") e.respondWith(kept(page, request))
  else if (url.pathname.startsWith("/assets/") || __FILES__.includes(url.pathname)) e.respondWith(kept(url.pathname, request))
})

/** From this version, else from the one before, else from the network. */
async function kept(path: string, request: Request): Promise<Response> {
  const own = await (await caches.open(cacheName)).match(path)
  return own ?? (await caches.match(path)) ?? fetch(request)
}
