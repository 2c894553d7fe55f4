/** n loudnesses of 0 to 100 for any number of them, each the loudest of its part; without any a quiet line. */
export function waveBars(wave: readonly number[], n: number): number[] {
  if (wave.length === 0) return Array.from({ length: n }, () => 12)
  return Array.from({ length: n }, (_, i) => {
    const from = Math.floor((i * wave.length) / n)
    const to = Math.max(from + 1, Math.floor(((i + 1) * wave.length) / n))
    return Math.min(100, Math.max(0, ...wave.slice(from, to)))
  })
}

/** At most `most` loudnesses of 0 to 100 for levels of 0 to 1, the loudest as 100. */
export function waveformOf(levels: readonly number[], most = 100): Uint8Array {
  const all = levels.length <= most ? [...levels] : waveBars(levels.map((l) => l * 100), most).map((l) => l / 100)
  const top = Math.max(0.05, ...all)
  return Uint8Array.from(all, (l) => Math.round((100 * Math.max(0, l)) / top))
}
