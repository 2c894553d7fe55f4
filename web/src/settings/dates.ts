/** Times as the browser's own fields have them: of the place where the user is, without a zone. */

const two = (n: number): string => String(n).padStart(2, "0")

/** For a field of the type date. */
export function localDay(ms: number): string {
  const d = new Date(ms)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`
}

/** For a field of the type datetime-local. */
export function localMinute(ms: number): string {
  const d = new Date(ms)
  return `${localDay(ms)}T${two(d.getHours())}:${two(d.getMinutes())}`
}

/** What such a field says; undefined where it says nothing. */
export function minuteToMs(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text)) return undefined
  const ms = new Date(text).getTime()
  return Number.isNaN(ms) ? undefined : ms
}

/** The beginning of a day, or with `after` that of the next one. */
export function dayToMs(text: string, after = 0): number | undefined {
  const m = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (m === null) return undefined
  const ms = new Date(Number(m[1]), Number(m[2]) - 1, Number(m[3]) + after).getTime()
  return Number.isNaN(ms) ? undefined : ms
}
