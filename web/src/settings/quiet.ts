/** Minutes of the day as the browser's field of a time has them. */
export function minuteText(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`
}

/** undefined: it is no time of a day. */
export function minutesOf(text: string): number | undefined {
  const m = /^([01]\d|2[0-3]):([0-5]\d)/.exec(text)
  return m === null ? undefined : Number(m[1]) * 60 + Number(m[2])
}

/** Where the user is, by the name of its time zone. */
export function zoneHere(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone ?? ""
}
