import { useLingui } from "@lingui/react/macro"

/** "Forever" of what has an end in milliseconds: the last day of the year 9999. */
export const forEver = 253_402_214_400_000

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** A length of time in words, by its greatest unit that fits: 90 minutes are 90 minutes, 7200 s are 2 hours. */
export function unitOf(seconds: number): { unit: "second" | "minute" | "hour" | "day" | "week"; n: number } {
  const units = [["week", 7 * day], ["day", day], ["hour", hour], ["minute", minute]] as const
  for (const [unit, length] of units) if (seconds >= length && seconds % length === 0) return { unit, n: seconds / length }
  return { unit: "second", n: seconds }
}

/** Says a length of time in the user's language: "2 hours". */
export function useSpan(): (seconds: number) => string {
  const { i18n } = useLingui()
  return (seconds) => {
    const { unit, n } = unitOf(seconds)
    return new Intl.NumberFormat(i18n.locale, { style: "unit", unit, unitDisplay: "long" }).format(n)
  }
}

/** Says a day, and this year's without the year. */
export function useDay(): (ms: number | string | undefined) => string {
  const { i18n } = useLingui()
  return (ms) => {
    const at = new Date(Number(ms ?? 0))
    return i18n.date(at, { day: "numeric", month: "short", ...(at.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }) })
  }
}

export const spans = { minute, hour, day, week: 7 * day }
