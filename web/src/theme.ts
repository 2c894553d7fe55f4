import { preference } from "./preferences.js"

/** Light, dark, or as the system has it. */
export const theme = preference("theme", "system", ["system", "light", "dark"])
/** How much stands on a screen. */
export const density = preference("density", "cosy", ["cosy", "compact"])
/** How large text is. */
export const textSize = preference("text-size", "medium", ["small", "medium", "large", "larger"])

const dark = matchMedia("(prefers-color-scheme: dark)")

function apply(): void {
  const root = document.documentElement
  const chosen = theme.get()
  root.dataset["theme"] = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen
  root.dataset["density"] = density.get()
  root.dataset["text"] = textSize.get()
}

/** Puts the looks on the page, and keeps them there. */
export function startTheme(): void {
  apply()
  theme.subscribe(apply)
  density.subscribe(apply)
  textSize.subscribe(apply)
  dark.addEventListener("change", apply)
}
