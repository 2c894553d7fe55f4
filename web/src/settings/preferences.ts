import { useSyncExternalStore } from "react"
import { preference, type Preference } from "../preferences.js"

/** Enter sends, or begins a new line. */
export const enterSends = preference("enter-sends", "on", ["on", "off"])

export function usePreference<T extends string>(p: Preference<T>): [T, (v: T) => void] {
  return [useSyncExternalStore(p.subscribe, p.get), p.set]
}
