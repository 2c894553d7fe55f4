import { preference } from "./preferences.js"

/** Light, dark, or as the system has it. */
export const theme = preference("theme", "system", ["system", "light", "dark"])
/** How much stands on a screen. */
export const density = preference("density", "cosy", ["cosy", "compact"])

const dark = matchMedia("(prefers-color-scheme: dark)")

function apply(): void {
  const root = document.documentElement
  const chosen = theme.get()
  root.dataset["theme"] = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen
  root.dataset["density"] = density.get()
}

/** Puts the looks on the page, and keeps them there. */
export function startTheme(): void {
  apply()
  theme.subscribe(apply)
  density.subscribe(apply)
  dark.addEventListener("change", apply)
}
