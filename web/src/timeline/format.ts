import { t } from "@lingui/core/macro"
import { i18n } from "@lingui/core"

/** Times and sizes in the language of the app. */

const formats = new Map<string, Intl.DateTimeFormat>()

function format(ms: number, o: Intl.DateTimeFormatOptions): string {
  const key = i18n.locale + JSON.stringify(o)
  let f = formats.get(key)
  if (f === undefined) formats.set(key, (f = new Intl.DateTimeFormat(i18n.locales ?? (i18n.locale || undefined), o)))
  return f.format(ms)
}

export const timeOf = (ms: number): string => format(ms, { timeStyle: "short" })

export const momentOf = (ms: number): string => format(ms, { dateStyle: "medium", timeStyle: "short" })

/** Today, yesterday, a weekday of the last days, a date. */
export function dayName(ms: number, now = Date.now()): string {
  const day = new Date(ms).setHours(0, 0, 0, 0)
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - day) / 86_400_000)
  if (days === 0) return t`Today`
  if (days === 1) return t`Yesterday`
  if (days > 1 && days < 7) return format(ms, { weekday: "long" })
  const year = new Date(ms).getFullYear() !== new Date(now).getFullYear()
  return format(ms, { day: "numeric", month: "long", ...(year ? { year: "numeric" } : {}) })
}

export function sizeOf(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"]
  let n = bytes
  let i = 0
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000
    i++
  }
  return new Intl.NumberFormat(i18n.locales ?? (i18n.locale || undefined), { style: "unit", unit: units[i]!, unitDisplay: i === 0 ? "long" : "short", maximumFractionDigits: n < 10 && i > 0 ? 1 : 0 }).format(n)
}

/** 1:05, 1:02:03 */
export function lengthOf(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  const two = (n: number): string => String(n).padStart(2, "0")
  const h = Math.floor(s / 3600)
  return h > 0 ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`
}
