export type RetentionUnit = "hours" | "days"

/** A number of hours or days as seconds; 0 where it is no number: the server says what is wrong. */
export function retentionSeconds(count: string, unit: RetentionUnit): number {
  const n = Number(count)
  return Number.isFinite(n) && n > 0 ? Math.round(n * (unit === "hours" ? 3600 : 86_400)) : 0
}
