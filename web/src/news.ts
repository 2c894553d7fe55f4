import { t } from "@lingui/core/macro"
import { toast } from "./ui/index.js"
import { startWorker } from "./worker.js"

/** A file of the version before may be gone: then the page is loaded anew, once. */
const key = "skein.reloaded"

export function startNews(): void {
  startWorker(() => toast(t`A new version is available.`, { action: { label: t`Reload`, run: () => location.reload() } }))
  setTimeout(() => sessionStorage.removeItem(key), 10_000)
  addEventListener("vite:preloadError", (e) => {
    if (sessionStorage.getItem(key) !== null) return // it fails again: the mistake is shown
    sessionStorage.setItem(key, "1")
    e.preventDefault()
    location.reload()
  })
}
