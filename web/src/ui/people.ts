/** How people look who have no picture, and the colour of their names. */

const hues = [18, 45, 72, 100, 128, 155, 182, 208, 235, 262, 300, 340] as const

/** One of twelve hues, always the same for an id. */
export function hueOf(id: string): number {
  let h = 2166136261
  for (let i = 0; i < id.length; i++) h = Math.imul(h ^ id.charCodeAt(i), 16777619)
  return hues[(h >>> 0) % hues.length] ?? hues[0]
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The first letters of the first and the last word, without the brackets or quotes before them; of a Chinese, Japanese or Korean name its last two characters. */
export function initialsOf(name: string): string {
  const words = name.split(/\s+/u).map((w) => w.replace(/^\p{P}+/u, "")).filter((w) => w !== "")
  if (words.length === 0) return "?"
  const letters = (w: string): string[] => [...segmenter.segment(w)].map((x) => x.segment)
  const first = letters(words[0] ?? "")
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(words[0] ?? "")) return first.slice(-2).join("")
  const last = words.length > 1 ? letters(words[words.length - 1] ?? "") : []
  return ((first[0] ?? "") + (last[0] ?? "")).toLocaleUpperCase()
}
