import { i18n } from "@lingui/core"

const formats = new Map<string, Intl.DateTimeFormat>()

function format(ms: number, o: Intl.DateTimeFormatOptions): string {
  const key = i18n.locale + JSON.stringify(o)
  let f = formats.get(key)
  if (f === undefined) formats.set(key, (f = new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, o)))
  return f.format(ms)
}

/** When something was, as short as it can be told: a time today, a weekday this week, a date before. */
export function shortTime(ms: number, nowMs: number): string {
  const day = (at: number): number => new Date(at).setHours(0, 0, 0, 0)
  const days = Math.round((day(nowMs) - day(ms)) / 86_400_000)
  if (days <= 0) return format(ms, { timeStyle: "short" })
  if (days < 7) return format(ms, { weekday: "short" })
  return new Date(ms).getFullYear() === new Date(nowMs).getFullYear() ? format(ms, { day: "numeric", month: "short" }) : format(ms, { dateStyle: "short" })
}
