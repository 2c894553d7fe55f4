import { plural } from "@lingui/core/macro"
import { useLingui } from "@lingui/react/macro"

const units = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]] as const

/** The largest unit of which a time is so many whole ones: 36 hours are 36 hours, 48 hours are 2 days. */
export function wholeUnits(ms: number): { unit: (typeof units)[number][0]; count: number } {
  for (const [unit, of] of units) if (ms >= of && ms % of === 0) return { unit, count: ms / of }
  return { unit: "minute", count: Math.max(1, Math.round(ms / 60_000)) }
}

/** A length of time in words. */
export function useSpan(): (ms: number) => string {
  const { t } = useLingui()
  void t // rendered anew in another language
  return (ms) => {
    const { unit, count } = wholeUnits(ms)
    switch (unit) {
      case "day":
        return plural(count, { one: "# day", other: "# days" })
      case "hour":
        return plural(count, { one: "# hour", other: "# hours" })
      case "minute":
        return plural(count, { one: "# minute", other: "# minutes" })
    }
  }
}
