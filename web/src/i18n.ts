import { i18n, type MessageDescriptor, type MessageOptions, type Messages } from "@lingui/core"
import { plain, type Values } from "./plain.js"
import { preference } from "./preferences.js"

/** Languages that the app speaks, each by its own name. English is in the code; the others are catalogues. */
export const languages = { en: "English", "zh-CN": "简体中文" } as const
export type Language = keyof typeof languages

const catalogues: Record<Exclude<Language, "en">, () => Promise<{ messages: Messages }>> = {
  "zh-CN": () => import("./locales/zh-CN.po"),
}

/** The user's choice ("": the browser's). */
export const language = preference<Language | "">("language", "", ["", "en", "zh-CN"])

/** What the browser's languages come to. */
function fitting(wanted: readonly string[]): Language {
  for (const w of wanted) {
    if (/^zh\b/i.test(w)) return "zh-CN"
    if (/^en\b/i.test(w)) return "en"
  }
  return "en"
}

const texts = i18n._.bind(i18n) as (id: string | MessageDescriptor, values?: Values, options?: MessageOptions) => string
const safe = (id: string | MessageDescriptor, values?: Values, options?: MessageOptions): string =>
  typeof id === "string" ? texts(id, values && plain(values), options) : texts(id.values === undefined ? id : { ...id, values: plain(id.values) })
i18n._ = safe as typeof i18n._

/** Speaks the language that is chosen. Resolves when its texts are there; without them it is English. */
export async function speak(): Promise<void> {
  const to = language.get() || fitting(navigator.languages)
  let messages: Messages = {}
  let spoken: Language = "en"
  if (to !== "en") {
    try {
      messages = (await catalogues[to]()).messages
      spoken = to
    } catch (e) {
      console.warn("texts were not loaded", to, e)
    }
  }
  // Times and numbers as they are written where the reader is: in Britain it is 14:05, in America 2:05 PM.
  const [base] = spoken.split("-")
  i18n.loadAndActivate({ locale: spoken, locales: [...navigator.languages.filter((l) => l.split("-")[0] === base), spoken], messages })
  document.documentElement.lang = spoken
}

language.subscribe(() => void speak())
