import { createElement, lazy, type ComponentType } from "react"
import { Missing } from "./Missing.js"

/*
 * The rooms of the app, each loaded when it is first entered. What a room is given is fixed here.
 */

const files = import.meta.glob<Record<string, unknown>>([
  "../timeline/Timeline.tsx", "../composer/Composer.tsx", "../people/PeoplePage.tsx", "../people/ProfileDialog.tsx", "../groups/NewGroup.tsx", "../groups/Details.tsx",
  "../groups/JoinPage.tsx", "../settings/SettingsPage.tsx", "../search/SearchPage.tsx", "../search/Gallery.tsx", "../admin/Welcome.tsx", "../timeline/Thread.tsx", "../dev/Gallery.tsx",
])

/** A room that may not be there yet: its name is shown then. */
function room<P extends object>(path: string): ComponentType<P> {
  const name = path.split("/").pop() ?? path
  return lazy(async () => {
    const load = files[`../${path}.tsx`]
    const found = load === undefined ? undefined : (await load())[name]
    return { default: (found as ComponentType<P> | undefined) ?? ((() => createElement(Missing, { name })) as ComponentType<P>) }
  })
}

export const Shell = lazy(() => import("./Shell.js").then((m) => ({ default: m.Shell })))
export const Login = lazy(() => import("../auth/Login.js").then((m) => ({ default: m.Login })))
export const Reset = lazy(() => import("../auth/Reset.js").then((m) => ({ default: m.Reset })))
export const Register = lazy(() => import("../auth/Register.js").then((m) => ({ default: m.Register })))

export const Switcher = lazy(() => import("./Switcher.js").then((m) => ({ default: m.Switcher })))
export const Keys = lazy(() => import("./Keys.js").then((m) => ({ default: m.Keys })))

export const Timeline = room<{ conversation: string; focusSeq?: number }>("timeline/Timeline")
export const Thread = room<{ conversation: string; root: number }>("timeline/Thread")
export const Composer = room<{ conversation: string; thread?: number }>("composer/Composer")
export const PeoplePage = room<{ user?: string }>("people/PeoplePage")
export const NewGroup = room<object>("groups/NewGroup")
export const Details = room<{ conversation: string }>("groups/Details")
export const JoinPage = room<{ token: string }>("groups/JoinPage")
export const SettingsPage = room<{ page: string }>("settings/SettingsPage")
export const SearchPage = room<object>("search/SearchPage")
export const Welcome = room<object>("admin/Welcome")
export const UiGallery = room<object>("dev/Gallery")
